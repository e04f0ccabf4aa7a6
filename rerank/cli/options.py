"""Arguments and options that several verbs share, and what the verbs do with them.

File names are added to errors here: data structures do not know the file that they were read from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

import rerank
from rerank.errors import (
    FileFormatError,
    InvalidInputError,
    MissingFileError,
    ModelMismatchError,
    UnknownParameterError,
    shown,
)

if TYPE_CHECKING:
    from rerank.rankers.ranker import Ranker
    from rerank.runtime.fields import Field

Item = TypeVar("Item")
Value = TypeVar("Value")
Declared = Callable[[Any], Any]  # a decorator of a command
path_type = click.Path(path_type=Path)
# Names of rankers, formats and engines are read from the source files that declare them: importing them is slow.
ENGINE = re.compile(r'^    name="([\w-]+)",$', re.MULTILINE)
_REGISTERED = re.compile(r'^@register\("([\w-]+)"\)$', re.MULTILINE)
NONE = "none"  # in place of a name: removes what is stored
BASES = UNSUPERVISED, NO_BASE = "unsupervised", "none"  # without a name
ELSEWHERE = {"metric": "--metric", "base": "--base", "n_jobs": "--threads"}  # parameters with options of their own


def is_given(name: str) -> bool:
    """Return whether a parameter of the running verb, by its Python name, was given and is not its default."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def refuse_beside(form: str, names: Iterable[str]) -> None:
    """Refuse options, by their Python names, that have no effect beside another option or form of the arguments."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and is_given(parameter.name):
            raise click.UsageError(
                f"{parameter.opts[0]}: expected it without {form}, with which it has no effect. Leave it out"
            )


def begins_with_index(data: Sequence[Path], count: int) -> bool:
    """Return whether `count` arguments begin with an index; refuse a name without an ending where nothing is."""
    from rerank.index.bound_index import is_index

    if len(data) == count and not data[0].exists() and not data[0].suffix:
        raise MissingFileError(data[0], "the folder of an index")
    return len(data) == count and is_index(data[0])


class NumberOption(click.types.FloatParamType):
    """A number from `low` to `high`, which must be whole if `whole`; NaN is refused."""

    name = "number"

    def __init__(self, low: float, high: float = math.inf, whole: bool = False) -> None:
        self.low = low
        self.high = high
        self.whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of an option's text."""
        number = click.INT.convert(value, param, ctx) if self.whole else float(super().convert(value, param, ctx))
        if not self.low <= number <= self.high:
            bounds = f"of at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:.10g}"
            name = param.opts[0] if param else "number"
            kind = "whole number" if self.whole else "number"
            raise InvalidInputError(f"{name}: expected a {kind} {bounds}, got {shown(number)}. Give another one.")
        return number


COUNT = NumberOption(1, 2**31 - 1, whole=True)


def path_argument(name: str, **settings: Any) -> Declared:
    """Declare an argument that names a file or a folder."""
    return click.argument(name, type=path_type, **settings)


def path_option(*names: str, text: str, metavar: str = "FILE", **settings: Any) -> Declared:
    """Declare an option that names a file or a folder; an output that cannot be written is refused before the work."""
    if "-o" in names:
        settings = {"callback": _writable, **settings}
    return click.option(*names, type=path_type, metavar=metavar, help=text, **settings)


def _writable(context: click.Context, parameter: click.Parameter, file: Path | None) -> Path | None:
    from rerank.runtime.output import check_outputs

    check_outputs({parameter.opts[-1]: file})
    return file


def output_option(what: str) -> Declared:
    """Declare `-o` for a file; `-` is stdout."""
    return path_option("-o", "--output", text=f"File for {what}; - for stdout.", required=True)


def folder_option(what: str, **settings: Any) -> Declared:
    """Declare `-o` for a folder."""
    return path_option("-o", "--output", text=f"Folder for {what}.", metavar="FOLDER", callback=_no_stdout, **settings)


def _no_stdout(context: click.Context, parameter: click.Parameter, folder: Path | None) -> Path | None:
    if str(folder) == "-":
        raise click.BadParameter("expected a folder, got - (stdout). Name a folder.", context, parameter)
    return folder


