"""Print through which functions the arguments of `rerank.rerank` are handed on, and where they are handed upwards.

Run: scripts/trace_parameters.py [topics] [model] [run]     # all three by default; without run, one is retrieved
Stops are the functions of the package that are called with the argument: with the path that is given, which is then
read, or with the record that it becomes (Topics, Ranker, Run; as `self` it does not count). A climb is a stop in a
higher package than that of the caller, by the table of CONTRIBUTING.md.
"""

from __future__ import annotations

import random
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import rerank
from rerank.files.topics import write_topics
from rerank.rankers.ranker import Ranker

ROOT = Path(rerank.__file__).resolve().parent
RECORDS: dict[str, type[Any]] = {"topics": rerank.Topics, "model": Ranker, "run": rerank.Run}
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty")


def main() -> None:
    """Print the stops of the arguments that are named."""
    names = sys.argv[1:] or list(RECORDS)
    unknown = [name for name in names if name not in RECORDS]
    if unknown:
        sys.exit(f"trace_parameters.py: expected {', '.join(RECORDS)}, got {unknown[0]}.")
    heights = packages_by_height()
    with TemporaryDirectory() as folder:
        given = files(Path(folder))
        if "run" not in names:
            del given["run"]
        traces = {name: Trace(given[name], RECORDS[name], heights) for name in names}
        rerank.rerank(**given)  # what is imported and compiled at the first call is not traced
        sys.setprofile(lambda frame, event, _: [each.see(frame) for each in traces.values() if event == "call"])
        try:
            rerank.rerank(**given)
        finally:
            sys.setprofile(None)
    for name, trace in traces.items():
        modules = {stop.rpartition(".")[0] for stop in trace.stops}
        n_read, n_climbs = len(trace.as_path), sum(trace.stops.values())
        print(f"{name}: {len(trace.stops)} stops ({n_read} as a path) in {len(modules)} modules, {n_climbs} climbs")
        print("".join(f"  {stop}{' (climb)' * is_climb}\n" for stop, is_climb in trace.stops.items()))


@dataclass(eq=False)
class Trace:
    """The functions that were called with a path or with a record of its kind; whether each was a climb."""

    path: Path
    record: type[Any]
    heights: dict[str, int]
    stops: dict[str, bool] = field(default_factory=dict)
    as_path: set[str] = field(default_factory=set)

    def see(self, frame: FrameType) -> None:
        """Note a function that has just been called."""
        module, code = module_of(frame), frame.f_code
        if module is None or code.co_name.startswith("<"):
            return
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = [frame.f_locals.get(name) for name in names if name != "self"]
        is_path = any(isinstance(value, Path) and value == self.path for value in values)
        if is_path or any(isinstance(value, self.record) for value in values):
            caller = frame.f_back
            while caller is not None and module_of(caller) is None:
                caller = caller.f_back
            below = self.height(module) if caller is None else self.height(str(module_of(caller)))
            self.stops.setdefault(f"{module}.{code.co_qualname}", self.height(module) > below)
            self.as_path.update([f"{module}.{code.co_qualname}"] if is_path else [])

    def height(self, module: str) -> int:
        """Return the height of a module's package."""
        return self.heights[module.partition(".")[0]]


def module_of(frame: FrameType) -> str | None:
    """Return the name of a frame's module within the package; None for any other."""
    file = Path(frame.f_code.co_filename)
    return ".".join(file.relative_to(ROOT).with_suffix("").parts) if file.is_relative_to(ROOT) else None


def packages_by_height() -> dict[str, int]:
    """Return the height of each package, from the table of CONTRIBUTING.md."""
    text = (ROOT.parent / "CONTRIBUTING.md").read_text("utf8")
    rows = re.findall(r"^ *\| (`.*`) \|", text, re.MULTILINE)
    return {name: -number for number, row in enumerate(rows) for name in re.findall(r"`(\w+)`", row)}


def files(folder: Path) -> dict[str, Path]:
    """Write an index, a model, topics and a run; return the arguments of `rerank.rerank`."""
    draw = random.Random(0)
    documents = [{"id": f"d{number}", "text": " ".join(draw.choices(WORDS, k=8))} for number in range(60)]
    topics = {f"q{number}": word for number, word in enumerate(WORDS)}
    labels = {name: {each["id"]: each["text"].count(word) for each in documents} for name, word in topics.items()}
    names = ("index", "model.json", "topics.tsv", "bm25.run")
    given = {name.partition(".")[0]: folder / name for name in names}
    given["run"] = given.pop("bm25")
    with rerank.Index.build(documents, given["index"]) as index:
        run = index.search(topics)
        rerank.LambdaMART(n_estimators=2).fit(index.features(run, topics, labels)).save(given["model"])
    rerank.write_run(run, given["run"])
    write_topics(topics, given["topics"])
    return given


if __name__ == "__main__":
    main()
