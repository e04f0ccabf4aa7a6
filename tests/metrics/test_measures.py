"""Laws that every registered measure keeps, and its value against a slow oracle."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.metrics.ranked_lists import RankedLists
from rerank.metrics.registry import FILE_OF_SYMBOL, known_measures, parse_measure
from rerank.types import pointers
from tests.metrics import test_trec_measures
from tests.metrics.golden import make_ndeval
from tests.oracles import measures as oracle

NAMES = [
    "nDCG",
    "nDCG@1",
    "nDCG@10",
    "nDCG(dcg='exp-log2')",
    "nDCG(dcg='exp-log2')@5",
    "AP",
    "AP(rel=2)",
    "AP@3",
    "RR",
    "RR@2",
    "RR(rel=2)@10",
    "P@1",
    "P@10",
    "P(rel=2)@5",
    "R@1",
    "R@20",
    "R(rel=3)@5",
    "DCG",
    "DCG@10",
    "DCG(dcg='exp-log2')@5",
    "ERR",
    "ERR@20",
    "ERR(max_rel=3)@5",
    "nERR",
    "nERR(max_rel=3)@5",
    "RBP",
    "RBP(p=0.5)@5",
    "RBP(p=0.95,rel=2)",
    "AUC",
    "AUC(rel=2)",
    "PairAccuracy",
]
UNBOUNDED = ("DCG", "RBP")


def lists(seed: int, n_queries: int = 300, longest: int = 30) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Ranked labels and ideals: empty lists, no relevant document, negative labels, relevant ones not retrieved."""
    random = np.random.default_rng(seed)
    ranked, ideal = [], []
    for _ in range(n_queries):
        labels = random.integers(-1, 4, random.integers(0, longest)) * (random.random() < 0.9)
        missed = random.integers(1, 4, random.integers(0, 4))
        ranked.append(labels.astype(float))
        ideal.append(np.sort(np.concatenate([labels[labels > 0], missed]))[::-1].astype(float))
    return ranked, ideal


def joined(ranked: list[np.ndarray], ideal: list[np.ndarray]) -> RankedLists:
    return RankedLists(
        np.concatenate(ranked),
        pointers([len(labels) for labels in ranked]),
        np.concatenate(ideal),
        pointers([len(labels) for labels in ideal]),
    )


