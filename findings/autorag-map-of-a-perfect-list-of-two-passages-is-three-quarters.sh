#!/usr/bin/env bash
# Guess: a question that needs two passages (retrieval_gt [["a"], ["b"]]: a and b) has MRR and MAP of 1 in AutoRAG where
# the list begins with both; one that any of three passages answers ([["a", "b", "c"]]) has nDCG 1 with one on top.
# Behaviour: in AutoRAG 0.3.27 both are means over the required passages of the value of each passage alone. The perfect
# list for two has MRR and MAP .75, for three .61, for five .46. nDCG takes the alternatives for as many relevant
# documents: with the one on top, and no other in a list of three, it is .47, while recall, MRR and MAP are 1.
# Why it matters: AutoRAG chooses modules by these means. Questions of several hops lower them by their number, as if
# the order were wrong; where each chunk of a page will do, nDCG prefers the list that repeats the page.
# Source: autorag, evaluation/metric/retrieval.py (retrieval_mrr, retrieval_map: a value for each set of retrieval_gt;
# retrieval_ndcg: its ideal has all ids of retrieval_gt).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 pandas==2.2.3 emoji==2.16.0 tiktoken==0.14.0 PyYAML==6.0.4 pydantic==2.14.4 \
    llama-index-embeddings-openai==0.7.0 llama-index-core==0.14.25 openai==3.57.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps autorag==0.3.27  # clients of language models

expected='a and b: recall 1.00, mrr 0.75, map 0.75, ndcg 1.00
a and b and c: recall 1.00, mrr 0.61, map 0.61, ndcg 1.00
five passages: recall 1.00, mrr 0.46, map 0.46, ndcg 1.00
a or b or c, a found: recall 1.00, mrr 1.00, map 1.00, ndcg 0.47
a or b or c, all found: recall 1.00, mrr 1.00, map 1.00, ndcg 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import sys
import sysconfig
from types import ModuleType

for package in ("autorag", "autorag.evaluation", "autorag.evaluation.metric", "autorag.schema", "autorag.utils"):
    module = ModuleType(package)  # the modules of the measures alone: the packages import clients of language models
    module.__path__ = [f"{sysconfig.get_path('purelib')}/{package.replace('.', '/')}"]
    sys.modules[package] = module

from autorag.evaluation.metric import retrieval
from autorag.schema.metricinput import MetricInput

cases = {
    "a and b": ([["a"], ["b"]], ["a", "b", "x"]),
    "a and b and c": ([["a"], ["b"], ["c"]], ["a", "b", "c"]),
    "five passages": ([[letter] for letter in "abcde"], list("abcde")),
    "a or b or c, a found": ([["a", "b", "c"]], ["a", "x", "y"]),
    "a or b or c, all found": ([["a", "b", "c"]], ["a", "b", "c"]),
}
measures = [getattr(retrieval, f"retrieval_{name}") for name in ("recall", "mrr", "map", "ndcg")]
for name, (truth, found) in cases.items():
    question = MetricInput(retrieval_gt=truth, retrieved_ids=found)
    values = (f"{measure.__name__.removeprefix('retrieval_')} {measure([question])[0]:.2f}" for measure in measures)
    print(f"{name}:", ", ".join(values))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
