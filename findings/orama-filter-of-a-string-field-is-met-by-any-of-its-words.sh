#!/usr/bin/env bash
# Guess: where: { topic: "machine learning" } of Orama keeps the documents with this topic.
# Behaviour: in @orama/orama 3.1.18 a filter of a string field is cut into words, and one of them is enough: documents
# of the topics "washing machine" and "learning to cook" pass, in a field of several strings, too. Only fields of the
# type enum are compared as a whole. There, nin leaves out documents without a value, though none of the values is
# theirs, while not: { in: ... } keeps them.
# Why it matters: filters by topic, author or place let other documents into the ranking, and a value of two words lets
# in more than either word does. Tests with values of one word pass.
# Source: @orama/orama, components/index.ts (searchByWhereClause: the filter is tokenized, its ids are a union).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" @orama/orama@3.1.18

expected='{topic:machine learning}: learning to cook, machine learning, washing machine
{topics:machine learning}: learning to cook, machine learning, washing machine
{topic:machine}: machine learning, washing machine
{kind:{eq:machine learning}}: machine learning
{kind:{nin:[machine learning]}}: learning to cook, washing machine
{not:{kind:{in:[machine learning]}}}: gardens, learning to cook, washing machine'

cd "$folder"
observed=$(node --input-type=module - 2> "$folder/log" <<'EOF'
import { create, insert, search } from "@orama/orama";

const documents = [
    { text: "oak a", topic: "machine learning", topics: ["machine learning"], kind: "machine learning" },
    { text: "oak b", topic: "washing machine", topics: ["washing machine"], kind: "washing machine" },
    { text: "oak c", topic: "learning to cook", topics: ["sea", "learning to cook"], kind: "learning to cook" },
    { text: "oak d", topic: "gardens", topics: ["gardens"] },
];
const index = create({ schema: { text: "string", topic: "string", topics: "string[]", kind: "enum" } });
for (const document of documents) {
    insert(index, document);
}
for (const where of [
    { topic: "machine learning" },
    { topics: "machine learning" },
    { topic: "machine" },
    { kind: { eq: "machine learning" } },
    { kind: { nin: ["machine learning"] } },
    { not: { kind: { in: ["machine learning"] } } },
]) {
    const { hits } = await search(index, { term: "oak", where });
    const found = hits.map((hit) => hit.document.topic).sort();
    console.log(`${JSON.stringify(where).replaceAll('"', "")}: ${found.join(", ")}`);
}
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
