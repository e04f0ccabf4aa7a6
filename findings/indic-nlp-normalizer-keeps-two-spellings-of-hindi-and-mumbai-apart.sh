#!/usr/bin/env bash
# Guess: the normaliser of the Indic NLP Library, made for search and translation, writes a word one way: the spellings
# of Hindi, of Mumbai or of film, which differ in how a nasal is written or in a dot, are one after it.
# Behaviour: indic-nlp-library 0.92 by default unifies how a character is coded, and no spelling: Hindi, relation,
# Mumbai and Ganges with an anusvara and with a nasal consonant stay two words, moon with a chandrabindu or a dot too,
# film, pen and necessary with and without the dot below as well. Options unify each of these, all off. Of the nasals
# the relaxed mode writes a dot in anya (other) and janma (birth) too, where nobody does; the strict mode does not.
# Digits stay those of their script in all modes.
# Why it matters: both spellings are usual in newspapers, and a collection has both: a query for the language or the
# town finds one part of it. That a normaliser has run hides it.
# Source: Indic NLP Library, normalize/indic_normalize.py (nasals_mode do_nothing, remove_nuktas,
# do_normalize_chandras).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps \
    indic-nlp-library==0.92 morfessor==2.0.6 pandas==2.2.3 numpy==1.26.4 python-dateutil==2.9.0.post0 pytz==2024.2 \
    six==1.17.0

expected='default, one word: qa in two codings
default, two words: Hindi, relation, Mumbai, moon, film, pen, 2020
default, other and birth: अन्य जन्म
strict nasals, one word: Hindi, relation, Mumbai, qa in two codings
strict nasals, two words: moon, film, pen, 2020
strict nasals, other and birth: अन्य जन्म
relaxed nasals, no dots, chandras, one word: Hindi, relation, Mumbai, moon, film, pen, qa in two codings
relaxed nasals, no dots, chandras, two words: 2020
relaxed nasals, no dots, chandras, other and birth: अंय जंम'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from indicnlp.normalize.indic_normalize import IndicNormalizerFactory

pairs = {
    "Hindi": "हिंदी हिन्दी",
    "relation": "संबंध सम्बन्ध",
    "Mumbai": "मुंबई मुम्बई",
    "moon": "चाँद चांद",
    "film": "फ़िल्म फिल्म",
    "pen": "क़लम कलम",
    "2020": "2020 २०२०",
    "qa in two codings": "क\u093c \u0958",
}
everything = {"remove_nuktas": True, "do_normalize_chandras": True}
modes = {
    "default": {},
    "strict nasals": {"nasals_mode": "to_anusvaara_strict"},
    "relaxed nasals, no dots, chandras": {"nasals_mode": "to_anusvaara_relaxed", **everything},
}
for mode, options in modes.items():
    normalizer = IndicNormalizerFactory().get_normalizer("hi", **options)
    words = {name: {normalizer.normalize(word) for word in pair.split()} for name, pair in pairs.items()}
    one = ", ".join(name for name, spellings in words.items() if len(spellings) == 1)
    two = ", ".join(name for name, spellings in words.items() if len(spellings) == 2)
    print(f"{mode}, one word: {one}")
    print(f"{mode}, two words: {two}")
    print(f"{mode}, other and birth:", normalizer.normalize("अन्य जन्म"))
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
