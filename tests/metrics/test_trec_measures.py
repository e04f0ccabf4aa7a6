"""Measures for evaluation alone: each against a slow oracle, and their names."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rerank.errors import InvalidInputError
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.base import GEOMETRIC, MEAN, TEXT, TOTAL
from rerank.metrics.registry import GROUPS, known_measures, parse_measure, parse_measures
from tests.oracles import trec_measures as oracle

GAINS = {0: 1, 1: 3, 2: -1, 3: 9}
# Name -> its oracle and the arguments of the oracle.
MEASURES = {
    "Rprec": (oracle.rprec, {}),
    "Rprec(rel=2)": (oracle.rprec, {"rel": 2}),
    "Rprec(mult=0.35)": (oracle.rprec, {"mult": 0.35}),
    "Rprec(mult=5.0)": (oracle.rprec, {"mult": 5.0}),
    "GMAP": (oracle.ap, {}),
    "GMAP(rel=2)@5": (oracle.ap, {"rel": 2, "cutoff": 5}),
    "Bpref": (oracle.bpref, {}),
    "Bpref(rel=2)": (oracle.bpref, {"rel": 2}),
    "GMBpref(rel=3)": (oracle.bpref, {"rel": 3}),
    "infAP": (oracle.inf_ap, {}),
    "infAP(rel=2)": (oracle.inf_ap, {"rel": 2}),
    "IPrec@0.0": (oracle.iprec, {"recall": 0.0}),
    "IPrec@0.25": (oracle.iprec, {"recall": 0.25}),
    "IPrec(rounding='up')@0.25": (oracle.iprec, {"recall": 0.25, "rounding": "up"}),
    "IPrec(rel=2)@1.0": (oracle.iprec, {"recall": 1.0, "rel": 2}),
    "AvgIPrec": (oracle.avg_iprec, {}),
    "AvgIPrec(rel=2,recalls=(0.2, 0.5, 0.8))": (oracle.avg_iprec, {"rel": 2, "recalls": (0.2, 0.5, 0.8)}),
    "Success@1": (oracle.success, {"cutoff": 1}),
    "Success(rel=2)@10": (oracle.success, {"rel": 2, "cutoff": 10}),
    "RelP@5": (oracle.rel_p, {"cutoff": 5}),
    "RelP(rel=2)@50": (oracle.rel_p, {"rel": 2, "cutoff": 50}),
    "SetP": (oracle.set_p, {}),
    "SetP(rel=2,relative=True)": (oracle.set_p, {"rel": 2, "relative": True}),
    "SetR(rel=2)": (oracle.set_r, {"rel": 2}),
    "SetAP": (oracle.set_ap, {}),
    "SetF": (oracle.set_f, {}),
    "SetF(rel=2,beta=0.5)": (oracle.set_f, {"rel": 2, "beta": 0.5}),
    "NumQ": (oracle.num_q, {}),
    "NumRet": (oracle.num_ret, {}),
    "NumRet(rel=2)": (oracle.num_ret, {"rel": 2}),
    "NumRel(rel=2)": (oracle.num_rel, {"rel": 2}),
    "NumNonrelRet": (oracle.num_nonrel_ret, {}),
    "NumNonrelRet(rel=3)": (oracle.num_nonrel_ret, {"rel": 3}),
    "Utility": (oracle.utility, {}),
    "Utility(rel=2,worth=(2, -1, -0.5, 0.1),n_docs=90)": (
        oracle.utility,
        {"rel": 2, "worth": (2, -1, -0.5, 0.1), "n_docs": 90},
    ),
    "Judged": (oracle.judged, {}),
    "Judged@5": (oracle.judged, {"cutoff": 5}),
    "Unjudged@5": (oracle.unjudged, {"cutoff": 5}),
    "RBPResidual": (oracle.rbp_residual, {}),
    "RBPResidual(p=0.95)": (oracle.rbp_residual, {"p": 0.95}),
    "nDCG(gains={0:1,1:3,2:-1,3:9})": (oracle.ndcg, {"gains": GAINS}),
    "nDCG(gains={0:1,1:3,2:-1,3:9})@5": (oracle.ndcg, {"gains": GAINS, "cutoff": 5}),
    "nDCGrel": (oracle.ndcg_rel, {}),
    "nDCGrel(gains={0:1,1:3,2:-1,3:9})": (oracle.ndcg_rel, {"gains": GAINS}),
    "RnDCG": (oracle.r_ndcg, {}),
    "RnDCG(gains={0:1,1:3,2:-1,3:9},rel=2)": (oracle.r_ndcg, {"gains": GAINS, "rel": 2}),
    "G": (oracle.g, {}),
    "G(gains={1:2,3:0.5})": (oracle.g, {"gains": {1: 2, 3: 0.5}}),
    "binG": (oracle.bin_g, {}),
    "binG(rel=2)": (oracle.bin_g, {"rel": 2}),
    "RelString@3": (oracle.rel_string, {"cutoff": 3}),
    "RelString@10": (oracle.rel_string, {}),
}


def cases(seed: int, n_queries: int = 150):
    """Qrels and run, and for each query its ranked labels and its pool as the oracles take them."""
    random = np.random.default_rng(seed)
    qrels, run, lists = {}, {}, {}
    for number in range(n_queries):
        docs = [f"d{doc:02d}" for doc in range(40)]
        highest = 12 if number == 0 else 3
        judged = random.permutation(docs)[: random.integers(1, 30)].tolist()
        labels = random.integers(-1, highest + 1, len(judged)) * (random.random() < 0.9)
        qrels[f"q{number:03d}"] = dict(zip(judged, labels.tolist(), strict=True))
        retrieved = random.permutation(docs)[: random.integers(1, 30)].tolist()
        run[f"q{number:03d}"] = {doc: -float(rank) for rank, doc in enumerate(retrieved)}
        known = qrels[f"q{number:03d}"]
        lists[f"q{number:03d}"] = ([known.get(doc) for doc in retrieved], list(known.values()))
    qrels["missing"] = {"d1": 1, "d2": 0, "d3": -1}
    lists["missing"] = ([], [1, 0, -1])
    return qrels, run, lists


@pytest.mark.parametrize("name", MEASURES)
def test_value_equals_the_oracle(name: str) -> None:
    qrels, run, lists = cases(0)
    result = evaluate(qrels, run, [name], complete=True)
    compute, told = MEASURES[name]
    expected = [compute(*lists[query], **told) for query in result.query_ids.tolist()]
    if name in result.texts:
        assert result.texts[name].tolist() == expected
    else:
        np.testing.assert_allclose(result.values[name], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", [name for name in MEASURES if "rel" not in name and "GM" not in name])
def test_value_of_a_query_does_not_depend_on_the_others(name: str) -> None:
    qrels, run, _ = cases(1, n_queries=30)
    together = evaluate(qrels, run, [name], complete=True)
    for number, query in enumerate(together.query_ids.tolist()):
        if query in run:
            alone = evaluate({query: qrels[query]}, {query: run[query]}, [name])
            for ours, theirs in ((alone.values, together.values), (alone.texts, together.texts)):
                if name in ours:
                    assert ours[name][0] == theirs[name][number]


@pytest.mark.parametrize("name", MEASURES)
def test_name_comes_back(name: str) -> None:
    assert parse_measure(name).name == name


def test_averages_are_those_of_the_measure() -> None:
    qrels = {"a": {"x": 1, "y": 0}, "b": {"x": 1, "y": 0}, "c": {"x": 1}}
    run = {"a": {"x": 2.0, "y": 1.0}, "b": {"x": 1.0, "y": 2.0}}
    result = evaluate(qrels, run, ["AP", "GMAP", "gm_bpref", "num_q", "num_rel", "num_ret"], complete=True)
    assert result["AP"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert result["GMAP"] == pytest.approx(math.exp((math.log(1) + math.log(0.5) + math.log(1e-5)) / 3))
    assert result["GMBpref"] == pytest.approx(math.exp(2 * math.log(1e-5) / 3))
    assert (result["NumQ"], result["NumRel"], result["NumRet"]) == (3, 3, 4)
    assert {kind.averaging for kind in known_measures().values()} == {MEAN, GEOMETRIC, TOTAL, TEXT}


def test_texts_are_no_figures() -> None:
    result = evaluate({"q": {"x": 10, "y": -1, "z": 0}}, {"q": {"x": 4, "y": 3, "z": 2, "w": 1}}, ["relstring", "AP"])
    assert result.measures == ("AP",)
    assert result.texts["RelString@10"].tolist() == [">.0-"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("hit_rate@10", "Success@10"),
        ("HR@10", "Success@10"),
        ("precision@10", "P@10"),
        ("mrr@10", "RR@10"),
        ("mean_reciprocal_rank@10", "RR@10"),
        ("r-precision", "Rprec"),
        ("f1", "SetF"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("dcg_burges@10", "DCG(dcg='exp-log2')@10"),
        ("Recall_cap@100", "RelP@100"),
        ("ndcg_at_10", "nDCG@10"),
        ("map_at_100", "AP@100"),
        ("precision_at_5", "P@5"),
        ("alpha_ndcg@20", "alpha_nDCG@20"),
    ],
)
def test_names_of_other_tools_are_understood(written: str, name: str) -> None:
    assert [measure.name for measure in parse_measures([written])] == [name]


def test_metric_of_elasticsearch_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"measures: expected names, got \{'recall': \{'k': 10\}\}. Write e.g."):
        parse_measures({"recall": {"k": 10}})


def test_measures_are_sorted_when_they_are_a_set() -> None:
    assert [measure.name for measure in parse_measures({"ndcg_cut_10", "map", "P_5"})] == ["P@5", "AP", "nDCG@10"]


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("P.5,7,3", ["P@5", "P@7", "P@3"]),
        ("ndcg_cut.10,20,23.4", ["nDCG@10", "nDCG@20", "nDCG@23"]),
        ("iprec_at_recall..10,.25", ["IPrec@0.1", "IPrec@0.25"]),
        ("iprec_at_recall_0.10", ["IPrec@0.1"]),
        ("Rprec_mult.5.0,0.2", ["Rprec(mult=5.0)", "Rprec(mult=0.2)"]),
        ("utility.2,-1,0,0", ["Utility(worth=(2.0, -1.0, 0.0, 0.0))"]),
        ("11pt_avg..25,.5,.75", ["AvgIPrec(recalls=(0.25, 0.5, 0.75))"]),
        ("ndcg.1=3,2=9,4=4.5", ["nDCG(gains={1:3,2:9,4:4.5})"]),
        ("G.1=3", ["G(gains={1:3})"]),
        ("set_F.0.5", ["SetF(beta=0.5)"]),
        ("relstring.20", ["RelString@20"]),
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("num_rel_ret", ["NumRet(rel=1)"]),
        ("MAP@5", ["AP@5"]),
        ("NDCG(dcg='exp-log2')@5", ["nDCG(dcg='exp-log2')@5"]),
        ("Recall@20", ["R@20"]),
        ("SetRelP(rel=2)", ["SetP(rel=2,relative=True)"]),
        ("BPref", ["Bpref"]),
        ("rbp", ["RBP(p=0.9)"]),
        ("rbp_resid", ["RBPResidual(p=0.9)"]),
    ],
)
def test_names_of_trec_eval_and_ir_measures_are_understood(written: str, names: list[str]) -> None:
    assert [measure.name for measure in parse_measures([written])] == names


def test_groups_are_those_of_trec_eval() -> None:
    assert {measure.name for measure in parse_measures(["official"])} < {
        measure.name for measure in parse_measures(["all_trec"])
    }
    assert len(parse_measures(["P"])) == 9
    assert len(parse_measures(["all_trec", "map", "P_5"])) == len(parse_measures(["all_trec"]))
    assert set(GROUPS) == {"all_trec", "official", "set"}


def test_level_is_that_of_measures_that_do_not_name_their_own() -> None:
    names = ["AP", "AP(rel=1)@5", "AP(rel=3)", "num_rel_ret", "NumRet", "nDCG@10"]
    expected = ["AP(rel=2)", "AP@5", "AP(rel=3)", "NumRet(rel=2)", "NumRet", "nDCG@10"]
    assert [measure.name for measure in parse_measures(names, level=2)] == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Bpref@10", "measure Bpref: expected no cutoff, got 10. Write Bpref"),
        ("IPrec@1.5", "IPrec: expected recall from 0 to 1, got 1.5"),
        ("IPrec", "IPrec: expected recall from 0 to 1, got None"),
        ("IPrec(rounding='down')@0.5", "expected rounding='nearest' or 'up', got 'down'"),
        ("AvgIPrec(recalls=())", r"AvgIPrec: expected recalls, got \(\)"),
        ("AvgIPrec(recalls=5)", "AvgIPrec: expected recalls, got 5"),
        ("Utility(worth=3)", r"Utility: expected four numbers as worth, got 3"),
        ("Utility(n_docs='x')", "Utility: expected a number of documents as n_docs, got 'x'"),
        ("Utility(n_docs=-5)", "Utility: expected a number of documents as n_docs, got -5"),
        ("nDCG@1.5", "expected a cutoff of at least 1, got 1.5"),
        ("nDCG(gains=3)", "gains: expected {label: gain}, got 3"),
        ("nDCG(gains={True:3})", "gains: expected {label: gain}, got {True: 3}"),
        ("nDCG(gains={1:True})", "gains: expected {label: gain}, got {1: True}"),
        (f"nDCG(gains={{1:{10**400}}})", "gains: expected {label: gain}, got {1: a whole number of"),
        (f"nDCG(gains={{{10**400}:1}})", "gains: expected {label: gain}, got {a whole number of"),
        ("nDCG(gains={1:2},dcg='exp-log2')", "nDCG: expected gains or dcg='exp-log2', got both"),
        ("RnDCG(rel=0)", "RnDCG: expected rel of at least 1, got 0"),
        ("Rprec(mult=0)", "Rprec: expected mult above 0, got 0"),
        ("SetF(beta=-1)", "SetF: expected beta of at least 0, got -1"),
        ("SetP(relative=2)", "SetP: expected relative=True or False, got 2"),
        ("NumRet(rel=0)", "NumRet: expected rel of at least 1, got 0"),
        ("Utility(worth=(1, 2))", r"Utility: expected four numbers as worth, got \(1, 2\)"),
        ("utility.1,2", r"Utility: expected four numbers as worth, got \(1.0, 2.0\)"),
        ("Unjudged", "Unjudged: expected a cutoff of at least 1, got None"),
        ("RBPResidual(p=1)", "RBPResidual: expected p between 0 and 1, got 1"),
        ("P.5,10", "expected one measure, got several in 'P.5,10'"),
        ("P_5_10", "expected a known name, got 'P_5_10'"),
        ("map.5", "measure: expected NAME, NAME@CUTOFF or"),
    ],
)
def test_names_that_are_none_are_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_measure(name)