def _split_measures(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the measures of `nDCG@10,AP`; P.5,10 and the parameters in brackets stay together."""
    return tuple(name for text in texts for name in re.split(r",(?=[^\W\d])(?![^(]*\))", text))


def measures_option(default: str) -> Declared:
    """Declare `-m`, which can be repeated."""
    return click.option(
        "-m",
        "--measure",
        "measures",
        metavar="MEASURE",
        multiple=True,
        callback=_split_measures,
        help=f"Measure by its ir_measures or trec_eval name, e.g. nDCG@10,AP, P.5,10 or all_trec. Repeatable.  "
        f"[default: {default}]",
    )


def metric_option(*names: str, use: str = "to optimise: AP, ERR@20, RBP(p=0.8), ...") -> Declared:
    """Declare `--metric`."""
    return click.option(
        *names, "--metric", metavar="MEASURE", default="nDCG@10", show_default=True, help=f"Measure {use}"
    )


def candidates_option(default: str = "BM25") -> Declared:
    """Declare `--candidates`; `default` is what they are without it."""
    text = f"Sources of candidates (see `rerank retrieve -h`).  [default: {default}]"
    return click.option("--candidates", metavar="SOURCE:K,...", help=text)


def _load_functions(context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    if files:
        from rerank.features.families.functions import load_functions

        for file in files:
            load_functions(file)
    return files


def run_option(text: str) -> Declared:
    """Declare `--run NAME=FILE`, which can be repeated."""
    return click.option("--run", "run_files", metavar="NAME=FILE", multiple=True, help=f"{text} Repeatable.")


functions_option = path_option(
    "--functions", text="Python file that defines your own features.", multiple=True, callback=_load_functions
)
recipe_option = path_option("--recipe", text="TOML file of features (see `rerank features`).")
cluster_option = click.option(
    "--cluster",
    metavar="ADDRESS|local:N",
    help="Run on a Dask cluster: address of its scheduler, or N local processes.",
)
history_option = click.option(
    "--history/--no-history",
    default=True,
    help="Compute features from judgements of other queries, too.  [default: compute them]",
)
remove_query_option = click.option(
    "--remove-query/--keep-query",
    default=None,
    help="Leave out the document that has the id of the query.  [default: keep it; remove it with files of BEIR]",
)
base_run_option = click.option("--base", metavar="run:FILE", help="Run that the model was warm-started from.")
parameters_option = click.option(
    "-p",
    "--parameter",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="Parameter of the ranker, e.g. num_leaves=15 (see `rerank train -h RANKER`). Repeatable.",
)
runs_option = click.option(  # of the verbs that apply a model to an index
    "--run",
    "run_files",
    metavar="[NAME=]FILE",
    multiple=True,
    help="Run with the candidates, instead of retrieving them; NAME=FILE is a run whose scores the model uses as "
    "features. Repeatable.",
)
other_index_option = click.option(
    "--other-index", is_flag=True, help="Allow a model that was trained on another index."
)


def read_if(read: Callable[[Item], Value], item: Item | None) -> Value | None:
    """Return what a function reads from a file or a text; None where there is none."""
    return None if item is None else read(item)


def read_named_runs(pairs: tuple[str, ...]) -> dict[str, rerank.Run]:
    """Return the runs of NAME=FILE, by name."""
    runs: dict[str, rerank.Run] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not name.isidentifier() or not equals or not file or name in runs:
            raise InvalidInputError(
                f"--run: expected NAME=FILE with a name of letters and digits, each once, got {pair!r}. "
                "Write e.g. dense=dense.run."
            )
        runs[name] = rerank.read_run(file)
    return runs


def run_names(runs: Iterable[Path]) -> dict[str, Path]:
    """Return runs by their names in tables: NAME of NAME=FILE, otherwise the path; an existing path is never split."""
    named: dict[str, Path] = {}
    for run in runs:
        name, equals, file = str(run).partition("=")
        name, path = (name, Path(file)) if name and equals and file and not run.exists() else (str(run), run)
        if named.setdefault(name, path) != path:
            raise InvalidInputError(f"{run}: expected each name once, got {shown(name)} again. Rename one.")
    return named


def split_base(base: str) -> tuple[str, str]:
    """Return kind and name of `feature:NAME`, `run:FILE` or `model:FILE`; `unsupervised` and `none` have no name."""
    kind, colon, name = base.partition(":")
    if base not in BASES and (kind not in {"feature", "run", "model"} or not colon or not name):
        raise InvalidInputError(
            f"--base: expected feature:NAME, run:FILE, model:FILE, unsupervised or none, got {base!r}. Write e.g. "
            "feature:bm25.contents."
        )
    return kind, name


def read_base_run(base: str | None) -> rerank.Run | None:
    """Return the run of `--base run:FILE`, for a model that was warm-started from a run."""
    if base is None:
        return None
    kind, name = split_base(base)
    if kind != "run":
        raise InvalidInputError(
            f"--base: expected run:FILE here, got {base!r}. Features and models are stored in the model itself."
        )
    return rerank.read_run(name)


def base_file(base: str | None, base_run: Any) -> dict[str, str]:
    """Return the file of a base run, by what errors call the run."""
    name = getattr(base_run, "name", None)
    return {f"base run {name}": split_base(base)[1]} if base and name else {}


def registered_names(package: str, line: re.Pattern[str] = _REGISTERED) -> str:
    """Return the names that lines of a package's files declare, in alphabetical order, with commas between them."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    texts = (path.read_text("utf8") for folder in folders for path in Path(folder).glob("*.py"))
    return ", ".join(sorted(name for text in texts for name in line.findall(text)))


def new_ranker(name: str, parameters: Sequence[str], metric: str, base: str) -> Ranker:
    """Return a new ranker, by name, with the parameters of `-p`."""
    from rerank.rankers.registry import ranker_class

    values = ranker_parameters(name, parameters)
    kind, of_base = split_base(base)
    readers: dict[str, Callable[[str], Any]] = {"run": rerank.read_run, "model": rerank.read_model}
    start = readers[kind](of_base) if kind in readers else None if base == NO_BASE else base
    ranker: Ranker = ranker_class(name)(metric=metric, base=start, **values)
    return ranker


def ranker_parameters(
    ranker: str,
    texts: Sequence[str],
    elsewhere: Mapping[str, str] = ELSEWHERE,
    more: Mapping[str, Field] | None = None,
) -> dict[str, Any]:
    """Return the hyper-parameters of `-p`.

    elsewhere  the options of parameters that `-p` does not take
    more       parameters that `-p` takes for every ranker
    """
    from rerank.rankers.other_names import remedy
    from rerank.rankers.parameters import read_value
    from rerank.rankers.registry import ranker_class
    from rerank.runtime.fields import Record, SchemaError

    verb = click.get_current_context().info_name
    if ranker.lower() == "lambdasmart":
        raise InvalidInputError(
            f"--ranker: expected a ranker, got {ranker}: LambdaMART with a base. Write --ranker lambdamart --base "
            "unsupervised, feature:NAME, run:FILE or model:FILE."
        )
    values = {}
    fields = {**(more or {}), **ranker_class(ranker).parameter_fields}
    known = fields.keys() - elsewhere.keys()
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InvalidInputError(f"{verb}: -p: expected NAME=VALUE, got {shown(text)}. Write e.g. -p num_leaves=15.")
        if name in values:
            raise InvalidInputError(f"{verb}: -p {name}: expected each parameter once, got it again. Remove one.")
        if name not in known:
            advice = f"Use {elsewhere[name]}." if name in elsewhere else remedy(name, [*known, *elsewhere])
            raise UnknownParameterError(
                f"{verb}: -p {shown(name)[1:-1]}: expected a parameter of {ranker} that -p takes, got another. {advice}"
            )
        values[name] = read_value(value)
    try:
        return Record(fields, partial=True).read(values)
    except SchemaError as error:
        raise InvalidInputError(f"{verb}: -p {error.fault(f'See `rerank train -h {ranker}`.')}") from None


@contextmanager
def errors_with_files(files: Mapping[str, str | Path | None]) -> Iterator[None]:
    """Replace the subject of an error that is raised in the block by the name of its file.

    files  what errors call an object (`training data`, `run`) -> its file; None if there is none
    """
    try:
        yield
    except (InvalidInputError, ModelMismatchError) as error:
        subject, _, message = str(error).partition(": ")
        file = files.get(subject)
        if file is None:
            raise
        raise type(error)(f"{file}: {message}") from error


def check_option_pairs(
    run: rerank.Run,
    path: Path,
    index: rerank.Index,
    topics: rerank.Topics | None = None,
    topics_path: Path | None = None,
) -> None:
    """Refuse a run with a document that is not in the index, or a query that has no topic; the error names the line."""
    import numpy as np

    from rerank.types.ids import written_apart

    missing = None if topics is None else next((query_id for query_id in run if query_id not in topics), None)
    if topics is not None and missing is not None:
        raise FileFormatError(
            path,
            _line(path, missing),
            f"expected queries of {topics_path}, got {missing!r}. "
            f"{written_apart(run, topics) or 'Give the topics that the run was made for'}.",
        )
    unknown = np.flatnonzero(index.forward.doc_numbers(run.doc_ids) < 0)
    if len(unknown):
        query = int(np.searchsorted(run.query_ptr, unknown[0], side="right")) - 1
        doc_id = str(run.doc_ids[unknown[0]])
        raise FileFormatError(
            path,
            _line(path, str(run.query_ids[query]), doc_id),
            f"expected documents of {index.path}, got {doc_id!r} ({len(unknown)} such rows in all). "
            "Use the index that the run was made on.",
        )


def _line(path: Path, query_id: str, doc_id: str | None = None) -> int | None:
    """Return the first line of a run with a query and a document; the file is read again only for an error."""
    from rerank.files.source import text_lines

    for line, text in text_lines(path):
        columns = text.encode().split()  # at ASCII white space, as runs are
        if columns[:1] == [query_id.encode()] and (doc_id is None or doc_id.encode() in columns[1:3]):
            return line
    return None


@contextmanager
def opened_index(
    path: Path, cluster: str | None, *files: Path, remove_query: bool | None = None, **options: Any
) -> Iterator[rerank.Index]:
    """Yield an index of this process, or one whose work is done by the cluster of `--cluster`.

    files         files of topics and judgements, which determine the default of `--remove-query`
    remove_query  the value of `--remove-query`
    """
    from rerank.files.beir import removes_query

    options["remove_query"] = removes_query(remove_query, *files)
    opener: Any = nullcontext(rerank.Index) if cluster is None else rerank.Cluster(cluster)
    with opener as opening, opening.open(path, **options) as index:
        yield index


@contextmanager
def model_applied(
    index: Path,
    model: Path,
    topics: Path,
    run_files: Sequence[str],
    base: str | None,
    other_index: bool,
    cluster: str | None = None,
    of_index: bool = True,
    **options: Any,
) -> Iterator[tuple[rerank.Index, dict[str, Any], dict[str, str | Path | None]]]:
    """Yield an index with the named runs of `--run`, the arguments for a model on it, and the files for errors.

    The arguments are the keywords `model`, `topics`, `run` and `base` of `rerank.rerank` and `rerank.explain`. For the
    files see `errors_with_files`.

    model     a file, or the name of the unsupervised ranking
    of_index  whether the documents of the candidates must be in the index
    """
    applied: dict[str, Any] = {
        "model": UNSUPERVISED if model == Path(UNSUPERVISED) else rerank.read_model(model),
        "topics": rerank.read_topics(topics),
        "base": read_base_run(base),
    }
    file = candidates_file(run_files)
    applied["run"] = read_if(rerank.read_run, file)
    of_model = dict.fromkeys(("model", "data", "recipe", "base", "candidates"), model)
    runs = read_named_runs(tuple(item for item in run_files if "=" in item))
    _check_used(runs, applied["model"])
    with opened_index(index, cluster, topics, runs=runs, check_models=not other_index, **options) as opened:
        if file is not None and of_index:
            check_option_pairs(applied["run"], file, opened, applied["topics"], topics)
        yield opened, applied, {**of_model, "run": file, **base_file(base, applied["base"])}


def _check_used(runs: Iterable[str], model: Ranker | str) -> None:
    """Refuse a run with a name in `--run` whose scores the model does not use."""
    from rerank.rankers.retriever_checks import trained_retriever
    from rerank.retrieval.candidates import Candidates

    used: list[str] = []
    if not isinstance(model, str):
        trained = Candidates.of_retriever(trained_retriever(model))
        used = [*(model.recipe_ or {}).get("runs", ()), *(part.name for part in (trained.sources if trained else ()))]
    other = next((name for name in runs if name not in used), None)
    if other is not None:
        raise InvalidInputError(
            f"--run: expected a run that the model uses, got {other!r}, which it does not. Write --run FILE, without a "
            "name, for candidates, or leave it out."
        )


def candidates_file(run_files: Sequence[str]) -> Path | None:
    """Return the file of candidates of `--run`, which has no name; None if there is none."""
    files = [Path(item) for item in run_files if "=" not in item]
    if len(files) > 1:
        raise click.UsageError(f"--run: expected one file of candidates, got {len(files)}. Give others as NAME=FILE.")
    return files[0] if files else None
