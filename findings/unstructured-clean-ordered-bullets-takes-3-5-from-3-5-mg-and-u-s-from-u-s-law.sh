#!/usr/bin/env bash
# Guess: clean_ordered_bullets of unstructured takes the numbering from the start of a text, such as 1., 1.1 or a.,
# and leaves other texts as they are.
# Behaviour: unstructured 0.27.35 takes the first word of any text that has a full stop within or behind one or two
# letters or digits: 3.5 mg becomes mg, U.S. law is law, e.g. and i.e. are gone, and A. Smith is Smith. Texts with 12.5
# or 0.75 lose their numbers too, 1,000 and 2019 keep theirs.
# Why it matters: it is one of the cleaning functions that are run over all elements of a document. A sentence or a
# cell that begins with a number loses the value that it tells, and no trace is left.
# Source: unstructured, cleaners/core.py (clean_ordered_bullets: parts of the first word between full stops).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    aiofiles==25.1.0 annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 beautifulsoup4==4.15.0 blis==1.3.4 \
    catalogue==2.0.10 certifi==2026.10.19.post1 charset-normalizer==3.5.3 click==8.5.1 cloudpathlib==0.26.0 \
    confection==1.3.4 cymem==2.0.16 emoji==2.16.0 filelock==3.32.7 filetype==1.2.0 h11==0.16.0 html5lib==1.1 \
    httpcore==1.0.9 httpx==0.28.1 idna==3.20 installer==0.7.0 Jinja2==3.1.6 langdetect==1.0.9 llvmlite==0.50.0 \
    lxml==6.1.3 markdown-it-py==4.3.0 MarkupSafe==3.0.4 mdurl==0.1.2 murmurhash==1.0.16 nh3==0.3.8 numba==0.68.1 \
    numpy==2.4.6 olefile==0.47 packaging==26.4 preshed==3.0.15 psutil==7.2.2 pydantic==2.14.4 pydantic_core==2.50.5 \
    Pygments==2.21.0 pypdf==7.1.1 pypdfium2==5.15.2 python-iso639==2026.7.23 python-magic==0.4.27 \
    python-oxmsg==0.0.2 RapidFuzz==3.14.6 regex==2026.11.19 requests-toolbelt==1.0.0 requests==2.34.2 rich==15.0.0 \
    shellingham==1.5.4 six==1.17.0 smart_open==9.0.2 soupsieve==4.1.3 spacy-legacy==3.0.12 spacy-loggers==1.0.5 \
    spacy==3.8.18 srsly==2.5.6 thinc==8.3.14 tqdm==4.70.1 typer==0.29.2 typing-inspection==0.4.5 \
    typing_extensions==4.16.0 unstructured-client==0.46.4 unstructured==0.27.35 urllib3==2.8.0 wasabi==1.1.3 \
    weasel==1.0.1 webencodings==0.6.1 wrapt==2.5.2

expected='unstructured 0.27.35
1. The dose: The dose
1.1 The dose: The dose
a. The dose: The dose
3.5 mg twice a day: mg twice a day
12.5 per cent of all: per cent of all
0.75 is the value: is the value
98.6 degrees: degrees
U.S. law applies: law applies
e.g. the forest: the forest
A. Smith says so: Smith says so
1,000 people: 1,000 people
2019 was hot: 2019 was hot'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from unstructured.cleaners.core import clean_ordered_bullets

print(f"unstructured {version('unstructured')}")
texts = ["1. The dose", "1.1 The dose", "a. The dose", "3.5 mg twice a day", "12.5 per cent of all"]
texts += ["0.75 is the value", "98.6 degrees", "U.S. law applies", "e.g. the forest", "A. Smith says so"]
texts += ["1,000 people", "2019 was hot"]
for text in texts:
    print(f"{text}: {clean_ordered_bullets(text)}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
