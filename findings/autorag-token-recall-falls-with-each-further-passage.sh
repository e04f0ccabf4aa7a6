#!/usr/bin/env bash
# Guess: retrieval_token_recall of AutoRAG is the share of the words of the true passages that was retrieved: it can
# only rise with a further passage, and is 1 where all are retrieved.
# Behaviour: in AutoRAG 0.3.27 it is the mean over the *retrieved* passages of the recall of the true passage that they
# are most like. With one of two true passages it is 1; the second, word for word, leaves it at 1; three passages on
# other things beside both take it to .40. With the first true passage five times it is 1, and so is precision.
# Why it matters: it falls as precision does, and AutoRAG chooses the number of passages by it: the optimum is
# top_k=1, and what was missed costs nothing.
# Source: autorag, evaluation/metric/retrieval_contents.py (result_np.max(axis=1).mean() for precision and recall
# alike).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==1.26.4 pandas==2.2.3 emoji==2.16.0 tiktoken==0.14.0 PyYAML==6.0.4 pydantic==2.14.4 \
    llama-index-embeddings-openai==0.7.0 llama-index-core==0.14.25 openai==3.57.0
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps autorag==0.3.27  # clients of language models

expected='one of two: token recall 1.00, precision 1.00
both: token recall 1.00, precision 1.00
both, and three others: token recall 0.40, precision 0.40
one of two, five times: token recall 1.00, precision 1.00'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import sys
import sysconfig
from types import ModuleType

for package in ("autorag", "autorag.evaluation", "autorag.evaluation.metric", "autorag.schema", "autorag.utils"):
    module = ModuleType(package)  # the modules of the measures alone: the packages import clients of language models
    module.__path__ = [f"{sysconfig.get_path('purelib')}/{package.replace('.', '/')}"]
    sys.modules[package] = module

from autorag.evaluation.metric.retrieval_contents import retrieval_token_precision, retrieval_token_recall
from autorag.schema.metricinput import MetricInput

first, second = "The cell divides into two daughter cells", "Chromosomes line up before that"
others = ["Bonds fell on Monday", "A recipe for soup of leeks", "The match ended without goals"]
cases = {
    "one of two": [first],
    "both": [first, second],
    "both, and three others": [first, second, *others],
    "one of two, five times": [first] * 5,
}
for name, retrieved in cases.items():
    question = MetricInput(retrieval_gt_contents=[[first], [second]], retrieved_contents=retrieved)
    recall, precision = (each([question])[0] for each in (retrieval_token_recall, retrieval_token_precision))
    print(f"{name}: token recall {recall:.2f}, precision {precision:.2f}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
