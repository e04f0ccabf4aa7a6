#!/usr/bin/env bash
# Guess: BM25 with b above 0 gives the shorter of two documents with the same frequency the higher weight.
# Behaviour: BM25Weight of Xapian 1.4.26 has a parameter min_normlen of 0.5: a document below half the mean length is
# weighted as one of half the mean. Documents of 1 to 5 words are level here, in the order in which they were added;
# with min_normlen 0 the shortest leads. The other defaults, k1 1 and b 0.5, are not those of other engines either.
# Why it matters: where titles or short messages stand among long texts, the whole lower half of the lengths has no
# order of its own, and a BM25 of the same k1 and b elsewhere gives another ranking.
# Source: Xapian, weight/bm25weight.cc (get_sumpart: max(len * len_factor, param_min_normlen)).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xapian-bindings-binary==1.4.26

expected='default: 5 0.146, 3 0.146, 1 0.146, 8 0.137, 20 0.106
min_normlen 0: 1 0.165, 3 0.156, 5 0.148, 8 0.137, 20 0.106'

observed=$("$folder/venv/bin/python" - <<'EOF'
import xapian

database = xapian.WritableDatabase("", xapian.DB_BACKEND_INMEMORY)
for length in (5, 3, 1, 20, 8):
    document = xapian.Document()
    document.set_data(str(length))
    document.add_term("oak", 1)
    if length > 1:
        document.add_term("word", length - 1)
    database.add_document(document)
other = xapian.Document()
other.add_term("word", 29)
database.add_document(other)

for name, weight in (("default", xapian.BM25Weight()), ("min_normlen 0", xapian.BM25Weight(1, 0, 1, 0.5, 0))):
    enquire = xapian.Enquire(database)
    enquire.set_weighting_scheme(weight)
    enquire.set_query(xapian.Query("oak"))
    matches = [f"{match.document.get_data().decode()} {match.weight:.3f}" for match in enquire.get_mset(0, 10)]
    print(f"{name}:", ", ".join(matches))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
