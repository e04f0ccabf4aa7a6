"""Model cards: every line from the model or the data, and text that no markup of a name changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.errors import FileFormatError, InvalidInputError, ModelMismatchError
from rerank.explanation.card import reliability_figure
from rerank.metrics.reliability import Reliability
from rerank.rankers.model_file import MODEL_FILE, VERSION
from tests.explanation.test_dependence import data_of
from tests.tiny import Tiny, more_queries


def rows(card: object, title: str) -> dict[str, str]:
    (section,) = [each for each in card.sections if each.title == title]  # type: ignore[attr-defined]
    return dict(section.rows)


def test_card_of_a_model_of_an_index_names_what_it_was_made_from(
    index: rerank.Index, collection: Tiny, tmp_path: Path
) -> None:
    topics, qrels = more_queries(collection)
    learner = rerank.LambdaMART(n_estimators=5, min_child_samples=5, num_leaves=4, base="unsupervised")
    model, _ = rerank.train(index, topics, qrels, learner, candidates="bm25", k=40)
    model.save(tmp_path / "model.json")
    card = rerank.model_card(tmp_path / "model.json")
    assert card.title == "Model card: model.json"
    about = rows(card, "Model")
    assert about["collection"].startswith(f"{len(collection.documents)} documents")
    assert about["candidates"] == str(model.retriever_)
    assert about["starts from"].startswith("the unsupervised ranking; weight of the base")
    assert all(f"<td>{text}" in model._repr_html_() for text in (model.size_in_words(), "the unsupervised ranking"))
    assert rows(card, "Data")["judged queries"].startswith(f"{len(topics)}, ")
    assert rows(card, "Model")["checksum"] == model.checksum()
    assert "families" in rows(card, "Features")
    assert rows(card, "Calibration")["Brier score"] == f"{model.calibration_.reliability.brier:.4f}"
    assert rows(card, "Versions")["rerank, which wrote this card"] == rerank.__version__
    (use,) = next(each.text for each in card.sections if each.title == "Intended use")
    assert use.startswith("It reorders the candidates of a query.")
    assert str(model.retriever_) in use
    page = card.to_html()
    assert all(f"<h2>{each.title}</h2>" in page for each in card.sections)
    chart = next(figure for each in card.sections for figure in each.figures)
    shares = [value for (value,) in chart.values.values()]
    assert shares == sorted(shares, reverse=True)
    assert f"{next(iter(chart.values))}</th>" in page
    assert "<circle" in page
    assert "<th></th>" not in page.replace(' scope="col"', "").replace(' scope="row"', "")


def test_card_measures_the_model_on_given_data() -> None:
    data, held_out = data_of(20), data_of(7)
    held_out = replace(held_out, base_scores=held_out.X[:, 1].astype(float))
    model = rerank.LambdaMART(n_estimators=10, min_child_samples=5).fit(data, eval_set=held_out)
    card = rerank.model_card(model, held_out, measures=["nDCG@5", "AP"])
    measures = rows(card, "Measures")
    judged = {
        query_id: dict(
            zip(held_out.doc_ids[rows_of].tolist(), held_out.labels[rows_of].astype(int).tolist(), strict=True)
        )
        for query_id in held_out
        for rows_of in [held_out.rows(query_id)]
    }
    for name in ("nDCG@5", "AP"):
        ours, before = (
            rerank.evaluate(judged, run, [name])[name]
            for run in (model.rank(held_out), held_out.run(held_out.base_scores, "x"))
        )
        assert measures[f"{name} on the given data"] == f"{ours:.4f}, {before:.4f} in the order of the candidates"
    best = model.evals_result_["valid"]["nDCG@10"][model.best_iteration_]
    assert measures["nDCG@10 on the queries that ended the training"].startswith(f"{best:.4f} after ")
    counts = np.unique(held_out.labels, return_counts=True)[1]
    assert rows(card, "Data")["labels"] == f"0: {counts[0]}, 1: {counts[1]}"
    assert rows(card, "Data")["given data"] == "7 queries, 84 documents"
    weighted = replace(held_out, weights=np.arange(1.0, 8.0))
    value = rows(rerank.model_card(model, weighted), "Measures")["nDCG@10 on the given data"].partition(",")[0]
    assert value == f"{model.score(weighted):.4f}" != f"{model.score(held_out):.4f}"
    assert rows(card, "Model")["features"] == f"3, of which {len(model.features_read())} have an effect"
    gains = model.feature_importances_
    assert rows(card, "Features")["a"] == f"{gains[0] / gains.sum():.1%} of the importance"
    with pytest.raises(ModelMismatchError, match="without c"):
        rerank.model_card(model, replace(held_out, X=held_out.X[:, :2], feature_names=("a", "b")))


def test_card_lists_constraints_and_changed_parameters_first() -> None:
    constraints = {"monotone_constraints": {"a": 1, "b": -1}, "interaction_constraints": [["a", "b"], ["c"]]}
    model = rerank.LambdaMART(n_estimators=3, min_child_samples=5, **constraints).fit(data_of(20))
    card = rerank.model_card(model)
    assert rows(card, "Constraints") == {
        "a": "the score may not fall with it",
        "b": "the score may not rise with it",
        "features that split together": "c",
    }
    (section,) = [each for each in card.sections if each.title == "Constraints"]
    assert ("features that split together", "a, b") in section.rows
    names = list(rows(card, "Parameters"))
    assert names[:4] == ["n_estimators", "min_child_samples", "monotone_constraints", "interaction_constraints"]
    for directions in ([0, 0, 1], (0, 0, 1), np.array([0, 0, 1])):
        model.set_params(monotone_constraints=directions, interaction_constraints=None).fit(data_of(20))
        card = rerank.model_card(model)
        assert rows(card, "Constraints") == {"c": "the score may not fall with it"}
        assert rows(card, "Parameters")["monotone_constraints"] == "[0, 0, 1]"


@pytest.mark.parametrize("kind", [rerank.RankSVM, rerank.RankNet, rerank.RankBoost, rerank.Auto])
def test_every_kind_of_ranker_has_a_card(kind: type) -> None:
    short = {"n_epochs": 2, "n_estimators": 5}
    model = kind(**{name: value for name, value in short.items() if name in kind().get_params()}).fit(data_of(20))
    card = rerank.model_card(model)
    assert rows(card, "Model")["ranker"] == f"{kind.__name__} ({model.kind})"
    assert rows(card, "Model")["consists of"] == model.size_in_words()
    assert rows(card, "Calibration") == {"probabilities": "none: scores are not calibrated"}
    assert rows(card, "Model")["collection"] == "not kept in the model file"
    assert kind()._repr_html_() is None
    assert card.to_html().startswith("<!DOCTYPE html>")


def test_names_are_text_in_markdown_and_in_pages() -> None:
    names = ("<b>|*", "`x`_[y](z)", "c")
    model = rerank.LambdaMART(n_estimators=5, min_child_samples=5).fit(replace(data_of(20), feature_names=names))
    card = rerank.model_card(model)
    text = str(card)
    assert r"\<b\>\|\*" in text
    assert r"\`x\`\_\[y\](z)" in text
    assert all(line.count("|") - line.count(r"\|") == 3 for line in text.splitlines() if line.startswith("|"))
    page = card.to_html()
    assert "<script" not in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("member", "value", "path"),
    [
        ("fingerprint", {"documents": "many"}, "fingerprint.documents"),
        ("fingerprint", {"documents": 3, "terms": None, "checksum": 5}, None),
        ("fingerprint", {}, None),
        ("fingerprint", {"terms": -1}, "fingerprint.terms"),
        ("recipe", {"fields": 5}, "recipe.fields"),
        ("recipe", {"families": [1]}, "recipe.families"),
        ("recipe", {"runs": {"a": 1}}, "recipe.runs"),
    ],
)
def test_card_of_a_damaged_model_names_the_place(member: str, value: object, path: str | None, tmp_path: Path) -> None:
    stored = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(data_of(120)).to_dict()
    file = tmp_path / "model.json"
    MODEL_FILE.write(file, {"version": VERSION, **stored, member: value})
    if path is None:
        assert str(rerank.model_card(file)).startswith("# Model card")
        return
    with pytest.raises(FileFormatError, match=rf"model\.json: {path}.*: expected"):
        rerank.model_card(file)


@pytest.mark.parametrize("directions", [[1], [1] * 9, {"none": 1}])
def test_card_refuses_directions_of_other_features(directions: object) -> None:
    model = rerank.LambdaMART(n_estimators=2, min_child_samples=2).fit(data_of(120))
    model.set_params(monotone_constraints=directions)
    with pytest.raises(InvalidInputError, match="monotone_constraints: expected a "):
        rerank.model_card(model)


def test_page_shows_the_reliability_of_a_calibrated_model() -> None:
    random = np.random.default_rng(0)
    probabilities = random.random(300)
    found = Reliability.of(random.random(300) < probabilities, probabilities)
    figure = reliability_figure(found).element()
    text = "".join(figure.itertext())
    assert f"Brier score {found.brier:.4f}, expected calibration error {found.error:.4f}" in text
    assert "as promised" in text
    observed = next(line for line in figure.iter("polyline"))
    assert len(observed.get("points", "").split()) == len(found.counts)
