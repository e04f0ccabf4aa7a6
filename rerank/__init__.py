"""Reranking of BM25's top n over a Lucene index with models that optimise the measure you report.

The public names; each loads when it is first used, so that `import rerank` costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rerank.runtime.fillers import FILLERS
from rerank.version import __version__

if TYPE_CHECKING:
    from rerank.clicks.estimates import estimate_clicks as estimate_clicks
    from rerank.clicks.interleaving import experiment_result as experiment_result, interleave as interleave
    from rerank.clicks.off_policy import ValueRules as ValueRules, off_policy_value as off_policy_value
    from rerank.clicks.reading import read_clicks as read_clicks, write_clicks as write_clicks
    from rerank.clicks.record import Clicks as Clicks, preference_pairs as preference_pairs
    from rerank.cluster.cluster import Cluster as Cluster
    from rerank.errors import RerankError as RerankError
    from rerank.evaluation.comparison import compare as compare
    from rerank.evaluation.evaluate import evaluate as evaluate, reliability as reliability
    from rerank.evaluation.significance import agreement as agreement, prediction_powered as prediction_powered
    from rerank.exchange.models import export_model as export_model, import_model as import_model
    from rerank.experiments.experiment import run_experiment as run_experiment
    from rerank.experiments.study import Study as Study
    from rerank.explanation.card import dependence as dependence, model_card as model_card
    from rerank.explanation.explain import explain as explain
    from rerank.features.families.functions import feature as feature
    from rerank.features.recipe import Recipe as Recipe
    from rerank.files.corpus import read_documents as read_documents
    from rerank.files.data import read_data as read_data, write_data as write_data
    from rerank.files.lists import read_folds as read_folds, read_preferences as read_preferences
    from rerank.files.topics import read_topics as read_topics
    from rerank.files.trec import (
        read_qrels as read_qrels,
        read_run as read_run,
        read_subtopic_qrels as read_subtopic_qrels,
        write_qrels as write_qrels,
        write_run as write_run,
    )
    from rerank.history.history import History as History, read_history as read_history
    from rerank.index.index import Index as Index
    from rerank.pipeline.diversify import diversify as diversify
    from rerank.pipeline.rerank import rerank as rerank, rerank_texts as rerank_texts
    from rerank.rankers.auto import Auto as Auto
    from rerank.rankers.coordinate_ascent import CoordinateAscent as CoordinateAscent
    from rerank.rankers.cutoff import Cutoff as Cutoff
    from rerank.rankers.ensemble import Ensemble as Ensemble
    from rerank.rankers.gbrank import GBRank as GBRank
    from rerank.rankers.lambdamart import LambdaMART as LambdaMART
    from rerank.rankers.lambdarank import LambdaRank as LambdaRank
    from rerank.rankers.learned_fusion import apply_fusion as apply_fusion, learn_fusion as learn_fusion
    from rerank.rankers.local_optimality import local_optimality as local_optimality
    from rerank.rankers.logistic_regression import LogisticRegression as LogisticRegression
    from rerank.rankers.logistrank import LogistRank as LogistRank
    from rerank.rankers.mart import MART as MART
    from rerank.rankers.plackett_luce import PlackettLuce as PlackettLuce
    from rerank.rankers.rankboost import RankBoost as RankBoost
    from rerank.rankers.ranker import read_model as read_model
    from rerank.rankers.ranknet import RankNet as RankNet
    from rerank.rankers.ranksvm import RankSVM as RankSVM
    from rerank.retrieval.candidates import Candidates as Candidates
    from rerank.retrieval.fusion import combine as combine, fuse as fuse
    from rerank.retrieval.sources.nearest import nearest_run as nearest_run
    from rerank.training.clicks import click_labels as click_labels, estimate_with_features as estimate_with_features
    from rerank.training.train import train as train
    from rerank.training.tuning import Tuning as Tuning
    from rerank.types import Qrels as Qrels, RankingData as RankingData, Run as Run, Topics as Topics
    from rerank.types.preferences import Preferences as Preferences
    from rerank.vectors.scorer import Scorer as Scorer
    from rerank.vectors.vectors import Vectors as Vectors

_HOMES = {
    "Auto": "rerank.rankers.auto",
    "Candidates": "rerank.retrieval.candidates",
    "Clicks": "rerank.clicks.record",
    "Cluster": "rerank.cluster.cluster",
    "CoordinateAscent": "rerank.rankers.coordinate_ascent",
    "Cutoff": "rerank.rankers.cutoff",
    "Ensemble": "rerank.rankers.ensemble",
    "GBRank": "rerank.rankers.gbrank",
    "History": "rerank.history.history",
    "Index": "rerank.index.index",
    "LambdaMART": "rerank.rankers.lambdamart",
    "LambdaRank": "rerank.rankers.lambdarank",
    "LogistRank": "rerank.rankers.logistrank",
    "LogisticRegression": "rerank.rankers.logistic_regression",
    "MART": "rerank.rankers.mart",
    "PlackettLuce": "rerank.rankers.plackett_luce",
    "Preferences": "rerank.types.preferences",
    "Qrels": "rerank.types",
    "RankBoost": "rerank.rankers.rankboost",
    "RankNet": "rerank.rankers.ranknet",
    "RankSVM": "rerank.rankers.ranksvm",
    "RankingData": "rerank.types",
    "Recipe": "rerank.features.recipe",
    "RerankError": "rerank.errors",
    "Run": "rerank.types",
    "Scorer": "rerank.vectors.scorer",
    "Study": "rerank.experiments.study",
    "Topics": "rerank.types",
    "Tuning": "rerank.training.tuning",
    "ValueRules": "rerank.clicks.off_policy",
    "Vectors": "rerank.vectors.vectors",
    "agreement": "rerank.evaluation.significance",
    "apply_fusion": "rerank.rankers.learned_fusion",
    "click_labels": "rerank.training.clicks",
    "combine": "rerank.retrieval.fusion",
    "compare": "rerank.evaluation.comparison",
    "dependence": "rerank.explanation.card",
    "diversify": "rerank.pipeline.diversify",
    "estimate_clicks": "rerank.clicks.estimates",
    "estimate_with_features": "rerank.training.clicks",
    "evaluate": "rerank.evaluation.evaluate",
    "experiment_result": "rerank.clicks.interleaving",
    "explain": "rerank.explanation.explain",
    "export_model": "rerank.exchange.models",
    "feature": "rerank.features.families.functions",
    "fuse": "rerank.retrieval.fusion",
    "import_model": "rerank.exchange.models",
    "interleave": "rerank.clicks.interleaving",
    "learn_fusion": "rerank.rankers.learned_fusion",
    "local_optimality": "rerank.rankers.local_optimality",
    "model_card": "rerank.explanation.card",
    "nearest_run": "rerank.retrieval.sources.nearest",
    "off_policy_value": "rerank.clicks.off_policy",
    "prediction_powered": "rerank.evaluation.significance",
    "preference_pairs": "rerank.clicks.record",
    "read_clicks": "rerank.clicks.reading",
    "read_data": "rerank.files.data",
    "read_documents": "rerank.files.corpus",
    "read_folds": "rerank.files.lists",
    "read_history": "rerank.history.history",
    "read_model": "rerank.rankers.ranker",
    "read_preferences": "rerank.files.lists",
    "read_qrels": "rerank.files.trec",
    "read_run": "rerank.files.trec",
    "read_subtopic_qrels": "rerank.files.trec",
    "read_topics": "rerank.files.topics",
    "reliability": "rerank.evaluation.evaluate",
    "rerank": "rerank.pipeline.rerank",
    "rerank_texts": "rerank.pipeline.rerank",
    "run_experiment": "rerank.experiments.experiment",
    "train": "rerank.training.train",
    "write_clicks": "rerank.clicks.reading",
    "write_data": "rerank.files.data",
    "write_qrels": "rerank.files.trec",
    "write_run": "rerank.files.trec",
}
FILLERS.update({"system": ("rerank.exchange",), "family of features": ("rerank.history",)})
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rerank' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
