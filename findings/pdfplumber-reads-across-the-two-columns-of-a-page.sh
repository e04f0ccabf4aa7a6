#!/usr/bin/env bash
# Guess: extract_text of pdfplumber gives a page of two columns as it is read, the left column and then the right one,
# as pdfminer does, on which it is built.
# Behaviour: pdfplumber 0.11.10 puts what stands at one height into one line: the lines of both columns alternate, and
# each sentence goes on in the other column. pdfminer.six and pypdf, which sees the order of the file, give the columns.
# Nothing tells that there are columns.
# Why it matters: papers have two columns. Passages from them mix two topics in every line, "Take 500 mg drug" puts the
# dose of one drug before another, and no phrase over a line is found.
# Source: pdfplumber, utils/text.py (words are put into lines by their height).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    cffi==2.1.1 charset-normalizer==3.5.3 cryptography==50.0.2 pdfminer.six==20260107 pdfplumber==0.11.10 \
    pillow==13.0.0 pycparser==3.12 pypdf==7.1.1 pypdfium2==5.15.2 reportlab==5.1.0

expected='pdfplumber 0.11.10, pdfminer.six 20260107, pypdf 7.1.1
pdfplumber: Aspirin is taken for Codeine is another / pain. Take 500 mg drug. Take 30 mg / twice a day. once a day.
pdfminer: Aspirin is taken for / pain. Take 500 mg / twice a day. / Codeine is another / drug. Take 30 mg / once a day.
pypdf: Aspirin is taken for / pain. Take 500 mg / twice a day. / Codeine is another / drug. Take 30 mg / once a day.'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import io
from importlib.metadata import version

import pdfplumber
import pypdf
from pdfminer.high_level import extract_text
from reportlab.pdfgen import canvas

print(f"pdfplumber {version('pdfplumber')}, pdfminer.six {version('pdfminer.six')}, pypdf {version('pypdf')}")
file = io.BytesIO()
page = canvas.Canvas(file, pagesize=(500, 200))
page.setFont("Helvetica", 10)
columns = {
    40: ["Aspirin is taken for", "pain. Take 500 mg", "twice a day."],
    260: ["Codeine is another", "drug. Take 30 mg", "once a day."],
}
for left, lines in columns.items():
    for number, line in enumerate(lines):
        page.drawString(left, 150 - 14 * number, line)
page.save()


def show(name, text):
    print(f"{name}: " + " / ".join(" ".join(line.split()) for line in text.split("\n") if line.strip()))


with pdfplumber.open(file) as document:
    show("pdfplumber", document.pages[0].extract_text())
show("pdfminer", extract_text(file))
show("pypdf", pypdf.PdfReader(file).pages[0].extract_text())
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
