"""Whether models, features, vectors, runs and exports have the same bytes on every CPU type and number of threads.

    python -m tests.checks.machines [--quick] [--data FOLDER] [--only NAME ...] [--python PATH ...]

Each type is emulated in a process of its own: NUMBA_CPU_NAME chooses the instructions of kernels, OPENBLAS_CORETYPE
those of BLAS, and NPY_DISABLE_CPU_FEATURES those of NumPy. Every process writes the same files; a table names those
that differ from the ones of this machine. Exit 1 if there is any. --quick takes the types that differ most and fewer
queries, for .ci/run. --python is the interpreter of an environment with other versions of the dependencies, which is
one machine more. Without the collections of --data the docstrings of the Python library take their place.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from tests.checks import DATA, ROOT

NO_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL"
NO_AVX2 = f"{NO_AVX512} AVX2 FMA3"
C_LIBRARY = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL"
THIS = "this machine"
MACHINES: dict[str, dict[str, str]] = {
    THIS: {},
    "1 thread": {"NUMBA_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "kernels generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "kernels haswell": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
    "kernels skylake-avx512": {"NUMBA_CPU_NAME": "skylake-avx512", "NUMBA_CPU_FEATURES": ""},
    "BLAS Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "BLAS SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
    "BLAS Zen": {"OPENBLAS_CORETYPE": "Zen"},
    "BLAS Prescott": {"OPENBLAS_CORETYPE": "Prescott"},
    "NumPy without AVX512": {"NPY_DISABLE_CPU_FEATURES": NO_AVX512},
    "NumPy without AVX2": {"NPY_DISABLE_CPU_FEATURES": NO_AVX2},
    "C library without FMA": {"GLIBC_TUNABLES": C_LIBRARY},
}
LEAST = ("1 thread", "kernels generic", "BLAS Prescott", "NumPy without AVX2", "C library without FMA")
QUICK: dict[str, dict[str, str]] = {
    THIS: {},
    "least of each, 1 thread": {name: value for machine in LEAST for name, value in MACHINES[machine].items()},
}
FEW: dict[str, object] = {"n_estimators": 15, "num_leaves": 15}
NET: dict[str, object] = {"n_epochs": 3, "hidden_units": 8}
MEMBERS = "lambdamart(n_estimators=5), plackettluce(C=0.01)"
RANKERS: dict[str, dict[str, object]] = {
    "lambdamart": FEW,
    "lambdamart AP": {**FEW, "metric": "AP"},
    "lambdamart ERR@10": {**FEW, "metric": "ERR@10", "normalize": False},
    "lambdamart line-search": {**FEW, "step": "line-search", "subsample": 0.5},
    "lambdamart start": {**FEW, "start": "base"},
    "mart": FEW,
    "mart logistic": {**FEW, "objective": "logistic"},
    "gbrank": FEW,
    "logistrank": FEW,
    "lambdarank": NET,
    "ranknet": NET,
    "rankboost": {"n_estimators": 15},
    "ranksvm": {},
    "plackettluce": {},
    "logisticregression": {},
    "coordinateascent": {"n_restarts": 2, "max_iter": 1},
    "ensemble": {"members": MEMBERS, "n_estimators": 10},
    "auto": {"members": MEMBERS},
}
EXPORTS = ("lightgbm", "xgboost", "ranklib", "solr", "elasticsearch", "vespa", "xgboost-dump")
CANDIDATES = ("bm25:200", "rm3:200", "lsi:100")


def main() -> int:
    """Compare the machines; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", default=[], help="part of the name of a machine")
    parser.add_argument("--python", action="append", default=[], help="interpreter of another environment")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.make:
        make(given.make, given.data, given.quick)
        return 0
    machines = QUICK if given.quick else MACHINES
    wanted = given.only or [""]
    chosen = {name: env for name, env in machines.items() if name == THIS or any(part in name for part in wanted)}
    chosen |= {python: {} for python in given.python}
    digests: dict[str, dict[str, str]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for number, (name, env) in enumerate(chosen.items()):
            folder = Path(scratch) / str(number)
            folder.mkdir()
            variables = {**os.environ, **env}
            python = name if name in given.python else sys.executable
            if "NUMBA_CPU_NAME" in env or python == name:  # other kernels need a cache of their own
                variables["NUMBA_CACHE_DIR"] = str(Path(scratch) / f"kernels-{number}")
            command = [python, "-m", "tests.checks.machines", "--make", folder, "--data", given.data.resolve()]
            subprocess.run([*command, *(["--quick"] if given.quick else [])], env=variables, check=True, cwd=ROOT)
            files = sorted(path for path in folder.iterdir() if path.is_file())
            digests[name] = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
            print(f"{name}: {len(files)} files", file=sys.stderr, flush=True)
    rows = [
        (file, ", ".join(name for name, own in digests.items() if own.get(file) != digest))
        for file, digest in digests[THIS].items()
    ]
    differ = [row for row in rows if row[1]]
    print(tabulate(differ, headers=["file", "differs on"]) if differ else "all files are the same")
    print(f"{len(rows)} files, {len(digests)} machines: {len(differ)} differ")
    return 1 if differ or any(own.keys() != digests[THIS].keys() for own in digests.values()) else 0


def make(folder: Path, data: Path, quick: bool) -> None:
    """Write all files."""
    import rerank

    with tempfile.TemporaryDirectory() as scratch:
        documents, topics, qrels = collection(data, quick)
        with rerank.Index.build(documents, Path(scratch) / "index", vectors=False) as index:
            rows = of_index(folder, index, topics, qrels)
    letor = mq2008(data)
    for name, train in (("mq2008", letor), ("collection", rows)):
        if train is not None:
            for file, model in models(train.select(range(min(len(train), 60 if quick else 150)))):
                model.save(folder / f"{name}, {file}.json")
                np.save(folder / f"{name}, {file}, scores.npy", model.predict(train))
                if hasattr(model, "forest_"):
                    export(folder, f"{name}, {file}", model)


def collection(data: Path, quick: bool) -> tuple[Any, dict[str, str], Any]:
    """Return documents, topics and judgements of cranfield, or of the Python library's docstrings."""
    import rerank
    from rerank.experiments.demo import library_collection

    n_topics = 40 if quick else 225
    source = data / "collections" / "cranfield"
    if source.is_dir():
        topics, qrels = rerank.read_topics(source / "topics.tsv"), rerank.read_qrels(source / "qrels.txt")
        return source / "corpus.jsonl", {name: topics[name] for name in list(topics)[:n_topics]}, qrels
    library = library_collection()
    return library.documents, {name: library.topics[name] for name in list(library.topics)[:n_topics]}, library.qrels


def of_index(folder: Path, index: Any, topics: dict[str, str], qrels: Any) -> Any:
    """Write vectors, runs and features of all families; return the default features with labels."""
    import rerank
    from rerank.features.family import known_families

    vectors = rerank.Vectors.learn(index)
    vectors.save(folder / "vectors.npz")
    bound = index.using(vectors=vectors, history=rerank.History.learn(index, topics, qrels))
    for source in CANDIDATES:
        run = bound.search(topics, candidates=source)
        np.savez(folder / f"run {source.partition(':')[0]}.npz", ids=run.doc_ids, scores=run.scores)
    run = index.search(topics, k=100)
    recipe = rerank.Recipe(families=tuple(name for name in known_families() if name != "encoder"))  # the user's code
    data = bound.features(run, topics, qrels, recipe=recipe)
    for column, name in enumerate(data.feature_names):
        np.save(folder / f"feature {name}.npy", data.X[:, column])
    defaults(folder, index.using(vectors=vectors), topics, qrels)
    return index.features(run, topics, qrels)


def defaults(folder: Path, index: Any, topics: dict[str, str], qrels: Any) -> None:
    """Write what a user gets without an option: the unsupervised ranking, and the model of `rerank train`."""
    import rerank

    trained = rerank.train(index, topics, qrels)
    trained.model.save(folder / "defaults.json")
    for name, model in (("unsupervised", "unsupervised"), ("defaults", trained.model)):
        run = rerank.rerank(index, model, topics)
        np.savez(folder / f"run {name}.npz", ids=run.doc_ids, scores=run.scores)
    (folder / "estimate.txt").write_text(str(trained.estimate))


def mq2008(data: Path) -> Any:
    """Return the first part of MQ2008, started from its BM25; None where it is missing."""
    from dataclasses import replace

    import rerank

    path = data / "letor" / "mq2008" / "S1.txt"
    if not path.is_file():
        return None
    part = rerank.read_data(path)
    return replace(part, base_scores=part.X[:, 24].astype(np.float64))


def models(train: Any) -> Iterator[tuple[str, Any]]:
    """Yield every ranker, cold and started from the base, by a name."""
    from rerank.rankers.registry import known_rankers, ranker_class

    missing = set(known_rankers()) - {name.split()[0] for name in RANKERS}
    if missing:
        raise SystemExit(f"machines: expected all rankers in RANKERS, got none of {', '.join(missing)}.")
    for name, parameters in RANKERS.items():
        for base in (None, "run"):
            model = ranker_class(name.split()[0])(**parameters, base=base)
            yield f"{name}, {'cold' if base is None else 'warm'}", model.fit(train)


def export(folder: Path, name: str, model: Any) -> None:
    """Write a model in every format that needs no other package and can hold it."""
    import rerank
    from rerank.errors import RerankError

    for kind in EXPORTS:
        path = folder / f"{name}.{kind}"
        try:
            rerank.export_model(model, path, kind)
        except RerankError as error:  # what a format cannot hold is refused alike on every machine
            path.write_text(str(error))


if __name__ == "__main__":
    sys.exit(main())
