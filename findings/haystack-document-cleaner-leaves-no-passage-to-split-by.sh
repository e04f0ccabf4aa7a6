#!/usr/bin/env bash
# Guess: DocumentCleaner of Haystack with its defaults, which remove empty lines and extra whitespace, leaves lines and
# paragraphs as they are, so that DocumentSplitter can split by passage or line after it, as in the pipelines that are
# shown.
# Behaviour: haystack-ai 3.4.1 makes one space of a line break beside another space or break, and so of every break
# between paragraphs, with the breaks of indented code. Split by passage, a text of three passages is one document, by
# line it is one too; headings stand in the midst of text.
# Why it matters: passages as long as the file are cut off by the embedding model, and all but the beginning is never
# found. With remove_extra_whitespaces=False the empty lines go, and split_by="passage" still has nothing to split.
# Source: haystack, components/preprocessors/document_cleaner.py (two and more whitespace characters become a space).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    annotated-types==0.8.0 anyio==4.16.0 attrs==26.1.0 backoff==2.2.1 certifi==2026.10.19.post1 \
    charset-normalizer==3.5.3 distro==1.9.0 docstring_parser==0.18.0 filetype==1.2.0 h11==0.16.0 haystack-ai==3.4.1 \
    httpcore2==2.16.2 httpcore==1.0.9 httpx2==2.16.2 httpx==0.28.1 idna==3.20 Jinja2==3.1.6 jiter==0.19.0 \
    jsonschema-specifications==2025.9.1 jsonschema==4.26.0 lazy_imports==1.2.0 MarkupSafe==3.0.4 \
    more-itertools==11.2.1 networkx==3.6.1 numpy==2.4.6 openai==3.57.0 posthog==7.91.1 pydantic==2.14.4 \
    pydantic_core==2.50.5 python-dateutil==4.0.0 PyYAML==6.0.4 referencing==0.37.0 requests==2.34.2 \
    rpds-py==2026.9.1 sniffio==1.3.1 tenacity==9.2.1 tqdm==4.70.1 truststore==0.10.5 typing-inspection==0.4.5 \
    typing_extensions==4.16.0 tzdata==2026.6 urllib3==2.8.0

expected='haystack-ai 3.4.1
as it is, by passage: [|# Aspirin\n\n|, |Take 500 mg.\n\n|, |def f():\n    return 1\n|]
as it is, by line: [|# Aspirin\n|, |\n|, |Take 500 mg.\n|, |\n|, |def f():\n|, |    return 1\n|]
cleaned, by passage: [|# Aspirin Take 500 mg. def f(): return 1|]
cleaned, by line: [|# Aspirin Take 500 mg. def f(): return 1|]
remove_extra_whitespaces=False, by passage: [|# Aspirin\nTake 500 mg.\ndef f():\n    return 1|]
remove_extra_whitespaces=False, by line: [|# Aspirin\n|, |Take 500 mg.\n|, |def f():\n|, |    return 1|]'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")

from haystack import Document
from haystack.components.preprocessors import DocumentCleaner, DocumentSplitter

print(f"haystack-ai {version('haystack-ai')}")
document = Document(content="# Aspirin\n\nTake 500 mg.\n\ndef f():\n    return 1\n")


def show(name, documents):
    for unit in ("passage", "line"):
        splitter = DocumentSplitter(split_by=unit, split_length=1, split_overlap=0)
        print(f"{name}, by {unit}: {[part.content for part in splitter.run(documents)['documents']]}".replace("'", "|"))


show("as it is", [document])
show("cleaned", DocumentCleaner().run([document])["documents"])
cleaner = DocumentCleaner(remove_extra_whitespaces=False)
show("remove_extra_whitespaces=False", cleaner.run([document])["documents"])
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
