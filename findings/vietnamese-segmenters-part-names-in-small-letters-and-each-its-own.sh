#!/usr/bin/env bash
# Guess: pyvi and underthesea, which join the syllables of Vietnamese words for search, join those of well-known names
# of places and persons in a query in small letters as in a text with capitals.
# Behaviour: both models have learnt names by their capitals. In small letters pyvi 0.1.1 leaves Ho Chi Minh, Hai Phong
# and Tran Hung Dao in single syllables; underthesea 9.5.0 makes one word and a syllable of the first and leaves Saigon,
# Can Tho, Vung Tau and Da Lat apart, which pyvi joins. A word before the name changes it (Nha Trang). Common nouns do
# not depend on capitals.
# Why it matters: queries are typed in small letters, and many pipelines lower before they segment. The joined word of
# the document and the syllables of the query share no term, so the documents about the place are not found; segmenting
# before lowering repairs documents alone. Which names are lost depends on the library.
# Source: pyvi, ViTokenizer.py (the features of a syllable: istitle); for underthesea the output of the script.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    pyvi==0.1.1 underthesea==9.5.0 underthesea-core==3.3.2 scikit-learn==1.9.1 sklearn-crfsuite==0.5.0 \
    python-crfsuite==0.9.12 numpy==1.26.4

expected='pyvi Hồ_Chí_Minh, underthesea Hồ_Chí_Minh; in small letters: pyvi hồ chí minh, underthesea hồ chí_minh
pyvi Hải_Phòng, underthesea Hải_Phòng; in small letters: pyvi hải phòng, underthesea hải_phòng
pyvi Trần_Hưng_Đạo, underthesea Trần_Hưng_Đạo; in small letters: pyvi trần hưng đạo, underthesea trần hưng_đạo
pyvi Sài_Gòn, underthesea Sài_Gòn; in small letters: pyvi sài_gòn, underthesea sài gòn
pyvi Cần_Thơ, underthesea Cần_Thơ; in small letters: pyvi cần_thơ, underthesea cần thơ
pyvi Vũng_Tàu, underthesea Vũng_Tàu; in small letters: pyvi vũng_tàu, underthesea vũng tàu
pyvi Đà_Lạt, underthesea Đà_Lạt; in small letters: pyvi đà_lạt, underthesea đà lạt
pyvi Hà_Nội, underthesea Hà_Nội; in small letters: pyvi hà_nội, underthesea hà_nội
pyvi Giáo_dục, underthesea Giáo_dục; in small letters: pyvi giáo_dục, underthesea giáo_dục
pyvi nha_trang, underthesea nha trang; behind another word: pyvi lịch_sử nha_trang, underthesea lịch_sử nha_trang'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
import underthesea
from pyvi import ViTokenizer


def segmented(text):
    parts = {"pyvi": ViTokenizer.tokenize(text), "underthesea": underthesea.word_tokenize(text, format="text")}
    return ", ".join(f"{name} {words}" for name, words in parts.items())


names = ("Hồ Chí Minh", "Hải Phòng", "Trần Hưng Đạo", "Sài Gòn", "Cần Thơ", "Vũng Tàu", "Đà Lạt", "Hà Nội", "Giáo dục")
for name in names:
    print(f"{segmented(name)}; in small letters: {segmented(name.lower())}")
print(f"{segmented('nha trang')}; behind another word: {segmented('lịch sử nha trang')}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
