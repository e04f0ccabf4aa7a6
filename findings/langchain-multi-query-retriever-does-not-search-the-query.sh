#!/usr/bin/env bash
# Guess: MultiQueryRetriever searches the query of the user and the variants that the model writes, and puts documents
# that several of them find first.
# Behaviour: in langchain-classic 1.0.8 the query is searched only with include_original=True, and then last. The lists
# are put one after the other and doubles are taken out: the worst document of the first variant stands above the best
# of the second, and a document that two variants rank first is last here. No score is returned.
# Why it matters: the first k of the answer are those of one variant, in its order; measures of the list at a cutoff
# judge the first line that the model wrote, and the user's own words count for nothing.
# Source: langchain_classic/retrievers/multi_query.py (include_original=False; unique_union).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check langchain-classic==1.0.8 langchain-core==1.8.3

expected='include_original False searches: oak tree | quercus | acorn tree
    finds: x1 x2 x3 y1 best y2
include_original True searches: oak tree | quercus | acorn tree | oak
    finds: x1 x2 x3 y1 best y2 own'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.documents import Document
from langchain_core.language_models.fake import FakeListLLM
from langchain_core.retrievers import BaseRetriever

LISTS = {
    "oak": ["best", "own"],
    "oak tree": ["x1", "x2", "x3"],
    "quercus": ["y1", "best", "y2"],
    "acorn tree": ["best", "x1", "y2"],
}
searched = []


class Fixed(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        searched.append(query)
        return [Document(page_content=name) for name in LISTS[query]]


for original in (False, True):
    searched.clear()
    model = FakeListLLM(responses=["oak tree\nquercus\nacorn tree"])
    retriever = MultiQueryRetriever.from_llm(Fixed(), model, include_original=original)
    found = [document.page_content for document in retriever.invoke("oak")]
    print(f"include_original {original} searches:", " | ".join(searched))
    print("    finds:", *found)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
