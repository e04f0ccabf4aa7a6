#!/usr/bin/env bash
# Guess: with scorer_tf_idf Groonga ranks by the frequency of a word times the logarithm of its rareness, and a word of
# every document adds nothing.
# Behaviour: in Groonga 13.0.0 the score of a word in a document is never below 1, so a word of all documents counts as
# much as one of a third of them; and _score is a whole number until command version 3 is asked for: 1.1 and 1.8 are 1.
# In a table of 1,000 texts eight words, which stand in five texts or in all, have the scores 1, 2 and 4. Version 3
# keeps the fractions, and the 1.
# Why it matters: in a small table, or with words that are not rare, tf-idf is a count of the words that match, and the
# stop words of a question count as its nouns do.
# Source: Groonga, lib/scorers.c (min_score); documentation, command version 3 (the type of _score).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq download groonga-bin=13.0.0+dfsg-3~deb12u1 libgroonga0=13.0.0+dfsg-3~deb12u1 libmsgpackc2=4.0.0-3
for package in *.deb; do
    dpkg -x "$package" .
done
export LD_LIBRARY_PATH="$folder/usr/lib/x86_64-linux-gnu"
export GRN_PLUGINS_DIR="$LD_LIBRARY_PATH/groonga/plugins"
export GRN_RUBY_SCRIPTS_DIR="$LD_LIBRARY_PATH/groonga/scripts/ruby"

expected='Groonga 13.0.0
word, documents of 1000, score, score of command version 3
the 1000 1 1.00
half 500 1 1.00
third 330 1 1.10
quarter 250 1 1.37
sixth 160 1 1.80
tenth 100 2 2.23
rare 10 4 4.02
rarest 5 4 4.27'

observed=$("${PYTHON:-python3}" - 2> "$folder/log" <<'EOF'
import json
import subprocess

groonga = "usr/bin/groonga"
print(" ".join(subprocess.run([groonga, "--version"], capture_output=True, text=True).stdout.split()[:2]))
schema = """table_create Docs TABLE_HASH_KEY ShortText
column_create Docs body COLUMN_SCALAR Text
table_create Terms TABLE_PAT_KEY ShortText --default_tokenizer TokenBigram --normalizer NormalizerAuto
column_create Terms docs_body COLUMN_INDEX|WITH_POSITION Docs body
load --table Docs"""
words = {"the": 1000, "half": 500, "third": 330, "quarter": 250, "sixth": 160, "tenth": 100, "rare": 10, "rarest": 5}
texts = [" ".join(word for word, count in words.items() if i < count) for i in range(1000)]
load = json.dumps([{"_key": str(i), "body": text} for i, text in enumerate(texts)])


def scores(version):
    select = f'select Docs --match_columns "scorer_tf_idf(body)" --output_columns _score --command_version {version}'
    queries = [f"{select} --limit 1 --query {word}" for word in words]
    commands = "\n".join([schema, load, *queries]) + "\n"
    run = subprocess.run([groonga, "-n", f"texts{version}"], input=commands, capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines() if line][-len(words) :]
    records = [answer[1][0][2:] if version < 3 else answer["body"]["records"] for answer in answers]
    return [record[0][0] for record in records]


print("word, documents of 1000, score, score of command version 3")
for word, score, exact in zip(words, scores(1), scores(3)):
    print(f"{word} {words[word]} {score} {exact:.2f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
