#!/usr/bin/env bash
# Guess: NonLLMContextRecall of ragas finds a reference passage that a retrieved chunk contains word for word, and not
# one that is only spelled alike. Its other distance measures are stricter or laxer, but tell texts apart.
# Behaviour: in ragas 0.4.3 a reference is found where the Levenshtein similarity of the whole texts passes 0.5: a chunk
# more than twice as long as the reference never does, whatever it contains, and the sentence that says the opposite in
# the same words does. With the Jaro distance any two English sentences pass.
# Why it matters: chunks are longer than the sentences or passages that were annotated, and the size of the chunks
# decides the figure: recall and precision are 0 for a system that found every passage, and 1 for one that found none.
# Source: ragas/metrics/_string.py (NonLLMStringSimilarity), _context_recall.py and _context_precision.py (threshold).

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

expected='levenshtein: chunk with the reference 0.0 0.0, the opposite 1.0 1.0, of other things 0.0 0.0
jaro: chunk with the reference 1.0 1.0, the opposite 1.0 1.0, of other things 1.0 1.0'

cd "$folder"
observed=$(PYTHONDONTWRITEBYTECODE=1 RAGAS_DO_NOT_TRACK=true "$folder/venv/bin/python" -W ignore - <<'EOF'
import asyncio

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import DistanceMeasure, NonLLMContextPrecisionWithReference, NonLLMContextRecall
from ragas.metrics import NonLLMStringSimilarity

reference = "The flutter speed of a wing falls with its mass."
retrieved = {
    "chunk with the reference": "Aeroelastic effects were measured in a tunnel at low speed. "
    f"{reference} The results agree with those of theory within ten per cent.",
    "the opposite": "The flutter speed of a wing rises with its mass.",
    "of other things": "The library opens at nine and closes at six o'clock.",
}
for measure in (DistanceMeasure.LEVENSHTEIN, DistanceMeasure.JARO):
    recall = NonLLMContextRecall()
    recall.distance_measure = measure
    precision = NonLLMContextPrecisionWithReference(distance_measure=NonLLMStringSimilarity(distance_measure=measure))
    line = []
    for name, text in retrieved.items():
        sample = SingleTurnSample(retrieved_contexts=[text], reference_contexts=[reference])
        values = [round(asyncio.run(metric.single_turn_ascore(sample)), 3) for metric in (recall, precision)]
        line.append(" ".join([name, *map(str, values)]))
    print(f"{measure.value}: {', '.join(line)}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
