"""How a verb declares its arguments and options, and those of several verbs.

A verb has a frozen dataclass whose fields are declared by `argument`, `option`, or a function below that returns one of
them; `takes` gives the verb a value of it. Fields of a base class are options that verbs share.

Options of a ranker: `--ranker NAME`, its hyper-parameters `-p NAME=VALUE`, and what it is trained for.

File names in errors: data structures do not know the file that they were read from, the command line does.

The option of the verbs that can run on a Dask cluster.

What the verbs share that apply a model to an index: `rerank rerank` and `rerank explain`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from rerank.errors import (
    FileFormatError,
    InvalidInputError,
    ModelMismatchError,
    UnknownParameterError,
    shown,
    unknown_name,
)

if TYPE_CHECKING:
    from rerank.cluster.cluster import Cluster
    from rerank.index.index import Index
    from rerank.rankers.ranker import Ranker
    from rerank.runtime.schema import Field
    from rerank.types import Run, Topics


Given = TypeVar("Given")
path_type = click.Path(path_type=Path)
# Names of formats and engines are read from the files that declare them: help must not wait for their import.
_ENGINE = re.compile(r'^    name="([\w-]+)",$', re.MULTILINE)
_REGISTERED = re.compile(r'^@register\("([\w-]+)"\)$', re.MULTILINE)
BASES = UNSUPERVISED, NO_BASE = "unsupervised", "none"  # without a name


def argument(**settings: Any) -> Any:
    """Declare a field as an argument, with click's settings."""
    return field(metadata={"declare": click.argument, "names": (), "settings": settings})


def option(*names: str, **settings: Any) -> Any:
    """Declare a field as an option, with click's settings."""
    return field(metadata={"declare": click.option, "names": names, "settings": settings})


def is_given(name: str) -> bool:
    """Return whether the running verb was given a parameter, by its Python name, and does not have its default."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def refuse_beside(form: str, names: Iterable[str]) -> None:
    """Refuse options, by their Python names, that have no effect beside another option or form of the arguments."""
    for parameter in click.get_current_context().command.params:
        if parameter.name in names and is_given(parameter.name):
            raise click.UsageError(
                f"{parameter.opts[0]}: expected it without {form}, with which it has no effect. Leave it out"
            )


def require(needed: Mapping[str, str]) -> None:
    """Refuse options without the one that they need; both by their Python names."""
    parameters = {parameter.name: parameter.opts[0] for parameter in click.get_current_context().command.params}
    for name, other in needed.items():
        if is_given(name) and not is_given(other):
            raise click.UsageError(
                f"{parameters[name]}: expected {parameters[other]} beside it, got none. Add it, or leave both out"
            )


def takes(kind: type[Given]) -> Callable[[Callable[[Given], None]], Callable[..., None]]:
    """Return a decorator that gives a command what it is called with as a value of a dataclass of declared fields."""

    def decorate(command: Callable[[Given], None]) -> Callable[..., None]:
        @wraps(command)
        def call(**values: Any) -> None:
            command(kind(**values))

        declared = call
        for each in reversed(fields(kind)):  # type: ignore[arg-type]
            how = each.metadata
            declared = how["declare"](*how["names"], each.name, **how["settings"])(declared)
        return declared

    return decorate


class Number(click.types.FloatParamType):
    """A number from `low` to `high`; NaN is none."""

    def __init__(self, low: float, high: float = math.inf) -> None:
        self.low = low
        self.high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number of an option's text."""
        number = float(super().convert(value, param, ctx))
        if not self.low <= number <= self.high:
            bounds = f"of at least {self.low:g}" if self.high == math.inf else f"from {self.low:g} to {self.high:g}"
            name = param.opts[0] if param else "number"
            raise InvalidInputError(f"{name}: expected a number {bounds}, got {shown(number)}. Give another one.")
        return number


class Whole(click.IntRange):
    """A whole number from `low`; what no computer counts to is refused."""

    def __init__(self, low: int = 1, most: int = 2**31 - 1) -> None:
        super().__init__(low)
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of an option's text."""
        number = int(super().convert(value, param, ctx))
        if number > self.most:
            name = param.opts[0] if param else "number"
            raise InvalidInputError(
                f"{name}: expected a number up to {self.most}, got {shown(number)}. Give another one."
            )
        return number


def path_argument(**settings: Any) -> Any:
    """Declare an argument that names a file or a folder."""
    return argument(type=path_type, **settings)


def file_option(name: str, text: str, **settings: Any) -> Any:
    """Declare an option that names a file."""
    return option(name, type=path_type, metavar="FILE", help=text, **settings)


