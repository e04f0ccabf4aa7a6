#!/usr/bin/env bash
# Guess: NDCG is 1 where the only relevant item is in the first place, and below 1 where it is in the second.
# Behaviour: in LensKit 2025.8.1 both have 1: the weights are 1 / log2(rank) with the first two as 1 (as in the paper
# of 2002), not 1 / log2(rank + 1). weight=LogRankWeight(offset=1) is the NDCG of other tools. Ratings are no gains
# either, unless gain= names them.
# Why it matters: an item that falls from the first to the second place costs nothing, and all figures differ from
# trec_eval, scikit-learn, RecBole and others by up to a third.
# Source: lenskit, metrics/ranking/_dcg.py (NDCG: weight=LogRankWeight() by default), _weighting.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    lenskit==2025.8.1 numpy==2.4.6 pandas==2.3.3

expected='the relevant item in place 1: 1.0000, with offset=1 1.0000
the relevant item in place 2: 1.0000, with offset=1 0.6309
the relevant item in place 3: 0.6309, with offset=1 0.5000
the relevant item in place 4: 0.5000, with offset=1 0.4307'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from lenskit.data import ItemList
from lenskit.metrics import NDCG, LogRankWeight

relevant = ItemList(item_ids=["a"])
for items in ("axyz", "xayz", "xyaz", "xyza"):
    ranked = ItemList(item_ids=list(items), ordered=True)
    default, shifted = (
        float(measure.measure_list(ranked, relevant)) for measure in (NDCG(), NDCG(weight=LogRankWeight(offset=1)))
    )
    print(f"the relevant item in place {items.index('a') + 1}: {default:.4f}, with offset=1 {shifted:.4f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
