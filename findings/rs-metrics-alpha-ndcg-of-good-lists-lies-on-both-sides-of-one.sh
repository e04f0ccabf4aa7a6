#!/usr/bin/env bash
# Guess: a_ndcg, which penalises what repeats an aspect, is divided by its best value, and no list has more than 1.
# Behaviour: in rs_metrics 0.6.0 the divisor is that of one aspect per item, without a penalty for the first whole
# rounds of aspects and one step of it for the rest. Two documents that both have both aspects reach 1.61; of four
# documents with one of two aspects each, the best order has 0.82, and leaving out the last two lifts it to 1.
# Why it matters: the mean prefers users whose items have many aspects, and shorter lists; it is no alpha-nDCG in the
# sense of ndeval, whose ideal is made from the documents.
# Source: rs_metrics/metrics.py (_a_ndcg: idcg from the number of aspects and the length of the list).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    rs_metrics==0.6.0 numpy==1.26.4 pandas==2.3.3

expected='one aspect each: a c b d 0.818
one aspect each: a b c d 0.793
one aspect each: a c 1.0
two aspects each: a b 1.613'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from rs_metrics import a_ndcg

disjoint = {1: [["a", "b"], ["c", "d"]]}
for items in ("acbd", "abcd", "ac"):
    print("one aspect each:", *items, round(a_ndcg({1: list("abcd")}, {1: list(items)}, disjoint), 3))
shared = {1: [["a", "b"], ["a", "b"]]}
print("two aspects each: a b", round(a_ndcg({1: ["a", "b"]}, {1: ["a", "b"]}, shared), 3))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
