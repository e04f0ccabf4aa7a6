#!/usr/bin/env bash
# Guess: RankingMetrics of PySpark, which since 3.4 takes a third list with the relevance of each label for ndcgAt, as
# its documentation says, tells a list with the best document first from one with the best document last.
# Behaviour: PySpark 4.0.1 takes the third list and hands two to Spark: ndcgAt is that of binary labels, 1 for the list
# that is turned around, and the same for the grades 3, 2, 1 as for 1, 2, 3 or none. Nothing warns.
# Why it matters: a model that orders the relevant documents the wrong way is perfect, and a table of graded nDCG has
# binary figures. RankingEvaluator of pyspark.ml has no relevance at all.
# Source: Spark, python/pyspark/mllib/evaluation.py (RankingMetrics: "Since 3.4.0, it supports ndcg evaluation with
# relevance value") and PythonMLLibAPI.scala (newRankingMetrics).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    numpy==2.4.6 setuptools==80.9.0 pyspark==4.0.1
cd "$folder"
apt-get -qq download openjdk-17-jre-headless=17.0.19+10-1~deb12u2
dpkg -x openjdk-*.deb .
export JAVA_HOME="$folder/usr/lib/jvm/java-17-openjdk-amd64"
find "$JAVA_HOME" -lname '/etc/*' -printf '%l %p\n' | while read -r target link; do
    ln -sf "$folder$target" "$link"
done

expected='PySpark 4.0.1
a b c: grades [3.0, 2.0, 1.0]: 1.000, by hand 1.000; grades [1.0, 2.0, 3.0]: 1.000, by hand 0.681; no grades: 1.000
c b a: grades [3.0, 2.0, 1.0]: 1.000, by hand 0.681; grades [1.0, 2.0, 3.0]: 1.000, by hand 1.000; no grades: 1.000
c x a: grades [3.0, 2.0, 1.0]: 0.704, by hand 0.479; grades [1.0, 2.0, 3.0]: 0.704, by hand 0.798; no grades: 0.704'

observed=$("$folder/venv/bin/python" - 2> "$folder/log" <<'EOF'
import math

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.mllib.evaluation import RankingMetrics

context = SparkContext(conf=SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false"))
print("PySpark", pyspark.__version__)
labels = ["a", "b", "c"]


def by_hand(ranking, grades):
    def dcg(values):
        return sum((2**value - 1) / math.log2(rank + 2) for rank, value in enumerate(values))

    return dcg(grades.get(document, 0) for document in ranking) / dcg(sorted(grades.values(), reverse=True))


for ranking in (["a", "b", "c"], ["c", "b", "a"], ["c", "x", "a"]):
    print(f"{' '.join(ranking)}:", end="")
    for grades in ([3.0, 2.0, 1.0], [1.0, 2.0, 3.0]):
        value = RankingMetrics(context.parallelize([(ranking, labels, grades)])).ndcgAt(3)
        print(f" grades {grades}: {value:.3f}, by hand {by_hand(ranking, dict(zip(labels, grades))):.3f};", end="")
    print(f" no grades: {RankingMetrics(context.parallelize([(ranking, labels)])).ndcgAt(3):.3f}")
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
