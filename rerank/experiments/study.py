"""Settings of a study, and the folder of its files: `settings.json` has all that is needed to run it again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from rerank.errors import FileFormatError, InvalidInputError, MissingFileError, log, shown
from rerank.features.recipe import Recipe
from rerank.files.irds import data_set_name
from rerank.files.json_lines import json_object
from rerank.files.source import of_line, read_text
from rerank.lucene.folder import open_commit
from rerank.lucene.java_parts import anserini_version
from rerank.lucene.shards import index_folders
from rerank.metrics.registry import each_named, named
from rerank.rankers.parameters import declared_parameters
from rerank.rankers.ranker import Ranker, fitted_model, given_base
from rerank.rankers.registry import ranker_class
from rerank.runtime.codec import field_of, plain
from rerank.runtime.fields import Anything, Field, Items, Plain, Record, SchemaError, Table, Text, Whole, at
from rerank.runtime.output import path_of, sole_writer, staged_folder, write_text
from rerank.types import Run
from rerank.version import __version__

MEASURES = ("RR@10", "nDCG@10", "AP")
OF_FILES = (".csv", ".tsv", ".json", ".html", ".md", ".txt", ".tex", ".png", ".svg", ".pdf")  # no endings of folders
BASES = UNSUPERVISED, RUN, NO_BASE = "unsupervised", "run", "none"  # bases without `:NAME`
FILES = MODEL, OF_RUN = "model", "run:"  # bases that are objects: in settings, their paths are among the inputs
SYSTEMS = OF_BM25, FIRST_STAGE, FUSED, BASE = "BM25", "candidates", "RRF", "base"  # systems that learn nothing
OF_RANKER = {"metric": "metric", "random_state": "random_state", "n_jobs": "threads", "base": "base"}
CHECKED = ("k", "random_state", "threads", "tune")  # settings that are checked also outside `from_dict`


class _Folds(Field):
    """A number of folds, or the fold of each query."""

    def read(self, value: Any) -> Any:
        """Return the folds."""
        fold = Whole(0, 1_000_000)
        return Table(fold).read(value) if isinstance(value, Mapping) else fold.read(value)


@dataclass(frozen=True)
class Study:
    """Settings of a study, for `run_experiment`.

    Parameters
    ----------
    ranker : str or Ranker
        Name of the ranker, or one with its parameters, e.g. `LambdaMART(num_leaves=15)`. It is trained twice:
        without a base, and from `base`.
    metric : str
        Measure for training and early stopping.
    measures : tuple of str
        Measures of the evaluation.
    k : int
        Number of documents per query, from each source whose depth is not given.
    folds : int or mapping of str to int
        Number of folds, to which judged queries are assigned at random, stratified by their number of relevant
        documents; or the fold of each query, from 0.
    random_state : int
        Random seed of folds, tuning and rankers.
    threads : int or None
        Number of threads; None is all cores.
    parameters : mapping
        Hyper-parameters of the ranker that differ from its defaults.
    repeats : int
        Number of times that queries are assigned to folds, with random_state, random_state + 1, ...
    tune : int
        Number of settings of hyper-parameters to try in each fold, in addition to `parameters`; 0 for no tuning.
    recipe : Recipe or None
        The features; None is the default recipe, with features of similar judged queries as in `rerank.train`.
    candidates : str or None
        Sources of the documents that are reranked, see `Index.search`; None is the union of BM25, RM3 and, with
        vectors, the nearest documents, as in `rerank.train`. The baseline is BM25 with the k1 and b of the candidates.
    base : str, Ranker, Run, model of LightGBM or XGBoost, or None
        What the second system starts from: "unsupervised", "feature:NAME", "run" (the scores of the candidates),
        "model:FILE" or a fitted model, which is then a system, too, or "none" for no second system. None is
        "unsupervised" for an index and "none" for data. A run of another system, or
        "run:FILE", is a system, too. With "run", all candidates of an index are trained on, and a fold is always left
        to stop on; otherwise rankers are trained as `rerank.train` does, on the first 100 documents
        of each source, and the unsupervised ranking is a system, too.
    baseline : str or None
        System that the others are compared with; None is the base of the second system where it is a system, otherwise
        the first system.
    history : bool
        Whether features are also computed from judgements of training queries. The ranker is then also trained without
        them.

    """

    ranker: Annotated[Any, Text(100)] = "lambdamart"  # always a name once the study is made
    metric: Annotated[str, Text(1000)] = "nDCG@10"
    measures: Annotated[tuple[str, ...], Items(Text(1000))] = MEASURES
    k: Annotated[int, Whole(1, 2**31 - 1)] = 1000
    folds: Annotated[int | Mapping[str, int], _Folds()] = 5
    random_state: Annotated[int, Whole(0, 2**63)] = 0
    threads: Annotated[int | None, Whole(1, 1_000_000, optional=True)] = None
    parameters: Annotated[Mapping[str, Any], Table(Anything())] = field(default_factory=dict)
    repeats: Annotated[int, Whole(1, 1_000_000)] = 1
    tune: Annotated[int, Whole(0, 1_000_000)] = 0
    recipe: Annotated[Recipe | None, Plain()] = None
    candidates: Annotated[str | None, Anything()] = None
    base: Annotated[Any, field_of(str | None)] = None
    baseline: Annotated[str | None, field_of(str | None)] = None
    history: Annotated[bool, field_of(bool)] = True

    def __post_init__(self) -> None:
        """Take a ranker's settings, keep measures of ir_measures by their names, and check numbers and the base."""
        if isinstance(self.ranker, Ranker):
            for name, value in _settings_of(self.ranker, self.parameters).items():
                object.__setattr__(self, name, value)
        kind, _, name = str(self.base).partition(":")
        if isinstance(self.base, str) and self.base not in BASES and not (name and kind in ("feature", MODEL, RUN)):
            raise _unknown_base(self.base)
        Record({name: _STUDY.fields[name] for name in CHECKED}).read({name: getattr(self, name) for name in CHECKED})
        object.__setattr__(self, "metric", named(self.metric))
        object.__setattr__(self, "measures", tuple(each_named(self.measures)))

    @property
    def trained(self) -> dict[str, str | Ranker | None]:
        """What each system that is trained starts from, by its name in tables and files."""
        name = ranker_class(self.ranker).__name__
        base = self.base
        if base == NO_BASE:
            return {name: None}
        if isinstance(base, Ranker):
            kind = MODEL
        elif isinstance(base, Run):
            kind = RUN
        else:
            kind = OF_BM25 if base == RUN else str(base).partition(":")[0]
        return {name: None, "LambdaSMART" if name == "LambdaMART" else f"{name} from {kind}": base}

    @property
    def base_file(self) -> dict[str, Path]:
        """File of a base model:FILE or run:FILE, by its kind; empty for others."""
        kind, _, file = str(self.base).partition(":")
        return {kind: Path(file)} if kind in (MODEL, RUN) and file and isinstance(self.base, str) else {}

    def starting(self, default: str, names: tuple[str, ...] | None = None) -> Study:
        """Return the study with the fitted model that its base names, and a default base.

        Parameters
        ----------
        default : str
            The base if the study names none.
        names : tuple of str or None
            Names of the features, where they are known.

        Returns
        -------
        Study
            The study.

        """
        base = default if self.base is None else given_base(self.base, names)
        if not isinstance(base, str | Ranker | Run):
            raise _unknown_base(base)
        return replace(self, base=fitted_model(base) if isinstance(base, Ranker) else base)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; a model to start from is "model", a run "run:"; see `from_dict`.

        Returns
        -------
        dict
            The settings.

        """
        base = self.base
        if isinstance(base, Run) or str(base).startswith(OF_RUN):
            base = OF_RUN
        elif base is not None and (not isinstance(base, str) or base.startswith(f"{MODEL}:")):
            base = MODEL
        return {name: plain(value) for name, value in {**vars(self), "base": base}.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], model: Any = None) -> Study:
        """Return the study of plain values.

        Parameters
        ----------
        values : mapping
            What `to_dict` returned.
        model : Ranker, Run, str or None
            The model or run that the study starts from, or "model:FILE" or "run:FILE", where it starts from one.

        Returns
        -------
        Study
            The study.

        Raises
        ------
        InvalidInputError
            If a part is missing or invalid.

        """
        with at("study"):
            settings = _STUDY.read(values)
        recipe = None if settings["recipe"] is None else Recipe.from_dict(settings["recipe"])
        base = model if str(settings["base"]).startswith(FILES) and model is not None else settings["base"]
        return cls(**{**settings, "recipe": recipe, "base": base})


def _settings_of(ranker: Ranker, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a study that a ranker's parameters give: those that differ from their defaults."""
    defaults = {name: declared.default for name, declared in declared_parameters(type(ranker)).items()}
    values = ranker.get_params(deep=False)
    changed = {name: values[name] for name in defaults if values[name] is not defaults[name]}
    of_study = {setting: changed.pop(name) for name, setting in OF_RANKER.items() if name in changed}
    return {"ranker": ranker.kind, **of_study, "parameters": {**changed, **parameters}}


