"""A slow scorer of the first documents: late interaction over the token vectors of an encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import rerank
from benchmarks.data import SMALL, judged, opened, read_topics, some_queries
from benchmarks.measuring import MEASURE, folds, values_of_run
from benchmarks.registry import BenchmarkError, Options, Row, benchmark

TOKENS, BATCH = 256, 32  # of a text, and texts of a call
ALL = 100_000  # documents: more than a query has candidates


class LateInteraction:
    """The mean over the query's tokens of the greatest cosine with a token of the text; vectors are kept by text."""

    def __init__(self, folder: Path) -> None:
        import onnxruntime
        import tokenizers

        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKENS)
        self.tokenizer.enable_padding()
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"))
        self.vectors: dict[str, np.ndarray] = {}
        self.calls = 0

    def __call__(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the score of each text."""
        self.calls += len(texts)
        self._encode([query, *texts])
        of_query = self.vectors[query]
        return [float((of_query @ self.vectors[text].T).max(axis=1).mean()) for text in texts]

    def _encode(self, texts: Sequence[str]) -> None:
        new = sorted({text for text in texts if text not in self.vectors}, key=len)
        for first in range(0, len(new), BATCH):
            part = new[first : first + BATCH]
            encoded = self.tokenizer.encode_batch(part)
            feeds: dict[str, Any] = {
                "input_ids": np.array([one.ids for one in encoded]),
                "attention_mask": np.array([one.attention_mask for one in encoded]),
            }
            feeds["token_type_ids"] = np.zeros_like(feeds["input_ids"])
            names = [one.name for one in self.session.get_inputs()]
            hidden = self.session.run(None, {name: feeds[name] for name in names})[0]
            for text, rows, one in zip(part, hidden, encoded, strict=True):
                is_word = np.array(one.attention_mask, bool) & ~np.array(one.special_tokens_mask, bool)
                vectors = rows[is_word] if is_word.any() else rows[:1]
                self.vectors[text] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@benchmark(
    data="med, cacm, cranfield, five folds; --only onnx:FOLDER", peer="all candidates scored", needs=("onnxruntime",)
)
def late_interaction(options: Options) -> Iterator[Row]:
    """Quality against calls of a slow scorer: the first 5 to 100 documents, those that training chooses, and all."""
    folder = options.only[0].partition(":")[2] if options.only else ""
    if not folder:
        raise BenchmarkError("--only: expected onnx:FOLDER of an encoder, got none.")
    for name in options.chosen_collections(SMALL):
        scorer = rerank.Scorer("late interaction", LateInteraction(Path(folder)))
        with opened(options, name) as index:
            index.learn_vectors()
            values: dict[str, list[np.ndarray]] = {}
            calls: dict[str, float] = {}
            for seed in range(options.n_seeds(1)):
                _measure(index.using(scorer=scorer), options, name, seed, values, calls)
            folds_of = len(next(iter(values.values())))
            for system, parts in values.items():
                row = {"collection": name, "system": system, MEASURE: np.concatenate(parts).mean()}
                yield {**row, "calls a query": calls.get(system, 0.0) / folds_of}


def _measure(
    index: rerank.Index,
    options: Options,
    name: str,
    seed: int,
    values: dict[str, list[np.ndarray]],
    calls: dict[str, float],
) -> None:
    """Add the values and the mean calls of each system on each fold."""
    topics, qrels = read_topics(options, name), judged(options, name)[1]
    for parts in list(folds(len(qrels), seed))[: options.pick(5, 1)]:
        own, other = (some_queries(qrels, [list(qrels)[number] for number in part.tolist()]) for part in parts)
        test = rerank.Topics({query_id: topics[query_id] for query_id in other})
        trained = rerank.train(index, topics, own)
        gain = trained.estimate and trained.estimate.scorer
        assert gain is not None
        model = trained.model
        chosen = model.last_stage_
        stages = {"train": None, **{f"first {stage.depth}": stage for stage, _ in gain.curve}, "as trained": chosen}
        stages["all"] = replace(gain.curve[-1][0], depth=ALL)
        values.setdefault("BM25", []).append(values_of_run(other, index.search(test, k=1000)))
        for system, stage in stages.items():
            model.last_stage_ = stage
            run = rerank.rerank(index, model, test)
            values.setdefault(system, []).append(values_of_run(other, run))
            depth = 0 if stage is None else stage.depth
            calls[system] = calls.get(system, 0.0) + float(np.minimum(np.diff(run.query_ptr), depth).mean())
