#!/usr/bin/env bash
# Guess: BleuScore of ragas compares the answer with the reference as wholes: what is wrong in the second sentence of
# the answer lowers it, and so does an answer that is much too short.
# Behaviour: ragas 0.4.3 splits both texts at ". " and hands the sentences of the reference to sacrebleu as several
# references of one sentence. Of the answer, the first sentence alone is scored, against whichever sentence of the
# reference fits it: an answer that goes wrong after its first sentence has 1, and one sentence of three has 1.
# Why it matters: answers of several sentences are the usual case of what is evaluated with retrieval; the figure says
# nothing of all that stands behind the first full stop, and two systems are ordered by their first sentences.
# Source: ragas/metrics/_bleu_score.py (reference = [[reference] for reference in reference_sentences]); sacrebleu's
# corpus_bleu takes a list of lists as one list for each set of references.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
# What these measures import, and no more: all that ragas asks for takes twice the time and the space.
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-compile --no-deps \
    ragas==0.4.3 RapidFuzz==3.14.6 sacrebleu==2.6.0 annotated-types==0.8.0 anyio==4.16.0 appdirs==1.4.4 \
    attrs==26.1.0 certifi==2026.10.19.post1 charset-normalizer==3.5.3 click==8.5.1 colorama==0.4.6 datasets==5.2.0 \
    dill==0.4.1 distro==1.9.0 docstring_parser==0.16 filelock==4.3.1 fsspec==2026.9.0 h11==0.16.0 httpcore2==2.16.2 \
    httpx2==2.16.2 httpx==0.28.1 huggingface_hub==2.4.0 idna==3.20 instructor==1.3.2 jiter==0.19.0 jsonpatch==1.48 \
    jsonpointer==3.12 langchain-community==0.4.1 langchain-core==1.8.3 langchain-openai==1.1.9 \
    langchain-protocol==0.0.20 langsmith==0.15.1 lxml==6.1.3 multiprocess==0.70.19 numpy==2.4.6 openai==1.109.1 \
    orjson==3.13.0 packaging==26.4 pandas==3.1.1 pillow==13.0.0 portalocker==4.4.2 pyarrow==26.0.1 pydantic==2.14.4 \
    pydantic_core==2.50.5 Pygments==2.21.0 python-dateutil==4.0.0 PyYAML==6.0.4 regex==2026.11.19 \
    requests-toolbelt==1.0.0 requests==2.34.2 rich==13.9.4 sniffio==1.3.1 tabulate==0.10.0 tenacity==8.5.0 \
    tiktoken==0.14.0 tqdm==4.70.1 truststore==0.10.5 typing-inspection==0.4.5 typing_extensions==4.16.0 \
    urllib3==2.8.0 uuid_utils==1.2.0 xxhash==4.1.0 zstandard==0.25.0

expected='ragas, the reference itself: 1.0
ragas, two wrong sentences after the first: 1.0
ragas, the last sentence alone: 1.0
ragas, the wrong sentences first: 0.11
sacrebleu on whole texts, two wrong sentences after the first: 0.36'

cd "$folder"
observed=$(PYTHONDONTWRITEBYTECODE=1 RAGAS_DO_NOT_TRACK=true "$folder/venv/bin/python" -W ignore - <<'EOF'
import asyncio

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import BleuScore
from sacrebleu import sentence_bleu

right = "The flutter speed of the wing falls with its mass."
reference = f"{right} The speed of the gust has no part in it at all. Tests in the tunnel agree with this."
wrong = "Oak trees grow slowly in the north of the country. They live for many centuries."
answers = {
    "the reference itself": reference,
    "two wrong sentences after the first": f"{right} {wrong}",
    "the last sentence alone": "Tests in the tunnel agree with this.",
    "the wrong sentences first": f"{wrong} {right}",
}
for name, answer in answers.items():
    sample = SingleTurnSample(response=answer, reference=reference)
    print(f"ragas, {name}:", round(asyncio.run(BleuScore().single_turn_ascore(sample)), 3))
name = "two wrong sentences after the first"
print(f"sacrebleu on whole texts, {name}:", round(sentence_bleu(answers[name], [reference]).score / 100, 3))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
