#!/usr/bin/env bash
# Guess: skl2onnx converts a TfidfVectorizer with its default token_pattern to a graph that gives the same weights, or
# refuses the pattern.
# Behaviour: skl2onnx 1.20.0 replaces the default pattern, words of Unicode letters, by runs of [a-zA-Z0-9_], and prints
# nothing. Of "café" the runtime looks up "caf", which is in no vocabulary: words with accents weigh 0, those beside
# them weigh more, and a text in Cyrillic is a vector of zeros.
# Why it matters: a ranker or classifier over text features is checked on English and then served as ONNX; in other
# languages its input is other features, or none.
# Source: skl2onnx, operator_converters/text_vectoriser.py (default_pattern; the docstring says so).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    skl2onnx==1.20.0 onnx==1.20.0 onnxruntime==1.23.2 numpy==1.26.4 scipy==1.15.3 scikit-learn==1.5.2

expected="flights to rome -> {'flights': (0.58, 0.58), 'rome': (0.58, 0.58), 'to': (0.58, 0.58)}
ein café in zürich -> {'café': (0.5, 0.0), 'ein': (0.5, 0.71), 'in': (0.5, 0.71), 'zürich': (0.5, 0.0)}
naïve bayes -> {'bayes': (0.71, 1.0), 'naïve': (0.71, 0.0)}
новости москвы -> {'москвы': (0.71, 0.0), 'новости': (0.71, 0.0)}"

cd "$folder"
observed=$("$folder/venv/bin/python" - <<'EOF'
import numpy as np
import onnxruntime
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import StringTensorType
from sklearn.feature_extraction.text import TfidfVectorizer

texts = ["flights to rome", "ein café in zürich", "naïve bayes", "новости москвы"]
vectorizer = TfidfVectorizer(lowercase=False).fit(texts)
graph = convert_sklearn(vectorizer, initial_types=[("text", StringTensorType([None, 1]))], target_opset=15)
session = onnxruntime.InferenceSession(graph.SerializeToString())
served = session.run(None, {"text": np.array(texts)[:, None]})[0]
words = vectorizer.get_feature_names_out()
for text, trained, exported in zip(texts, vectorizer.transform(texts).toarray(), served):
    both = {str(words[place]): (round(float(trained[place]), 2), round(float(exported[place]), 2))
            for place in np.flatnonzero(trained)}
    print(text, "->", both)
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