def _unknown_base(base: Any) -> InvalidInputError:
    return InvalidInputError(
        "base: expected unsupervised, run, none, feature:NAME, model:FILE, run:FILE, a fitted model or a run, got "
        f"{shown(base)}. Start from one of them."
    )


_STUDY = Record({name: field_of(kind) for name, kind in get_type_hints(Study, include_extras=True).items()})

FORMAT = "rerank study"
VERSION = 3
SETTINGS = "settings.json"
PACKAGES = ("numpy", "numba", "scipy")
_PATH = Text(10_000)
_INPUTS = {**dict.fromkeys(("index", "topics", "qrels", MODEL, RUN), _PATH), "data": Items(_PATH), "runs": Table(_PATH)}
_FILE = Record(
    {
        "format": Text(),
        "version": Whole(VERSION, VERSION),
        "versions": Table(Text(100)),
        "study": Plain(),
        "inputs": Record(_INPUTS, partial=True),
        "checksums": Record(_INPUTS, partial=True),
        "resources": Table(_PATH),
    }
)


def write_settings(
    staging: Path, folder: Path, study: Mapping[str, Any], inputs: Mapping[str, Any], resources: Mapping[str, str]
) -> None:
    """Write the settings of a study, the versions, and its inputs: data are several, runs have names.

    staging  where the file is written
    folder   of the study, from which the paths of the inputs are
    """
    stored = _paths(inputs, lambda path: Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix())
    base = study["base"]
    if base in FILES and (kind := base.rstrip(":")) in stored:
        base = f"{kind}:{stored[kind]}"
    settings = {
        "format": FORMAT,
        "version": VERSION,
        "versions": versions(),
        "study": {**study, "base": base},
        "inputs": stored,
        "checksums": _paths(inputs, _checksum),
        "resources": dict(resources),
    }
    write_text(staging / SETTINGS, json.dumps(plain(settings), indent=1) + "\n")


