#!/usr/bin/env bash
# Guess: RBP and NDCG take the grades of the judgements as they are, and 2 and 2.0 are the same grade.
# Behaviour: in rbp_eval 1.0.0 grades are made binary while every number of the file is written without a dot. One dot
# in any line of any topic makes all of them gains: one "2.0" for "2" lifts RBP from 0.84 to 1.16, above 1, and changes
# NDCG, which is binary of integer grades by the same rule.
# Why it matters: qrels that a program wrote as floats give other figures than the same qrels as integers, and neither
# is graded RBP, whose gains lie between 0 and 1.
# Source: rbp_eval/qrels.py (load_qrels, all_rels_are_integral; Qrels._adj_rel with RelType.AUTO).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rbp-eval==1.0.0

expected='grades 1 2 0 2 1 RBP 0.8438 NDCG 0.9360
grades 1 2 0 2.0 1 RBP 1.1562 NDCG 0.8635'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import io

from rbp_eval.dcg import DcgOptions, compute_dcg
from rbp_eval.qrels import load_qrels
from rbp_eval.ranking import Ordering
from rbp_eval.rbp import Rbp
from rbp_eval.runs import load_run

run = load_run(io.StringIO("".join(f"1 Q0 d{rank} {rank} {10 - rank} run\n" for rank in range(1, 6))))
documents = run.get_qdocs_by_qid("1")
for grades in (["1", "2", "0", "2", "1"], ["1", "2", "0", "2.0", "1"]):
    qrels = load_qrels(io.StringIO("".join(f"1 0 d{i} {grade}\n" for i, grade in enumerate(grades, 1))))
    rbp = Rbp(qrels, Ordering.SCORE, [0.5])
    rbp.init(documents)
    values, _ = rbp.calc_to_depth(5)
    ndcg = compute_dcg(qrels, "1", documents.get_scores(Ordering.SCORE), DcgOptions(depth=5))
    print("grades", *grades, f"RBP {values[0].sum:.4f} NDCG {ndcg:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