@pytest.mark.parametrize("name", ["x" * 50_000, "P" + " " * 50_000 + "y", "nDCG@" + "1" * 50_000, "P." + "5," * 25_000])
def test_name_of_many_letters_is_refused_in_a_short_line_at_once(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^measure: expected a name of at most 1000 letters, got 5") as fault:
        parse_measure(name)
    assert len(str(fault.value)) < 200


def test_names_cover_every_registered_measure() -> None:
    names = [*NAMES, *test_trec_measures.MEASURES, *make_ndeval.MEASURES]
    assert {type(parse_measure(name)) for name in names} == set(known_measures().values())


@pytest.mark.parametrize("name", NAMES)
def test_value_equals_the_oracle(name: str) -> None:
    ranked, ideal = lists(0, n_queries=1000)
    values = parse_measure(name).scores(joined(ranked, ideal))
    expected = [oracle.value(name, list(a), list(b)) for a, b in zip(ranked, ideal, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
def test_value_of_a_query_does_not_depend_on_the_others(name: str) -> None:
    ranked, ideal = lists(1)
    measure = parse_measure(name)
    together = measure.scores(joined(ranked, ideal))
    alone = [measure.score(a, b) for a, b in zip(ranked, ideal, strict=True)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("name", NAMES)
def test_name_comes_back(name: str) -> None:
    assert parse_measure(name).name == name
    assert parse_measure(parse_measure(name)) == parse_measure(name)


@pytest.mark.parametrize("name", NAMES)
def test_value_is_between_zero_and_that_of_the_best_order(name: str) -> None:
    measure = parse_measure(name)
    ranked, _ = lists(2)
    most = np.inf if name.startswith(UNBOUNDED) else 1.0
    for labels in ranked:
        ideal = np.sort(labels[labels > 0])[::-1]
        best = measure.score(np.sort(labels)[::-1], ideal)
        assert 0.0 <= measure.score(labels, ideal) <= best + 1e-12 <= most + 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_value_is_zero_when_no_document_is_relevant(name: str) -> None:
    assert parse_measure(name).score([0, -1, 0], []) == 0.0
    assert parse_measure(name).score([], []) == 0.0


def test_auc_counts_the_pairs_in_the_right_order() -> None:
    ranked, ideal = lists(4)
    for labels, best in zip(ranked, ideal, strict=True):
        binary, relevant = (labels > 0).astype(float), (best > 0).astype(float)
        assert parse_measure("AUC").score(labels, best) == pytest.approx(
            oracle.pair_accuracy(list(binary), list(relevant))
        )
    assert parse_measure("AUC").score([1, 0, 0], [1]) == 1.0
    assert parse_measure("AUC").score([0, 0, 1], [1]) == 0.0


def test_err_equals_gdeval(tmp_path) -> None:
    """gdeval.pl 1.2a, `perl gdeval.pl qrels run 5` on the lists below, best grade 4."""
    ranked = [[4, 0, 2, 0, 1, 3], [0, 1, 1, 0], [0, 0, 0, 0, 0, 4]]
    ideal = [[4, 3, 2, 1], [4, 1, 1], [4]]
    values = parse_measure("ERR@5").scores(
        joined(*([np.array(some, float) for some in both] for both in (ranked, ideal)))
    )
    np.testing.assert_allclose(values, [0.94204, 0.05078, 0.0], atol=5e-6)


@pytest.mark.parametrize(
    ("trec_eval", "name"),
    [
        ("map", "AP"),
        ("map_cut_5", "AP@5"),
        ("recip_rank", "RR"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("P_5", "P@5"),
        ("recall.1000", "R@1000"),
        ("recall@10", "R@10"),
    ],
)
def test_names_of_trec_eval_are_understood(trec_eval: str, name: str) -> None:
    assert parse_measure(trec_eval).name == name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", "measure: expected a known name, got 'ndgc'. Did you mean"),
        ("mrrr@10", "measure: expected a known name, got 'mrrr'. Did you mean"),
        ("", "measure: expected a known name, got ''"),
        ("nDCG@ten", "got 'nDCG@ten'"),
        ("nDCG@0", "expected a cutoff of at least 1, got 0. Write e.g. nDCG@10"),
        ("P", "expected one measure, got several in 'P'. Name one with its cutoff, e.g. P@10"),
        ("P(rel=2)", "P: expected a cutoff of at least 1, got None. Write e.g. P@10"),
        ("AP(level=2)", "parameter: expected a known name, got 'level'. Known: rel"),
        ("AP(rel=0)", "expected rel of at least 1, got 0"),
        ("AP(rel)", "expected parameters as name=value, got 'rel'"),
        ("nDCG(dcg='exp')", "nDCG: expected dcg='log2' or 'exp-log2', got 'exp'"),
        ("DCG(dcg=2)@5", "DCG: expected dcg='log2' or 'exp-log2', got 2"),
        ("ERR(max_rel=0)", "ERR: expected max_rel from 1 to 50, got 0"),
        ("nERR(max_rel='4')", "nERR: expected max_rel from 1 to 50, got '4'"),
        ("RBP(p=1.0)", "RBP: expected p between 0 and 1, got 1.0"),
        ("RBP(rel=0)", "RBP: expected rel of at least 1, got 0"),
        ("AUC@10", "AUC: expected no cutoff, got 10. Write AUC."),
        ("f1@10", "SetF: expected no cutoff, got 10. Write SetF, of all that is retrieved, or P@10 and R@10."),
        ("AUC(rel=0)", "AUC: expected rel of at least 1, got 0"),
        ("PairAccuracy@5", "PairAccuracy: expected no cutoff, got 5"),
    ],
)
def test_names_that_are_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        parse_measure(name)


def test_a_label_above_the_best_grade_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"ERR@20: expected labels up to max_rel=4, got 6. .* ERR\(max_rel=6\)"):
        parse_measure("ERR@20").score([6, 0], [6])
    with pytest.raises(InvalidInputError, match=r"ERR: expected labels up to max_rel=4, got 51. Scale the labels\."):
        parse_measure("ERR").score([51, 0], [51])


def test_files_are_those_that_register_the_measures() -> None:
    homes = {symbol: measure.__module__.rpartition(".")[2] for symbol, measure in known_measures().items()}
    assert {symbol: homes.get(symbol) for symbol in FILE_OF_SYMBOL} == FILE_OF_SYMBOL


def test_one_measure_loads_its_file_alone() -> None:
    code = "from rerank.metrics.registry import parse_measure; import sys; parse_measure('RR@10'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in done.stdout.split() if name.startswith("rerank.metrics.")}
    assert loaded & set(FILE_OF_SYMBOL.values()) == {"reciprocal"}


def test_cutoffs_that_are_numbers_of_numpy_are_named_as_numbers() -> None:
    with pytest.raises(InvalidInputError, match=r"expected a cutoff of at least 1, got 2\.5\. Write e\.g\. RR@10"):
        type(parse_measure("RR"))(np.float64(2.5))
