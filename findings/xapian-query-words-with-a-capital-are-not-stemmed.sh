#!/usr/bin/env bash
# Guess: QueryParser with a stemmer stems each word of a query; case makes no difference, since texts and queries are
# put in lower case.
# Behaviour: with STEM_SOME, the default of Xapian 1.4.26 once a stemmer is set, a word that begins with a capital is
# taken for a name and looked up as it is written, in lower case: `Forests` finds forests and not forest. Texts are
# stemmed whatever their case.
# Why it matters: questions and titles begin with a capital, keyboards of telephones put one there, and topics of TREC
# have them: these queries lose documents that the same words in lower case find, and the others get a higher weight.
# Source: Xapian, queryparser.lemony (should_stem: no upper case letter at the start); documentation of
# QueryParser::set_stemming_strategy.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xapian-bindings-binary==1.4.26

expected='forests: Query(Zforest@1): one many capital
Forests: Query(forests@1): many capital
old Forests: Query((Zold@1 OR forests@2)): many capital'

observed=$("$folder/venv/bin/python" - <<'EOF'
import xapian

database = xapian.WritableDatabase("", xapian.DB_BACKEND_INMEMORY)
generator = xapian.TermGenerator()
generator.set_stemmer(xapian.Stem("en"))
for name, text in (("one", "a forest"), ("many", "the forests"), ("capital", "The Forests"), ("none", "a lake")):
    document = xapian.Document()
    document.set_data(name)
    generator.set_document(document)
    generator.index_text(text)
    database.add_document(document)

parser = xapian.QueryParser()
parser.set_stemmer(xapian.Stem("en"))


def show(name, text):
    query = parser.parse_query(text)
    enquire = xapian.Enquire(database)
    enquire.set_query(query)
    names = [match.document.get_data().decode() for match in enquire.get_mset(0, 10)]
    print(f"{name}: {query}:", *names)


for text in ("forests", "Forests", "old Forests"):
    show(text, text)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
