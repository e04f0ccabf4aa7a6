#!/usr/bin/env bash
# Guess: chunk_by_title of unstructured begins a chunk at each title, so that no chunk has text of two sections, and an
# overlap repeats text within a section.
# Behaviour: unstructured 0.27.35 joins sections until a chunk has 500 characters: a leaflet of two short sections is
# one chunk by default, as with the basic strategy. Sections stay apart with combine_text_under_n_chars=0, which is
# max_characters by default. With overlap_all the end of a section stands before the title of the next.
# Why it matters: the name says that a passage is one topic. In a chunk of several, the vector is of none of them, and
# "e 500 mg." before the title Ibuprofen gives a model the dose of another drug.
# Source: unstructured, chunking/title.py (combine_text_under_n_chars defaults to max_characters).

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
chunk_elements: Aspirin / Take 500 mg. / Ibuprofen / Take 400 mg.
chunk_by_title: Aspirin / Take 500 mg. / Ibuprofen / Take 400 mg.
combine_text_under_n_chars=0: Aspirin / Take 500 mg. | Ibuprofen / Take 400 mg.
overlap: Aspirin / Take 500 mg. | Ibuprofen / Take 400 mg.
overlap_all: Aspirin / Take 500 mg. | ke 500 mg. / Ibuprofen | Ibuprofen / Take 400 mg.'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
from importlib.metadata import version

from unstructured.chunking.basic import chunk_elements
from unstructured.chunking.title import chunk_by_title
from unstructured.documents.elements import NarrativeText, Title

print(f"unstructured {version('unstructured')}")
elements = [
    Title("Aspirin"),
    NarrativeText("Take 500 mg."),
    Title("Ibuprofen"),
    NarrativeText("Take 400 mg."),
]


def show(name, chunks):
    print(f"{name}: " + " | ".join(chunk.text.replace("\n\n", " / ") for chunk in chunks))


show("chunk_elements", chunk_elements(elements))
show("chunk_by_title", chunk_by_title(elements))
show("combine_text_under_n_chars=0", chunk_by_title(elements, combine_text_under_n_chars=0))
options = {"max_characters": 28, "overlap": 10}
show("overlap", chunk_by_title(elements, **options))
show("overlap_all", chunk_by_title(elements, overlap_all=True, **options))
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