def read_settings(folder: Path) -> dict[str, Any]:
    """Read the settings in a study's folder, with the paths of its inputs from here; log inputs that have changed.

    Raises MissingFileError if there are none, FileFormatError if a part is missing or invalid.
    """
    path = folder / SETTINGS
    what = "a file that `rerank experiment` wrote"
    if not path.is_file():
        raise MissingFileError(path, what)
    try:
        settings = _FILE.read(of_line(path, None, json_object, read_text(path, what)))
    except SchemaError as error:
        raise FileFormatError(path, None, error.fault("Run the study again.")) from None
    settings["inputs"] = _paths(settings["inputs"], lambda part: os.path.normpath(folder.resolve() / part))
    now = _paths(settings["inputs"], _checksum)
    changed = [name for name, checksum in settings["checksums"].items() if now.get(name) != checksum]
    if changed:
        log.warning("%s: these inputs have changed since the study: %s", path, ", ".join(changed))
    return settings


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of the packages that results may depend on."""
    return {
        "python": platform.python_version(),
        "rerank": __version__,
        "anserini": anserini_version(),
        **{name: version(name) for name in PACKAGES},
    }


def _paths(path: Any, change: Callable[[Path], str]) -> Any:
    """Return paths, also those in mappings and lists, after `change`; names of data sets stay as they are."""
    if isinstance(path, Mapping):
        return {name: _paths(inner, change) for name, inner in path.items()}
    if isinstance(path, list | tuple):
        return [_paths(inner, change) for inner in path]
    return Path(path).as_posix() if data_set_name(path) else change(Path(path))


def _checksum(path: Path) -> str:
    """Return the sha256 of a file, or of the commit of an index; "none" for other folders."""
    if path.is_file():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return open_commit(path) if path.is_dir() and index_folders(path) else "none"


@contextmanager
def output_folder(path: str | Path | None) -> Iterator[Path | None]:
    """Yield the path of an output folder, which no other process may write until the block ends."""
    if path is None:
        yield None
        return
    folder = check_output_folder(path)
    with sole_writer(folder.resolve()):
        yield folder


def check_output_folder(path: str | Path) -> Path:
    """Return the path of an output folder, which may exist; refuse a file before the computation, not after it."""
    folder = path_of(path)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{folder}: expected a folder to write into, got a file. Name a folder.")
    if folder.suffix.lower() in OF_FILES and not folder.exists():
        raise InvalidInputError(f"{folder}: expected the name of a folder, got that of a file. Leave its ending out.")
    if (folder / SETTINGS).is_file():
        raise InvalidInputError(f"{folder}: expected a folder without a study, got one. Name another, or delete it.")
    return folder


def staged_output(folder: Path, last: str) -> AbstractContextManager[Path]:
    """Return a context: a new hidden folder, whose files are moved into `folder` if the block ends without an error.

    Other files in the folder stay as they are. The file `last` shows that the others are complete: an earlier one is
    removed before the files are moved, and the new one is moved after them.
    """
    target = folder.resolve()

    def move(staging: Path, target: Path) -> None:
        if not target.exists():
            os.rename(staging, target)
            return
        paths = sorted(staging.iterdir(), key=lambda path: path.name == last)
        for path in paths:
            if (target / path.name).is_dir():
                raise InvalidInputError(f"{target / path.name}: expected a file to write, got a folder. Remove it.")
        (target / last).unlink(missing_ok=True)
        for path in paths:
            shutil.move(path, (target / path.name).resolve())

    return staged_folder(target, move, InvalidInputError, within=target.is_dir())