def format_option(*forms: str) -> Any:
    """Declare `--format`, whose first form is the default."""
    kind = click.Choice(list(forms))
    return option("--format", type=kind, default=forms[0], show_default=True, help="Output format.")


def limits_option(limits: Mapping[str, tuple[str, Number | Whole]], text: str) -> Any:
    """Declare `--limit NAME=VALUE`, which can be repeated; its value has the numbers by the fields of the names."""

    def read(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, Any]:
        numbers = {}
        for text in texts:
            name, _, number = text.partition("=")
            if name not in limits:
                raise unknown_name("--limit", name, limits)
            field_name, kind = limits[name]
            numbers[field_name] = kind.convert(number, parameter, context)
        return numbers

    return option(
        "--limit",
        multiple=True,
        callback=read,
        metavar="NAME=VALUE",
        help=f"Limit to change; defaults: {text}. Repeatable.",
    )


def threads_option() -> Any:
    """Declare `--threads`."""
    return option("--threads", type=Whole(), metavar="N", help="Number of threads.  [default: all cores]")


def functions_option() -> Any:
    """Declare `--functions`, which runs the files that define features."""
    text = "Python file that defines your own features."
    return file_option("--functions", text, multiple=True, callback=_load_functions)


def _load_functions(context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]) -> tuple[Path, ...]:
    if files:
        from rerank.features.functions import load_functions

        for file in files:
            load_functions(file)
    return files


def candidates_option(default: str = "BM25") -> Any:
    """Declare `--candidates`; `default` is what they are without it."""
    return option(
        "--candidates",
        metavar="SOURCE:K,...",
        help=f"Sources of candidates (see `rerank retrieve -h`).  [default: {default}]",
    )


def output_option(what: str) -> Any:
    """Declare `-o` for a file; `-` is stdout."""
    text = f"File for {what}; - for stdout."
    return option("-o", "--output", type=path_type, metavar="FILE", required=True, help=text)


def folder_option(what: str, default: str | None = None, required: bool = True) -> Any:
    """Declare `-o` for a folder, which may be required if it has no default."""
    settings = {"required": required} if default is None else {"default": default, "show_default": True}
    text = f"Folder for {what}."
    return option("-o", "--output", type=path_type, metavar="FOLDER", callback=_no_stdout, help=text, **settings)


def _no_stdout(context: click.Context, parameter: click.Parameter, folder: Path | None) -> Path | None:
    if str(folder) == "-":
        raise click.BadParameter("expected a folder, got - (stdout). Name a folder.", context, parameter)
    return folder


def measures_option(default: tuple[str, ...]) -> Any:
    """Declare `-m`, which can be repeated."""
    return option(
        "-m",
        "--measure",
        metavar="MEASURE",
        multiple=True,
        help=f"Measure by its ir_measures or trec_eval name, e.g. nDCG@10, P.5,10 or all_trec. Repeatable.  "
        f"[default: {' '.join(default)}]",
    )


def metric_option(*names: str, use: str = "to optimise: AP, ERR@20, RBP(p=0.8), ...") -> Any:
    """Declare `--metric`."""
    return option(*names, "--metric", metavar="MEASURE", default="nDCG@10", show_default=True, help=f"Measure {use}")


def depth_option(default: int | None = 1000) -> Any:
    """Declare `-k`; by default that of the model's training where there is no other default."""
    return option(
        "-k",
        "--hits",
        type=Whole(),
        metavar="N",
        default=default,
        show_default=default is not None,
        help="Documents to retrieve per query."
        if default
        else "Documents to rerank per query.  [default: as in training]",
    )


def read_named_runs(pairs: tuple[str, ...]) -> dict[str, Run]:
    """Return the runs of NAME=FILE, by name."""
    from rerank.files.trec import read_run

    runs: dict[str, Run] = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not name.isidentifier() or not equals or not file or name in runs:
            raise InvalidInputError(
                f"--run: expected NAME=FILE with a name of letters and digits, each once, got {pair!r}. "
                "Write e.g. dense=dense.run."
            )
        runs[name] = read_run(file)
    return runs


def split_base(base: str) -> tuple[str, str]:
    """Return kind and name of `feature:NAME`, `run:FILE` or `model:FILE`; `unsupervised` and `none` have no name."""
    kind, colon, name = base.partition(":")
    if base not in BASES and (kind not in {"feature", "run", "model"} or not colon or not name):
        raise InvalidInputError(
            f"--base: expected feature:NAME, run:FILE, model:FILE, unsupervised or none, got {base!r}. Write e.g. "
            "feature:bm25.contents."
        )
    return kind, name


