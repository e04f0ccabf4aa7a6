"""Bad input: one line with location, expectation and remedy; exit 2; nothing on stdout, nothing left on disk."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from rerank.rankers.ranker import read_model
from tests.cli.conftest import Command, tree

FILES = {
    "columns.run": "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2\n",
    "score.run": "q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 high x\n",
    "twice.run": "q1 Q0 d1 1 2.0 x\nq2 Q0 d1 1 2.0 x\nq1 Q0 d1 2 1.0 x\n",
    "query.run": "q1 Q0 d1 1 2.0 x\nq77 Q0 d1 1 2.0 x\n",
    "msmarco.run": "q1\td1\t1\nq2\tnowhere\t1\n",
    "document.run": "q1 Q0 d1 1 2.0 x\nq2 Q0 d1 1 2.0 x\nq2 Q0 nowhere 2 1.0 x\n",
    "one.run": "q1 Q0 d1 1 2.0 x\n",
    "columns.qrels": "q1 0 d1 1\nq2 0 d2\n",
    "label.qrels": "q1 0 d1 good\n",
    "strange.qrels": "z1 0 d1 1\n",
    "empty": "",
    "comma.tsv": "q1,amber\n",
    "broken.jsonl": '{"id": "a", "body": "x"}\n{"id": "b",\n',
    "no_id.jsonl": '{"id": "a", "body": "x"}\n{"body": "x"}\n',
    "nan.svm": "1 qid:1 1:2\nnan qid:1 1:3\n",
    "no_qid.svm": "1 1:2 2:3\n",
    "three.svm": "".join(f"{row % 2} qid:{row // 5} 1:{row} 2:{row % 3} # d{row}\n" for row in range(20)),
    "flat.svm": "0 qid:1 1:2\n0 qid:1 1:3\n0 qid:2 1:3\n",
    "newer.json": '{"format": "rerank-model", "version": 99}',
    "other.json": '{"a": 1}',
    "half.json": '{"format": "rerank-model", "version": 4, "ranker": "lambdamart"}',
    "recipe.toml": 'famillies = ["bm25"]\n',
    "field.toml": 'fields = ["abstract"]\n',
    "folder/file": "no index",
    "twice.jsonl": '{"id": "a", "body": "x"}\n{"id": "b", "body": "x"}\n{"id": "a", "body": "y"}\n',
    "long.jsonl": json.dumps({"id": "x" * 100_000, "body": "x"}),
    "large.jsonl": '{"id": "a", "body": "x", "year": 1e999}\n',
    "open.sgml": "<DOC>\n<DOCNO>a</DOCNO>\n<TEXT>x</TEXT>\n",
    "whole.sgml": "<DOC>\n<DOCNO>a</DOCNO>\n<TEXT>x</TEXT>\n</DOC>\n",
    "hash.tsv": "#1\tamber\n",
    "words.svm": "good qid:1 1:2\n",
    "judged.svm": "4 qid:1 # 7555 Rambo\n0 qid:1 # 1370 First Blood\n",
    "late.svm": "1 1:2 # qid:1\n",
    "letters.qrels": "q1\td1\tE\n",
    "mac.run": "q1 Q0 d1 1 2.0 x\rq1 Q0 d2 2 1.0 x\r",
    "brackets.json": "[" * 501,
}

# The command line, and a regular expression that its one line must match.
CASES = {
    "run for qrels": (
        "evaluate bm25.run qrels.txt",
        r"bm25\.run:1: .* got 6\. It looks like a run: check the arguments and their order",
    ),
    "qrels for topics": (
        "retrieve index qrels.txt -o out",
        r"qrels\.txt:1: .* It looks like judgements: check the arguments",
    ),
    "run for clicks": (
        "evaluate --clicks bm25.run bm25.run",
        r"bm25\.run:1: .* It looks like a run: check the arguments",
    ),
    "topics for a run": ("evaluate qrels.txt topics.tsv", r"topics\.tsv:1: .* It looks like topics: check the arg"),
    "index for a model": (
        "rerank model.json index topics.tsv -o out",
        r"index: .* got a folder\. It looks like an index:",
    ),
    "index for topics": ("retrieve topics.tsv index -o out", r"index: .* got a folder\. It looks like an index: check"),
    "model for an index": (
        "search model.json index amber",
        r"model\.json: .* got a file\. It looks like a model: check",
    ),
    "model for topics": (
        "retrieve index model.json -o out",
        r"model\.json:1: .* It looks like a model: check the arguments",
    ),
    "topics for a model": (
        "rerank index topics.tsv model.json -o out",
        r"topics\.tsv:1: .* It looks like topics: check",
    ),
    "run for data": (
        "rank model.json bm25.run -o out",
        r"bm25\.run: .* got another\. It looks like a run: check the arguments",
    ),
    "data for a run": (
        "evaluate qrels.txt bad/flat.svm",
        r"flat\.svm:1: .* It looks like ranking data: check the arguments",
    ),
    "data whose labels are words": ("train bad/words.svm -o out", r"words\.svm:1: .*got 'good'\. Correct the label"),
    "data with queries in comments": ("train bad/late.svm -o out", r"late\.svm:1: .*, got none\. Write it"),
    "letters for labels": (
        "evaluate bad/letters.qrels bm25.run",
        r"letters\.qrels:1: .* as score, got 'E'\. Correct the",
    ),
    "option twice": (
        "retrieve index topics.tsv -k 5 --hits=6 -o out",
        r"-k: expected it once, got it again\. Leave one",
    ),
    "ranker of the papers": (
        "train data.npz --ranker LambdaSMART -o out",
        r"Write --ranker lambdamart --base unsupervised",
    ),
    "missing corpus": ("index none.jsonl -o out", r"none\.jsonl: expected a corpus .* Check the path"),
    "missing topics": ("retrieve index none.tsv -o out", r"none\.tsv: expected a topics file, got nothing"),
    "missing index": ("retrieve none topics.tsv -o out", r"none: expected a folder with a Lucene index, got nothing"),
    "missing run": ("evaluate qrels.txt none.run", r"none\.run: expected a run file, got nothing"),
    "one file for model and feature set": (
        "export model.json --to solr -o bad/out --feature-set bad/out",
        r"--feature-set: expected another file than that of path, got bad/out for both",
    ),
    "diversity of texts": (
        "rerank index model.json topics.tsv -o bad/out --texts texts.jsonl --diversify mmr(0.7)",
        r"--diversify: expected it without --texts, with which it has no effect",
    ),
    "missing qrels": ("evaluate none.txt bm25.run", r"none\.txt: expected a qrels file, got nothing"),
    "missing data": ("train none.npz -o out", r"none\.npz: expected .*got nothing there. Check the path"),
    "missing model": ("rank none.json data.npz -o out", r"none\.json: expected a model file, got nothing"),
    "missing recipe": ("features index topics.tsv bm25.run -o out.npz --recipe none", r"none: expected a recipe"),
    "run without a name": (
        "features index topics.tsv bm25.run -o out.npz --run bm25.run",
        r"--run: expected NAME=FILE .*got 'bm25\.run'. Write e\.g\. dense=",
    ),
    "two runs of candidates": (
        "rerank index model.json topics.tsv -o out --run bm25.run --run bm25.run",
        r"--run: expected one file of candidates, got 2. Give others as NAME=FILE",
    ),
    "folder as run": ("evaluate qrels.txt index", r"index: expected a run file, got a folder. It looks like an index"),
    "run columns": ("evaluate qrels.txt bad/columns.run", r"columns\.run:2: expected 6 columns .*got 4. Write"),
    "qrels columns": ("evaluate bad/columns.qrels bm25.run", r"columns\.qrels:2: expected 4 columns .*got 3. Write"),
    "qrels and run the wrong way": ("evaluate bm25.run qrels.txt", r"bm25\.run:1: expected 4 columns .*got 6"),
    "score": ("evaluate qrels.txt bad/score.run", r"score\.run:2: expected a finite number as score, got 'high'. "),
    "label": ("evaluate bad/label.qrels bm25.run", r"label\.qrels:1: expected .*got 'good'. "),
    "duplicate document": ("evaluate qrels.txt bad/twice.run", r"twice\.run:3: expected each document once .*'d1'.*. "),
    "duplicate document, features": (
        "features index topics.tsv bad/twice.run -o out.npz",
        r"twice\.run:3: expected each document once",
    ),
    "unknown query": (
        "features index topics.tsv bad/query.run -o out.npz",
        r"bad/query\.run:2: expected queries of topics\.tsv, got 'q77'. Give the topics",
    ),
    "unknown document": (
        "features index topics.tsv bad/document.run -o out.npz",
        r"bad/document\.run:3: expected documents of index, got 'nowhere' .*. Use the index",
    ),
    "unknown document, MS MARCO": (
        "features index topics.tsv bad/msmarco.run -o out.npz",
        r"bad/msmarco\.run:2: expected documents of index, got 'nowhere' .*. Use the index",
    ),
    "unknown query, rerank": (
        "rerank index model.json topics.tsv --run bad/query.run -o out",
        r"bad/query\.run:2: expected queries",
    ),
    "unknown document, rerank": (
        "rerank index model.json topics.tsv --run bad/document.run -o out",
        r"bad/document\.run:3: expected documents",
    ),
    "no query judged": (
        "evaluate bad/strange.qrels bm25.run",
        r"bm25\.run: expected a query that is judged, got none",
    ),
    "empty topics": ("retrieve index bad/empty -o out", r"bad/empty: expected at least one topic, got .*. Write"),
    "topics without tab": ("retrieve index bad/comma.tsv -o out", r"bad/comma\.tsv:1: expected .*. "),
    "empty run": ("evaluate qrels.txt bad/empty", r"bad/empty: expected lines of 6 columns .*got no line"),
    "empty qrels": ("evaluate bad/empty bm25.run", r"bad/empty: expected lines of 4 columns .*got no line"),
    "empty corpus": ("index bad/empty -o out", r"bad/empty: expected JSON objects.*, got neither. "),
    "broken corpus": ("index bad/broken.jsonl -o out", r"broken\.jsonl:2: expected a JSON object, got"),
    "corpus without id": ("index bad/no_id.jsonl -o out", r"no_id\.jsonl:2: expected an id"),
    "id twice in a corpus": (
        "index bad/twice.jsonl -o out",
        r"twice\.jsonl:3: expected each id once, got 'a' again \(first in bad/twice\.jsonl:1\). Give",
    ),
    "id of 100,000 characters": (
        "index bad/long.jsonl -o out",
        r"long\.jsonl:1: id: expected ids of 1 to 512 characters .*, got ",
    ),
    "number beyond float64": ("index bad/large.jsonl -o out", r"large\.jsonl:1: .*got the number '1e999'"),
    "SGML cut off": ("index bad/open.sgml -o out", r"open\.sgml:1: expected </DOC> .*got the end of the file. Add"),
    "fields of SGML": ("index bad/whole.sgml -o out --fields title", r"whole\.sgml: expected JSONL .*. Leave them out"),
    "no encoding": (
        "index corpus.jsonl -o out --encoding utf-16",
        r"encoding: expected .*got 'utf-16'. Write e\.g\.",
    ),
    "no shards": (
        "index corpus.jsonl -o out --shards 0",
        r"shards: expected a whole number from 1 to 1000, got 0\. Leave it out for one Lucene index",
    ),
    "shards over an index without --overwrite": (
        "index corpus.jsonl -o index --shards 2",
        r"index: expected a new folder, got an index\. Choose another folder or overwrite it",
    ),
    "pipe as corpus": ("index /dev/null -o out", r"/dev/null: expected a file or a folder, got a pipe or device"),
    "query id that no run can hold": ("retrieve index bad/hash.tsv -o out", r"hash\.tsv:1: .*got '#1'. Rename it"),
    "run of an old Mac": ("evaluate qrels.txt bad/mac.run", r"mac\.run:1: expected lines .*got a CR alone. Convert"),
    "stdin by a dash": (
        "evaluate qrels.txt -",
        r"-: expected a run file \(standard input is /dev/stdin\), got",
    ),
    "missing corpus of a page": (
        "evaluate qrels.txt bm25.run -o out.html --corpus none.jsonl",
        r"none\.jsonl: expected a corpus file or folder, got nothing",
    ),
    "settings in brackets": (
        "experiment bad/study -o out",
        r"settings\.json: .*got brackets nested too deep",
    ),
    "no field": ("index corpus.jsonl -o out --fields ,", r"--fields: expected names .*. Write e\.g\. title,body"),
    "index over a file": ("index corpus.jsonl -o topics.tsv", r"topics\.tsv: expected a new folder .*. Choose"),
    "index over a folder": ("index corpus.jsonl -o bad/folder", r"bad/folder: expected a new folder .*. Choose"),
    "index over an index": (
        "index corpus.jsonl -o index",
        r"index: expected a new folder, got an index. .*--overwrite",
    ),
    "index to stdout": ("index corpus.jsonl -o -", r"expected a folder, got - \(stdout\). Name a folder"),
    "no index in folder": (
        "retrieve bad/folder topics.tsv -o out",
        r"bad/folder: expected a Lucene index, got a fol",
    ),
    "file as index": (
        "retrieve topics.tsv topics.tsv -o out",
        r"topics\.tsv: expected a folder .*got a file. It looks like topics",
    ),
    "arrays of another index": (
        "features bad/mixed topics.tsv bm25.run -o out.npz",
        r"bad/mixed/rerank: expected the forward arrays of this index, got those of .*. Build the index anew",
    ),
    "features the model lacks": (
        "rank model.json bad/three.svm -o out",
        r"bad/three\.svm: expected the model's \d+ features, got 2, without .*. Make the data with the model's recipe",
    ),
    "validation data of other features": (
        "train data.npz --validate bad/three.svm -o out",
        r"bad/three\.svm: expected the model's",
    ),
    "model of bare data": (
        "rerank index bad/bare.json topics.tsv -o out",
        r"bad/bare\.json: expected the recipe .*got none",
    ),
    "model of another index": (
        "rerank other/index model.json topics.tsv -o out",
        r"other/index: expected the index that the model was trained on .*got another .*--other-index",
    ),
    "nan label in text": ("train bad/nan.svm -o out", r"nan\.svm:2: expected a finite number as label, got 'nan'"),
    "nan label in npz": ("train bad/nan.npz -o out", r"bad/nan\.npz: expected a finite label .*row 1 .*. Judge"),
    "no label": ("train bad/unjudged.npz -o out", r"bad/unjudged\.npz: expected labels, got none. Make"),
    "no positive label": (
        "train bad/flat.svm -o out",
        r"bad/flat\.svm: expected a query with a positive label, got none",
    ),
    "judgement list as data": ("train bad/judged.svm -o out", r"judged\.svm: expected features, got rows without any"),
    "rows without query": ("train bad/no_qid.svm -o out", r"no_qid\.svm:1: expected `qid:Q`"),
    "newer model": ("rank bad/newer.json data.npz -o out", r"newer\.json: expected model version 4, got 99. Train"),
    "no model": ("rank bad/other.json data.npz -o out", r"other\.json: expected a model file .*got other JSON"),
    "half a model": (
        "rank bad/half.json data.npz -o out",
        r"half\.json: expected the key parameters, got none. Train",
    ),
    "run as model": ("rank bm25.run data.npz -o out", r"bm25\.run.*: expected a model file"),
    "unknown recipe key": (
        "features index topics.tsv bm25.run -o out.npz --recipe bad/recipe.toml",
        r"bad/recipe\.toml: .*got 'famillies'. Did you mean 'families'\?",
    ),
    "unknown recipe field": (
        "features index topics.tsv bm25.run -o out.npz --recipe bad/field.toml",
        r"bad/field\.toml: expected fields of the index .*'abstract'",
    ),
    "unknown verb": (
        "evalute qrels.txt bm25.run",
        r"verb: expected a known name, got 'evalute'. Did you mean 'evaluate'",
    ),
    "unknown option": ("evaluate qrels.txt bm25.run --per-qury", r"No such option '--per-qury'.*`rerank evaluate -h`"),
    "option of no verb": ("--loud", r"No such option '--loud'.*`rerank -h`"),
    "missing argument": ("evaluate qrels.txt", r"expected QRELS and at least one RUN.*`rerank evaluate -h`"),
    "missing output": ("retrieve index topics.tsv", r"Missing option '-o'.*`rerank retrieve -h`"),
    "missing output folder": ("index corpus.jsonl", r"Missing option '-o'.*`rerank index -h`"),
    "unknown measure": (
        "evaluate qrels.txt bm25.run -m ndgc@10",
        r"measure: expected a known name, got 'ndgc.*. Did you",
    ),
    "second measure without -m": (
        "evaluate qrels.txt bm25.run -m nDCG@10 AP",
        r"AP: expected a run file, .*. Write -m AP",
    ),
    "unknown metric": ("train data.npz -o out --metric ndgc", r"measure: expected a known name, got 'ndgc'"),
    "unknown ranker": (
        "train data.npz -o out --ranker lambdamat",
        r"ranker: expected a known name, got 'lambdamat'. Did",
    ),
    "no number": (
        "train data.npz -o out -p num_leaves=many",
        r"train: -p num_leaves: expected a whole number from 2 to 4096, got 'many'. See `rerank train -h lambdamart`",
    ),
    "number out of range": ("train data.npz -o out -p n_estimators=0", r"-p n_estimators: expected 1 to .*got 0"),
    "misspelt parameter": (
        "train data.npz -o out -p num_leafs=3",
        r"train: -p num_leafs: expected a parameter of lambdamart .*. Did you mean 'num_leaves'\?",
    ),
    "parameter of another ranker": (
        "train data.npz -o out -p hidden_units=3",
        r"-p hidden_units: expected a parameter of lambdamart .*. Known: .*num_leaves",
    ),
    "parameter with an option": ("train data.npz -o out -p n_jobs=3", r"-p n_jobs: expected .*. Use --threads"),
    "parameter without a value": ("train data.npz -o out -p sigma", r"-p: expected NAME=VALUE, got 'sigma'. Write "),
    "parameter without a name": ("train data.npz -o out -p =1", r"-p: expected NAME=VALUE, got '=1'. Write "),
    "parameter given twice": (
        "train data.npz -o out -p max_bin=9 -p max_bin=9",
        r"-p max_bin: expected each parameter once, got it again. Remove one",
    ),
    "misspelt parameter of a study": (
        "experiment index topics.tsv qrels.txt -o out -p num_leafs=3",
        r"experiment: -p num_leafs: expected .*. Did you mean 'num_leaves'\?",
    ),
    "seed of a study below 0": (
        "experiment index topics.tsv qrels.txt -o out -p random_state=-3",
        r"experiment: -p random_state: expected .*got -3. See `rerank train -h lambdamart`",
    ),
    "folds of a study that are none": (
        "experiment index topics.tsv qrels.txt -o out --folds 0x5",
        r"--folds: expected a number from 1, got 0",
    ),
    "parameters of an unknown ranker": (
        "train -h lambdamat",
        r"ranker: expected a known name, got 'lambdamat'. Did you mean 'lambdamart'\?",
    ),
    "unknown format": (
        "evaluate qrels.txt bm25.run --format xml",
        r"'xml' is not one of 'table', 'tsv', 'csv', 'json', 'latex'",
    ),
    "no hits asked for": (
        "retrieve index topics.tsv -o out -k 0",
        r"-k: expected a whole number from 1 to 2147483647, got 0\. Give another one\.",
    ),
    "k1 below 0": (
        "retrieve index topics.tsv -o out --candidates bm25-k1=-1-b=0.4",
        r"--candidates: expected a known name, got 'bm25-k1=-1-b=0\.4'",
    ),
    "k1 above its bound": (
        "retrieve index topics.tsv -o out --candidates bm25-k1=1e10-b=0.4",
        r"k1: expected a number from 0 to 1e\+09, got 10000000000",
    ),
    "b above 1": (
        "retrieve index topics.tsv -o out --candidates bm25-k1=0.9-b=2",
        r"b: expected a number from 0 to 1, got 2",
    ),
    "two k1": (
        "retrieve index topics.tsv -o out --candidates bm25-k1=1-b=1,rm3-k1=2-b=1",
        r"--candidates: expected one k1 and b for all sources, got",
    ),
    "base of no kind": ("train data.npz -o out --base bm25", r"--base: expected feature:NAME, run:FILE, model:FILE, "),
    "base feature that is none": (
        "train data.npz -o out --base feature:bm26",
        r"base feature: expected a known name, got 'bm26'",
    ),
    "base run that is none": (
        "train data.npz -o out --base run:none.run",
        r"none\.run: expected a run file, got nothing",
    ),
    "base model that is none": (
        "train data.npz -o out --base model:none",
        r"none: expected a model file, got nothing",
    ),
    "base run of other queries": (
        "train data.npz -o out --base run:bad/one.run",
        r"bad/one\.run: expected every query of the data, got none of query",
    ),
    "base given to a model": ("rank model.json data.npz -o out --base feature:1", r"--base: expected run:FILE here"),
    "output folder missing": (
        "retrieve index topics.tsv -o none/out",
        r"none: expected a folder to write into, got noth",
    ),
    "run in no folder, before the work": (
        "rerank no_index no_model no_topics -o none/out",
        r"none: expected a folder to write",
    ),
    "model folder missing": ("train data.npz -o none/out -p n_estimators=1", r"none: expected a folder to write"),
    "output is a folder": (
        "retrieve index topics.tsv -o bad/folder",
        r"bad/folder: expected a file to write, got a fol",
    ),
    "model is a folder": (
        "train data.npz -o bad/folder -p n_estimators=1",
        r"bad/folder: expected a file to write, got a folder",
    ),
    "output below a file": (
        "evaluate qrels.txt bm25.run -o topics.tsv/out",
        r"topics\.tsv: expected a folder to write",
    ),
    "full device": (
        "retrieve index topics.tsv -o /dev/full",
        r"/dev/full: expected a path .*No space left on device. ",
    ),
    "ending of data": (
        "features index topics.tsv bm25.run -o out.xyz",
        r"out\.xyz: expected a name that ends in .*. Ren",
    ),
    "study of a file": (
        "experiment index topics.tsv qrels.txt -o topics.tsv",
        r"topics\.tsv: expected a folder .*got a",
    ),
    "study without judgements": (
        "experiment index topics.tsv bad/strange.qrels -o out",
        r"bad/strange\.qrels: expected judgements of the topics, got none .*. Check",
    ),
    "study of few queries": (
        "experiment index topics.tsv qrels.txt -o out --folds 11",
        r"folds: expected at least 11 judged queries for 11 folds, got 10. Judge more",
    ),
    "study of two folds": ("experiment index topics.tsv qrels.txt -o out --folds 2", r"folds: expected at least 3"),
    "study of an unknown measure": ("experiment index topics.tsv qrels.txt -o out -m nix", r"measure: .*got 'nix'"),
    "study that cannot learn": (
        "experiment index topics.tsv qrels.txt -o out -p num_leaves=1",
        r"num_leaves: expected 2 to",
    ),
}

CHILD = r"child\.json: learned\.forest\.left\[0\]: expected [^\n]*, got 1000000. Train the model again"
CASES |= {
    "damaged model, rank": ("rank bad/child.json data.npz -o out", CHILD),
    "damaged model, rerank": ("rerank index bad/child.json topics.tsv -o out", CHILD),
    "damaged model, base": ("train data.npz --base model:bad/child.json -o out", CHILD),
    "damaged model, card": ("explain bad/child.json -o out.html", CHILD),
    "nested model": ("rank bad/deep.json data.npz -o out", r"deep\.json: expected a model file .*nested too deep"),
    "endless number": ("rank bad/digits.json data.npz -o out", r"digits\.json: .* got a number of thousands of"),
    "infinite feature": ("train bad/infinite.npz -o out", r"infinite\.npz: expected finite features, .*got inf"),
    "pickled data": (
        "train bad/pickled.npz -o out",
        r"pickled\.npz: .*X: expected type float32, got type object\.",
    ),
}


@pytest.fixture(scope="module")
def bad(world: Path) -> Path:
    folder = world / "bad"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "study").mkdir()
    shutil.copy(folder / "brackets.json", folder / "study" / "settings.json")
    with np.load(world / "data.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    labels = arrays["labels"].copy()
    labels[1] = np.nan
    np.savez(folder / "nan.npz", **{**arrays, "labels": labels})
    np.savez(folder / "unjudged.npz", **{name: array for name, array in arrays.items() if name != "labels"})
    model = json.loads((world / "model.json").read_text())
    left = [10**6, *model["learned"]["forest"]["left"][1:]]
    learned = {**model["learned"], "forest": {**model["learned"]["forest"], "left": left}}
    (folder / "child.json").write_text(json.dumps({**model, "learned": learned}))
    (folder / "deep.json").write_text("[" * 501)
    (folder / "digits.json").write_text("9" * 5001)
    X = arrays["X"].copy()
    X[1, 0] = np.inf
    np.savez(folder / "infinite.npz", **{**arrays, "X": X})
    np.savez(folder / "pickled.npz", **{**arrays, "X": X.astype(object)})
    bare = read_model(world / "model.json")
    bare.recipe_ = None
    bare.save(folder / "bare.json")
    shutil.copytree(world / "other" / "index", folder / "mixed")
    shutil.rmtree(folder / "mixed" / "rerank")
    shutil.copytree(world / "index" / "rerank", folder / "mixed" / "rerank")
    return folder


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_line_and_leaves_nothing(case: str, bad: Path, command: Command) -> None:
    line, expected = CASES[case]
    before = tree(bad.parent)
    done = command(line)
    assert done.code == 2, done
    assert re.fullmatch(rf"rerank: [^\n]*{expected}[^\n]*\n", done.err), done.err
    assert done.out == ""
    assert tree(bad.parent) == before


@pytest.mark.parametrize("arguments", ["serve", "serve index --model model.json", "serve model.json"])
def test_serve_takes_an_index_or_a_model_alone(command: Command, arguments: str) -> None:
    done = command(arguments)
    assert done.code == 2
    assert "serve: expected INDEX [MODEL ...] or --model MODEL, got" in done.err


def test_extra_argument_is_refused_with_the_option_of_the_output(command: Command) -> None:
    message = "rerank: Got unexpected extra argument (idx). Name the output by -o (see `rerank index -h`)\n"
    assert command("index corpus.jsonl idx") == (2, "", message)
