"""Every option that takes a number, of every verb, with numbers that no run needs and with what is no number."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import click
import pytest

from rerank.cli.main import VERBS, cli
from tests.cli.conftest import SMALL, Command

# A command line of each verb that has such an option; {out} is a new path.
LINES = {
    "index": "corpus.jsonl -o {out}",
    "vectors": "{own}",
    "retrieve": "index topics.tsv -o {out}",
    "features": "index topics.tsv bm25.run -o {out}.npz",
    "history": "{own} topics.tsv qrels.txt",
    "judge": "index topics.tsv -o {out}",
    "clicks": "clicks.jsonl -o {out}",
    "train": f"index topics.tsv qrels.txt -o {{out}} --candidates bm25:5,rm3:5 --no-estimate {' '.join(SMALL)}",
    "rank": "model.json data.npz -o {out}",
    "rerank": "index model.json topics.tsv -o {out}",
    "search": "index model.json amber",
    "explain": "index model.json topics.tsv --query q1 --documents d1",
    "serve": "index model.json",
    "export": "model.json -o {out} --to lightgbm",
    "import": "model.json -o {out}",
    "evaluate": "qrels.txt bm25.run bm25.run",
    "fuse": "bm25.run bm25.run -o {out}",
    "experiment": f"index topics.tsv qrels.txt -o {{out}} -k 5 {' '.join(SMALL)}",
}
NUMBERS = ("nan", "inf", "-inf", "1e39", "1e308", "-1", "0", "9" * 400, "", "1e", "text")
# Options that hold numbers among other text, each up to the number.
PARTS = {
    "serve": ["--limit=deadline=", "--limit=queue=", "--limit=documents=", "--limit=body="],
    "experiment": ["-prandom_state=", "--folds="],
}
TYPES = (click.types.IntParamType, click.types.FloatParamType)


def _options() -> list[tuple[str, str]]:
    return [
        (verb, option.opts[0])
        for verb in VERBS
        for option in cli.get_command(None, verb).params  # type: ignore[arg-type,union-attr]
        if isinstance(option, click.Option) and isinstance(option.type, TYPES)
    ] + [(verb, option) for verb in PARTS for option in PARTS[verb]]


@pytest.mark.parametrize("text", NUMBERS, ids=[text[:8] or "empty" for text in NUMBERS])
@pytest.mark.parametrize(("verb", "option"), _options(), ids=lambda part: part)
def test_a_number_is_refused_in_one_line_or_used(
    verb: str, option: str, text: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rerank.service.server.serve", lambda *arguments, **options: None)
    own = tmp_path / "own-index"
    if "{own}" in LINES[verb]:  # what is learned is kept with the index
        shutil.copytree("index", own)
    line = LINES[verb].format(out=tmp_path / "out", own=own).split()
    given = [f"{option}{text}"] if option.endswith(("=", ":")) else [option, text]
    done = command("-q", verb, *line, *given)
    assert done.code in (0, 2), done
    if done.code == 2:
        assert re.fullmatch(r"rerank: [^\n]+\n", done.err), done.err
        assert done.out == ""
    else:
        assert text not in ("nan", "-inf", "", "1e", "text")
