#!/usr/bin/env bash
# Guess: a model of SentencePiece, which says of itself that a text can be had back from its pieces, keeps a number with
# an exponent apart from the number of the same digits.
# Behaviour: sentencepiece 0.2.3 normalises each text by NFKC before it looks for pieces, and a model is trained so by
# default: 10⁶ and 106, 5² and 52, m² and m2, 35¹ with a footnote and 351, ① and 1 have the same pieces. 10⁻⁶ is 10, a
# minus sign and 6, and 1½ is 11⁄2. With normalization_rule_name="identity" they differ.
# Why it matters: multilingual embedding models and T5 have such tokenizers. 10⁶ cells and 106 cells have one vector,
# one and a half is read as eleven halves, and no later step can tell them apart.
# Source: sentencepiece, doc/normalization.md (nmt_nfkc is the default) and doc/options.md.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    sentencepiece==0.2.3

expected='sentencepiece 0.2.3
default:
    10⁶ cells = 106 cells True, 5² = 52 True, m² = m2 True, 35¹ = 351 True
    ① = 1 True, 1½ = 11⁄2 True, 10⁻⁶ = 10−6 True, 106 = 107 False
identity:
    10⁶ cells = 106 cells False, 5² = 52 False, m² = m2 False, 35¹ = 351 False
    ① = 1 False, 1½ = 11⁄2 False, 10⁻⁶ = 10−6 False, 106 = 107 False'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import os
import tempfile
from importlib.metadata import version

import sentencepiece

print(f"sentencepiece {version('sentencepiece')}")
folder = tempfile.mkdtemp()
corpus = os.path.join(folder, "corpus.txt")
with open(corpus, "w", encoding="utf-8") as file:
    file.write("the cells of 106 people\n52 houses and 351 lakes\nm2 and 11 or 12 of 10 to 1\n" * 40)
pairs = ["10⁶ cells = 106 cells", "5² = 52", "m² = m2", "35¹ = 351", "① = 1", "1½ = 11⁄2", "10⁻⁶ = 10−6", "106 = 107"]
for rule in ("", "identity"):
    prefix = os.path.join(folder, f"model{rule}")
    options = {"normalization_rule_name": rule} if rule else {}
    sentencepiece.SentencePieceTrainer.train(
        input=corpus, model_prefix=prefix, vocab_size=60, hard_vocab_limit=False, minloglevel=2, **options
    )
    model = sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model")
    values = []
    for pair in pairs:
        left, right = (model.encode(text, out_type=str) for text in pair.split(" = "))
        values.append(f"{pair} {left == right}")
    print(f"{rule or 'default'}:\n    {', '.join(values[:4])}\n    {', '.join(values[4:])}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
