"""LlamaIndex: a node postprocessor, for query engines and retrievers."""

from typing import Any

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

from rerank.errors import InvalidInputError
from rerank.plugins.texts import TextReranker
from rerank.rankers.bases import UNSUPERVISED


class RerankPostprocessor(BaseNodePostprocessor):
    """Order nodes by a model and keep the best.

    Parameters
    ----------
    index : Index or path, optional
        The index whose statistics are used; by default those that the model holds.
    model : Ranker or path
        The model or its file; by default the ranking that needs no judgements.
    top_n : int, optional
        Nodes to keep; by default all.
    field : str, optional
        The field of the index that the text of a node fills; by default that with most of the index's words. Metadata
        that are named as other fields or numbers of the index fill these.
    min_score, abstain : float, optional
        Least probability of a document, and that any document is relevant; below these, documents are left out. Only
        for a calibrated model, whose scores are probabilities.

    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    index: Any = Field(None, frozen=True)
    model: Any = Field(UNSUPERVISED, frozen=True)
    top_n: int | None = Field(None, ge=1)
    field: str | None = Field(None, frozen=True)
    min_score: float | None = Field(None, frozen=True)
    abstain: float | None = Field(None, frozen=True)
    _texts: TextReranker = PrivateAttr()

    def model_post_init(self, context: object, /) -> None:
        """Open the index and load the model."""
        super().model_post_init(context)
        self._texts = TextReranker(self.index, self.model, self.field, min_score=self.min_score, abstain=self.abstain)

    @classmethod
    def class_name(cls) -> str:
        """Return the name by which LlamaIndex stores the class."""
        return "RerankPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        """Return the best nodes with the model's scores, best first.

        Where the index keeps passages, the nodes are copies whose `metadata["passage"]` is the best one.
        """
        if query_bundle is None:
            raise InvalidInputError("query_bundle: expected the query, got none. Pass query_bundle= or query_str=.")
        texts = [(node.node.get_content(metadata_mode=MetadataMode.NONE), node.node.metadata) for node in nodes]
        ranked = self._texts.order_with_passages(query_bundle.query_str, texts, self.top_n)
        return [
            NodeWithScore(node=_with_metadata(nodes[number].node, passage), score=score)
            for number, score, passage in ranked
        ]


def _with_metadata(node: BaseNode, added: dict[str, str]) -> BaseNode:
    """Return the node, or a copy with more metadata."""
    return node.model_copy(update={"metadata": {**node.metadata, **added}}) if added else node
