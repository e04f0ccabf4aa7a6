"""Reranking of BM25's top n over a Lucene index with models that optimise the measure you report.

The public names; each loads when it is first used, so that `import rerank` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rerank.version import __version__

if TYPE_CHECKING:
    from rerank.clicks.drafts import interleave as interleave
    from rerank.clicks.estimates import estimate_clicks as estimate_clicks
    from rerank.clicks.interleaving import experiment_result as experiment_result
    from rerank.clicks.off_policy import ValueRules as ValueRules
    from rerank.clicks.off_policy import off_policy_value as off_policy_value
    from rerank.clicks.preferences import preference_pairs as preference_pairs
    from rerank.clicks.reading import read_clicks as read_clicks
    from rerank.clicks.reading import write_clicks as write_clicks
    from rerank.clicks.record import Clicks as Clicks
    from rerank.cluster.cluster import Cluster as Cluster
    from rerank.combination.fusion import fuse as fuse
    from rerank.combination.mixture import combine as combine
    from rerank.errors import RerankError as RerankError
    from rerank.evaluation.audit import agreement as agreement
    from rerank.evaluation.audit import prediction_powered as prediction_powered
    from rerank.evaluation.comparison import compare as compare
    from rerank.evaluation.evaluate import evaluate as evaluate
    from rerank.evaluation.reliability import reliability as reliability
    from rerank.exchange.models import export_model as export_model
    from rerank.exchange.models import import_model as import_model
    from rerank.features.functions import feature as feature
    from rerank.features.recipe import Recipe as Recipe
    from rerank.files.corpus import read_documents as read_documents
    from rerank.files.data import read_data as read_data
    from rerank.files.data import write_data as write_data
    from rerank.files.lists import read_folds as read_folds
    from rerank.files.lists import read_preferences as read_preferences
    from rerank.files.topics import read_topics as read_topics
    from rerank.files.trec import read_qrels as read_qrels
    from rerank.files.trec import read_run as read_run
    from rerank.files.trec import read_subtopic_qrels as read_subtopic_qrels
    from rerank.files.trec import write_qrels as write_qrels
    from rerank.files.trec import write_run as write_run
    from rerank.history.history import History as History
    from rerank.history.reading import read_history as read_history
    from rerank.rankers.auto import Auto as Auto
    from rerank.rankers.checkpoint import Checkpoint as Checkpoint
    from rerank.rankers.context import TrainingOptions as TrainingOptions
    from rerank.rankers.diagnostics import local_optimality as local_optimality
    from rerank.rankers.diagnostics import weight_curve as weight_curve
    from rerank.rankers.ensemble import Ensemble as Ensemble
    from rerank.rankers.fusion import apply_fusion as apply_fusion
    from rerank.rankers.fusion import learn_fusion as learn_fusion
    from rerank.rankers.lambdamart import LambdaMART as LambdaMART
    from rerank.rankers.linear import LogisticRegression as LogisticRegression
    from rerank.rankers.linear import PlackettLuce as PlackettLuce
    from rerank.rankers.linear import RankSVM as RankSVM
    from rerank.rankers.mart import MART as MART
    from rerank.rankers.mart import GBRank as GBRank
    from rerank.rankers.mart import LogistRank as LogistRank
    from rerank.rankers.nets import LambdaRank as LambdaRank
    from rerank.rankers.nets import RankNet as RankNet
    from rerank.rankers.rankboost import RankBoost as RankBoost
    from rerank.rankers.store import read_model as read_model
    from rerank.retrieval.candidates import Candidates as Candidates
    from rerank.retrieval.outside import nearest_run as nearest_run
    from rerank.types import Qrels as Qrels
    from rerank.types import RankingData as RankingData
    from rerank.types import Run as Run
    from rerank.types import Topics as Topics
    from rerank.types.preferences import Preferences as Preferences
    from rerank.vectors.vectors import Vectors as Vectors
    from rerank.workflows.card import model_card as model_card
    from rerank.workflows.click_training import click_labels as click_labels
    from rerank.workflows.click_training import estimate_with_features as estimate_with_features
    from rerank.workflows.cutoff import Cutoff as Cutoff
    from rerank.workflows.dependence import dependence as dependence
    from rerank.workflows.diversify import diversify as diversify
    from rerank.workflows.experiment import run_experiment as run_experiment
    from rerank.workflows.explain import explain as explain
    from rerank.workflows.index import Index as Index
    from rerank.workflows.rerank import rerank as rerank
    from rerank.workflows.study import Study as Study
    from rerank.workflows.text_ranking import rerank_texts as rerank_texts
    from rerank.workflows.train import train as train
    from rerank.workflows.tuning import Tuning as Tuning

_HOMES = {
    "Auto": "rerank.rankers.auto",
    "Candidates": "rerank.retrieval.candidates",
    "Checkpoint": "rerank.rankers.checkpoint",
    "Clicks": "rerank.clicks.record",
    "Cluster": "rerank.cluster.cluster",
    "Cutoff": "rerank.workflows.cutoff",
    "Ensemble": "rerank.rankers.ensemble",
    "GBRank": "rerank.rankers.mart",
    "History": "rerank.history.history",
    "Index": "rerank.workflows.index",
    "LambdaMART": "rerank.rankers.lambdamart",
    "LambdaRank": "rerank.rankers.nets",
    "LogistRank": "rerank.rankers.mart",
    "LogisticRegression": "rerank.rankers.linear",
    "MART": "rerank.rankers.mart",
    "PlackettLuce": "rerank.rankers.linear",
    "Preferences": "rerank.types.preferences",
    "Qrels": "rerank.types",
    "RankBoost": "rerank.rankers.rankboost",
    "RankNet": "rerank.rankers.nets",
    "RankSVM": "rerank.rankers.linear",
    "RankingData": "rerank.types",
    "Recipe": "rerank.features.recipe",
    "RerankError": "rerank.errors",
    "Run": "rerank.types",
    "Study": "rerank.workflows.study",
    "Topics": "rerank.types",
    "TrainingOptions": "rerank.rankers.context",
    "Tuning": "rerank.workflows.tuning",
    "ValueRules": "rerank.clicks.off_policy",
    "Vectors": "rerank.vectors.vectors",
    "agreement": "rerank.evaluation.audit",
    "apply_fusion": "rerank.rankers.fusion",
    "click_labels": "rerank.workflows.click_training",
    "combine": "rerank.combination.mixture",
    "compare": "rerank.evaluation.comparison",
    "dependence": "rerank.workflows.dependence",
    "diversify": "rerank.workflows.diversify",
    "estimate_clicks": "rerank.clicks.estimates",
    "estimate_with_features": "rerank.workflows.click_training",
    "evaluate": "rerank.evaluation.evaluate",
    "experiment_result": "rerank.clicks.interleaving",
    "explain": "rerank.workflows.explain",
    "export_model": "rerank.exchange.models",
    "feature": "rerank.features.functions",
    "fuse": "rerank.combination.fusion",
    "import_model": "rerank.exchange.models",
    "interleave": "rerank.clicks.drafts",
    "learn_fusion": "rerank.rankers.fusion",
    "local_optimality": "rerank.rankers.diagnostics",
    "model_card": "rerank.workflows.card",
    "nearest_run": "rerank.retrieval.outside",
    "off_policy_value": "rerank.clicks.off_policy",
    "prediction_powered": "rerank.evaluation.audit",
    "preference_pairs": "rerank.clicks.preferences",
    "read_clicks": "rerank.clicks.reading",
    "read_data": "rerank.files.data",
    "read_documents": "rerank.files.corpus",
    "read_folds": "rerank.files.lists",
    "read_history": "rerank.history.reading",
    "read_model": "rerank.rankers.store",
    "read_preferences": "rerank.files.lists",
    "read_qrels": "rerank.files.trec",
    "read_run": "rerank.files.trec",
    "read_subtopic_qrels": "rerank.files.trec",
    "read_topics": "rerank.files.topics",
    "reliability": "rerank.evaluation.reliability",
    "rerank": "rerank.workflows.rerank",
    "rerank_texts": "rerank.workflows.text_ranking",
    "run_experiment": "rerank.workflows.experiment",
    "train": "rerank.workflows.train",
    "weight_curve": "rerank.rankers.diagnostics",
    "write_clicks": "rerank.clicks.reading",
    "write_data": "rerank.files.data",
    "write_qrels": "rerank.files.trec",
    "write_run": "rerank.files.trec",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rerank' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
