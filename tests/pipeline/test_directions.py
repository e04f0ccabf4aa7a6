"""Directions that the families of features declare, as monotone constraints."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

import rerank
from rerank.features.columns import default_features, directions
from rerank.features.family import default_family_names, known_families
from tests.tiny import Tiny, more_queries


def test_declared_directions_hold_in_sweeps_of_each_feature(index: rerank.Index, collection: Tiny) -> None:
    topics, qrels = more_queries(collection)
    data = index.features(index.search(topics, 60), topics, qrels)
    noise = np.random.default_rng(0).permutation(data.labels)  # which free trees learn in any direction
    data = replace(data, labels=noise, ideal_labels=None, ideal_ptr=None)
    declared = directions(data.recipe, data.feature_names)
    assert declared["bm25.contents"] == 1
    assert declared["bm25_rank.contents"] == declared["span.contents"] == declared["run.rank"] == -1
    assert not {"stream_length.contents", "query.length", "idf_sum.contents"} & set(declared)
    model = rerank.LambdaMART(n_estimators=20, min_child_samples=3, monotone_constraints="features").fit(data)
    free = rerank.LambdaMART(n_estimators=20, min_child_samples=3).fit(data)
    against = {model: 0, free: 0}
    for name, direction in declared.items():
        column = data.feature_names.index(name)
        values = np.unique(data.X[~np.isnan(data.X[:, column]), column])
        swept = np.repeat(data.X[:20], len(values), axis=0)
        swept[:, column] = np.tile(values, 20)
        for each in against:
            steps = np.diff(each.predict(swept).reshape(20, -1), axis=1)
            against[each] += int((direction * steps < 0).sum())
    assert against[model] == 0
    assert against[free] > 0
    assert "the score may not rise with it" in str(rerank.model_card(model))


def test_every_pattern_of_directions_fits_a_feature() -> None:
    for name, member in known_families().items():
        names = [feature.name for feature in default_features(name)] if name in default_family_names() else []
        for pattern in (*member.rising, *member.falling) if names else ():
            assert any(fnmatchcase(each, pattern) for each in names), (name, pattern)


def test_members_of_a_combination_take_the_declared_directions(index: rerank.Index, collection: Tiny) -> None:
    topics, qrels = more_queries(collection)
    data = index.features(index.search(topics, 30), topics, qrels)
    member = "lambdamart(n_estimators=3, monotone_constraints='features')"
    for model in (rerank.Ensemble(members=f"{member}, logisticregression"), rerank.Auto(members=member)):
        alone = model.fit(data).members_[0]
        assert alone.recipe_ == data.recipe
        assert "the score may not fall with it" in str(rerank.model_card(alone))
