#!/usr/bin/env bash
# Guess: `DocumentJoiner(join_mode="distribution_based_rank_fusion", weights=...)` adds the normalised scores of the
# lists, with their weights.
# Behaviour: it keeps the higher of the normalised scores of a document and reads no weights (haystack-ai 3.4.1): a
# document that both lists found is level with one that a single list found, and weights of 9 and 1 change nothing.
# Why it matters: the distribution-based fusion that it is named after adds the scores; a weight that was tuned here
# has no effect, and no error says so. The other modes take weights.
# Source: haystack/components/joiners/document_joiner.py, _distribution_based_rank_fusion.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check haystack-ai==3.4.1

expected='by distribution:         a 0.667 b 0.667 c 0.333
with weights 9 and 1:    a 0.667 b 0.667 c 0.333
merged, weights 9 and 1: a 0.810 b 0.530 c 0.010'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from haystack import Document
from haystack.components.joiners import DocumentJoiner

one = [Document(id="a", content="a", score=0.9), Document(id="b", content="b", score=0.5)]
two = [Document(id="b", content="b", score=0.8), Document(id="c", content="c", score=0.1)]


def joined(mode, weights=None):
    documents = DocumentJoiner(join_mode=mode, weights=weights).run(documents=[one, two])["documents"]
    return " ".join(f"{document.id} {document.score:.3f}" for document in documents)


print("by distribution:        ", joined("distribution_based_rank_fusion"))
print("with weights 9 and 1:   ", joined("distribution_based_rank_fusion", [9.0, 1.0]))
print("merged, weights 9 and 1:", joined("merge", [9.0, 1.0]))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