def base_run_option() -> Any:
    """Declare `--base run:FILE` of the verbs that apply a model; see `read_base_run`."""
    return option("--base", metavar="run:FILE", help="Run that the model was warm-started from.")


def read_base_run(base: str | None) -> Run | None:
    """Return the run of `--base run:FILE`, for a model that was warm-started from a run."""
    if base is None:
        return None
    from rerank.files.trec import read_run

    kind, name = split_base(base)
    if kind != "run":
        raise InvalidInputError(
            f"--base: expected run:FILE here, got {base!r}. Features and models are stored in the model itself."
        )
    return read_run(name)


def base_file(base: str | None, base_run: Any) -> dict[str, str]:
    """Return the file of a base run, by what errors call the run."""
    name = getattr(base_run, "name", None)
    return {f"base run {name}": split_base(base)[1]} if base and name else {}


def format_names() -> list[str]:
    """Return the names of all formats, in alphabetical order."""
    return _names(_REGISTERED, "rerank.exchange")


def engine_names() -> list[str]:
    """Return the names of all engines that compute features, in alphabetical order."""
    return _names(_ENGINE, "rerank.exchange")


def ranker_names() -> list[str]:
    """Return the names of all rankers, in alphabetical order."""
    return _names(_REGISTERED, "rerank.rankers")


def _names(line: re.Pattern[str], package: str) -> list[str]:
    """Return the names in such lines of a package's files, in alphabetical order."""
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    texts = (path.read_text("utf8") for folder in folders for path in Path(folder).glob("*.py"))
    return sorted(name for text in texts for name in line.findall(text))


ELSEWHERE = {"metric": "--metric", "base": "--base", "n_jobs": "--threads"}  # parameters with options of their own


@dataclass(frozen=True)
class RankerOptions:
    """Which ranker is trained, with which parameters, for which measure."""

    ranker: str = option(
        "--ranker", metavar="NAME", default="lambdamart", show_default=True, help="Ranker (see `rerank train -h`)."
    )
    parameters: tuple[str, ...] = option(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        multiple=True,
        help="Parameter of the ranker, e.g. num_leaves=15 (see `rerank train -h RANKER`). Repeatable.",
    )
    metric: str = metric_option()


def read_base(base: str) -> str | Run | Ranker | None:
    """Return the argument `base` of a ranker for `--base`."""
    if base == NO_BASE:
        return None
    kind, name = split_base(base)
    if kind == "feature" or base == UNSUPERVISED:
        return base
    if kind == "run":
        from rerank.files.trec import read_run

        return read_run(name)
    from rerank.rankers.store import read_model

    return read_model(name)


def new_ranker(options: RankerOptions, name: str, base: str, threads: int | None) -> Ranker:
    """Return the ranker of a name with the parameters of the options, not fitted."""
    from rerank.rankers.ranker import ranker_class

    parameters = given_parameters(name, options.parameters)
    learner = ranker_class(name)
    return learner(metric=options.metric, base=read_base(base), n_jobs=threads, **parameters)


def given_parameters(
    ranker: str,
    texts: Sequence[str],
    elsewhere: Mapping[str, str] = ELSEWHERE,
    more: Mapping[str, Field] | None = None,
) -> dict[str, Any]:
    """Return the hyper-parameters of `-p`.

    elsewhere  the options of those that `-p` does not take
    more       what `-p` takes whatever the ranker's parameters are
    """
    from rerank.rankers.parameters import read_parameters, read_value, remedy
    from rerank.rankers.ranker import ranker_class
    from rerank.runtime.schema import SchemaError

    verb = click.get_current_context().info_name
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
        return read_parameters(fields, values)
    except SchemaError as error:
        raise InvalidInputError(f"{verb}: -p {error.fault(f'See `rerank train -h {ranker}`.')}") from None


QUERY, DOCUMENT = 0, 2  # columns of a run


