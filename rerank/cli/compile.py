"""`rerank compile`: kernels ahead of their first use, and the archive of Java's classes.

Numba compiles a kernel at its first call, for the types of its arguments: a small collection of random words is
indexed, trained on and ranked. Kernels of other rankers than the default compile at their first use.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from rerank.errors import RerankError, log

N_DOCUMENTS, N_QUERIES = 200, 20
WORDS, OF_DOCUMENT, OF_QUERY = 50, 40, 3
N_ROWS, N_COLUMNS = 2048, 32


@click.command("compile")
def command() -> None:
    """Compile all kernels (features, training, scoring), once per machine.

    A verb compiles the kernels that it needs when it first runs; compiling them in advance, e.g. in a container image,
    makes that first run faster. Kernels are cached in the folder NUMBA_CACHE_DIR, by default next to the package or,
    if that is read-only, in the user's cache. An archive of Java classes that shortens the start of Java is written to
    the folder RERANK_CACHE.
    """
    from rerank.lucene.class_archive import make_class_archive
    from rerank.lucene.jvm import environment_variable

    start = time.perf_counter()
    log.disabled = True  # what it would say of the random collection
    try:
        compile_training()
        # Windows removes no file that is still mapped
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder, environment_variable("RERANK_CACHE", folder):
            compile_features(Path(folder) / "index")
        make_class_archive()
    except (OSError, RerankError) as error:  # Lucene is not installed, or its archive cannot be written
        click.echo(f"rerank: {error}", err=True)
    finally:
        log.disabled = False
    log.info("kernels are compiled (%.1f s).", time.perf_counter() - start)


def compile_training() -> None:
    """Train on random rows, and score them."""
    import numpy as np

    from rerank.rankers.lambdamart import LambdaMART

    random = np.random.default_rng(0)
    X = random.normal(size=(N_ROWS, N_COLUMNS)).astype(np.float32)
    X[:, 2:][random.random((N_ROWS, N_COLUMNS - 2)) < 0.85] = 0.0  # columns with sparse storage
    labels = random.integers(0, 3, N_ROWS)
    X[1], labels[1] = X[0], labels[0]  # rows of one query that are alike are ordered by all of their values
    model = LambdaMART(n_estimators=2).fit(X, labels, qid=np.arange(N_ROWS) // 32)
    model.predict(X)
    model.predict(X[:1])


def compile_features(folder: Path) -> None:
    """Compute all features of an index of random words, train on them and rank."""
    import numpy as np

    from rerank.features.family import index_family_names
    from rerank.features.recipe import Recipe
    from rerank.index.index import Index
    from rerank.pipeline.rerank import rerank
    from rerank.training.train import train

    random = np.random.default_rng(0)

    def text(n_words: int) -> str:
        return " ".join(f"word{number}" for number in random.integers(0, WORDS, n_words))

    documents = ({"id": f"d{number}", "title": text(5), "body": text(OF_DOCUMENT)} for number in range(N_DOCUMENTS))
    with Index.build(documents, folder) as index:
        topics = {f"q{number}": text(OF_QUERY) for number in range(N_QUERIES)}
        qrels = {name: {f"d{number}": 1 for number in random.integers(0, N_DOCUMENTS, 8)} for name in topics}
        index.learn_vectors(dimensions=2)
        index = index.using(encoder=lambda texts: np.ones((len(texts), 2)))
        index.features(index.search(topics, 20), topics, recipe=Recipe(families=index_family_names()))
        rerank(index, train(index, topics, qrels, estimate=False).model, topics)