@contextmanager
def errors_with_files(files: Mapping[str, str | Path | None]) -> Iterator[None]:
    """Replace what an error is about by the name of its file, in the errors of the block.

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


def check_queries(run: Run, path: Path, topics: Topics, topics_path: Path) -> None:
    """Refuse a run with a query that has no topic; the error has the line of the run."""
    unknown = next((query_id for query_id in run if query_id not in topics), None)
    if unknown is not None:
        raise FileFormatError(
            path,
            _line(path, {QUERY: unknown}),
            f"expected queries of {topics_path}, got {unknown!r}. Give the topics that the run was made for.",
        )


def check_documents(run: Run, path: Path, index: Index) -> None:
    """Refuse a run with a document that is not in the index; the error has the line of the run."""
    import numpy as np

    unknown = np.flatnonzero(index.forward.doc_numbers(run.doc_ids) < 0)
    if len(unknown):
        query = int(np.searchsorted(run.query_ptr, unknown[0], side="right")) - 1
        doc_id = str(run.doc_ids[unknown[0]])
        raise FileFormatError(
            path,
            _line(path, {QUERY: str(run.query_ids[query]), DOCUMENT: doc_id}),
            f"expected documents of {index.path}, got {doc_id!r} ({len(unknown)} such rows in all). "
            "Use the index that the run was made on.",
        )


def _line(path: Path, values: Mapping[int, str]) -> int | None:
    """Return the first line of a run with these values by column; the file is read again only for an error."""
    from rerank.files.source import text_lines

    for line, text in text_lines(path):
        columns = text.encode().split()  # at ASCII white space, as runs are
        if len(columns) > max(values) and all(columns[column] == value.encode() for column, value in values.items()):
            return line
    return None


def cluster_option() -> Any:
    """Declare `--cluster`."""
    return option(
        "--cluster",
        metavar="ADDRESS|local:N|FILE.toml",
        help="Run on a Dask cluster: address of its scheduler, N local processes, or a file with address and TLS.",
    )


@contextmanager
def opened_cluster(address: str | None) -> Iterator[Cluster | None]:
    """Yield the cluster of `--cluster`, None where there is none."""
    if address is None:
        yield None
        return
    from rerank.cluster.cluster import Cluster

    with Cluster(address) as cluster:
        yield cluster


@contextmanager
def opened_index(path: Path, cluster: Cluster | None = None, **options: Any) -> Iterator[Index]:
    """Yield an index: that of this process, or one whose work is done by a cluster."""
    from rerank.index.index import Index

    opened = Index.open(path, **options) if cluster is None else cluster.open(path, **options)
    with opened as index:
        yield index


@dataclass(frozen=True)
class CandidateOptions:
    """Options of the verbs that apply a model to an index: where candidates come from, and what the model needs."""

    run_files: tuple[str, ...] = option(
        "--run",
        metavar="[NAME=]FILE",
        multiple=True,
        help="Run with the candidates, instead of retrieving them; NAME=FILE is a run whose scores the model uses as "
        "features. Repeatable.",
    )
    base: str | None = base_run_option()
    other_index: bool = option("--other-index", is_flag=True, help="Allow a model that was trained on another index.")
    k: int | None = depth_option(None)
    functions: tuple[Path, ...] = functions_option()
    threads: int | None = threads_option()


@dataclass(frozen=True)
class ModelOptions(CandidateOptions):
    """Arguments and options of the verbs that apply a model to an index."""

    index: Path = path_argument()
    model: Path = path_argument()
    topics: Path = path_argument()

    def ranker(self) -> Ranker | str:
        """Return the model of the file MODEL, or the name of the unsupervised ranking."""
        from rerank.rankers.store import read_model

        return UNSUPERVISED if self.model == Path(UNSUPERVISED) else read_model(self.model)

    def run_file(self) -> Path | None:
        """Return the file of candidates of `--run`, that without a name; None if there is none."""
        files = [Path(item) for item in self.run_files if "=" not in item]
        if len(files) > 1:
            raise click.UsageError(
                f"--run: expected one file of candidates, got {len(files)}. Give others as NAME=FILE."
            )
        return files[0] if files else None

    def opened(self, cluster: Cluster | None = None) -> AbstractContextManager[Index]:
        """Return the opened index, with the runs of `--run` that have a name."""
        runs = read_named_runs(tuple(item for item in self.run_files if "=" in item))
        check = not self.other_index
        return opened_index(self.index, cluster, runs=runs, threads=self.threads, check_models=check)

    def check_candidates(self, run: Run | None, topics: Topics, index: Index) -> None:
        """Refuse candidates of `--run` with a query that has no topic, or a document that is not in the index."""
        file = self.run_file()
        if run is not None and file is not None:
            check_queries(run, file, topics, self.topics)
            check_documents(run, file, index)

    def files(self, base_run: Run | None) -> dict[str, str | Path | None]:
        """Return the file of each object that errors are about, for `errors_with_files`."""
        run = self.run_file()
        of_model = dict.fromkeys(("model", "data", "recipe", "base", "candidates"), self.model)
        return {**of_model, "run": run, **base_file(self.base, base_run)}
