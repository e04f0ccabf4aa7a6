"""Time every reader of a file on inputs of repeated tokens: the time of twice the bytes is about twice the time.

    python -m tests.fuzz.complexity [--reader NAME ...] [--token TOKEN ...] [--most BYTES] [--seconds 0.05] [--text]

A token is repeated at several positions of a file that the reader takes. Sizes double up to `--most` bytes. A pair of
reader and token is quadratic where the time grows by more than 2.6 in each of two doublings in a row, the last of which
takes more than `--seconds`, and does so again. `--text` leaves out the readers whose seeds need Java or a fitted model.
Ends with 1 where a pair is quadratic or an input takes over 5 s.
"""

from __future__ import annotations

import argparse
import gc
import logging
import re
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from tests.fuzz import files as fuzz

if TYPE_CHECKING:
    from tests.fuzz.readers import Reader

STEEPEST = 2.6  # growth of the time in a doubling; 2 is linear, 4 quadratic
LONGEST = 5.0  # seconds for one input
FIRST_BYTES = 1 << 13
clock = time.process_time
POSITIONS = 4  # in a seed, besides its beginning and its end
LARGEST_SEED = 1 << 14
PACKED = (b"\x1f\x8b", b"PK")  # gzip, zip: their seeds are timed as they are
# Without recipes: dotted keys of TOML take quadratic time in Python's own parser.
TEXT_READERS = (
    "qrels", "run", "topics", "svmlight", "preferences", "folds", "corpus", "texts", "names", "documents",
)  # fmt: skip

# Name of a token -> the token; %d is the number of the repetition.
TOKENS = {
    "<top ": "<top ", "<top>": "<top>", "<num>": "<num>", "<title>": "<title>", "</top ": "</top ", "<!--": "<!--",
    "<": "<", "<DOC>": "<DOC>", "<DOC ": "<DOC ", "</DOC>": "</DOC>", "<DOCNO>": "<DOCNO>", "<DOCNO ": "<DOCNO ",
    "<TEXT ": "<TEXT ", "<a>": "<a>", "<split>": "<split>", "document": "<DOC><DOCNO>%d</DOCNO></DOC>",
    '{"a":': '{"a":', "[": "[", "{": "{", '"': '"', "'": "'", "\\": "\\", "\\u0041": "\\u0041", "1,": "1,",
    "[],": "[],",
    "keys": '"k%d":1,', "one key": '"k":1,', "a.": "a.", "dotted keys": "a%d.", "tables": "\n[t%d]\n", "[a.": "[a.",
    "a = {": "a = {", "lines of keys": "\na%d = 1\n", "quotes": '"""', "\\t": "\t", "space": " ", "\\n": "\n",
    "\\r\\n": "\r\n",
    "digits": "1", "point": "1.", "minus": "-", "comma": ",", "colon": ":", "1:1 ": "1:1 ", "features": "%d:1 ",
    "#": "#", "comments": "#\n", "docid = ": "docid = ", "docid": "docid", "base = ": "docid = a base = ",
    "letters": "a",
    "é": "é", "rows": "\n0 qid:%d 1:1", "columns": "a\tb\tc\t", "triples": "\nq%d\td1\td2", "judgements": "\nq%d 0 d 1",
    "ranked": "\nq%d Q0 d 1 1 t", "pairs": "\nq%d\t1", "objects": '\n{"id":"x%d","text":"a"}',
    "names": "n%d ", "trees": "Tree=%d\n",
}  # fmt: skip


class TooLong(BaseException):
    """An input took longer than it may."""


@dataclass(frozen=True)
class Growth:
    """Seconds by bytes of the inputs of one reader and token at one position, and whether they are quadratic."""

    seconds: dict[int, float]
    quadratic: bool


def repeated(token: str, n_bytes: int) -> bytes:
    """Return a token so often that it has about n bytes."""
    count = max(n_bytes // len(token.encode()), 1)
    if "%d" not in token:
        return token.encode() * count
    parts = [(token % number).encode() for number in range(count)]
    return b"".join(parts)[:n_bytes]


def positions(text: bytes) -> list[int]:
    """Return where tokens are put in a text: its ends, and some boundaries of words between them."""
    boundaries = [match.end() for match in re.finditer(rb"[^\w\s]+|\s+", text)]
    step = max(len(boundaries) // POSITIONS, 1)
    return sorted({0, len(text), *boundaries[: POSITIONS * step : step]})


def templates(seed: bytes) -> Iterator[Callable[[bytes], bytes]]:
    """Yield functions that put a repeated token into a text."""
    seed = seed[:LARGEST_SEED]
    for at in positions(seed):
        yield lambda payload, at=at: seed[:at] + payload + seed[at:]


def seconds_of(reader: Reader, path: Path, data: bytes, repeats: int = 1) -> float:
    """Return the least processor seconds that a reader takes for an input, LONGEST where it does not end."""
    from rerank.errors import RerankError

    path.write_bytes(data)
    best = LONGEST
    for _ in range(repeats):
        start = clock()
        signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
        try:
            with suppress(RerankError):
                reader.read(path)
        except TooLong:
            return LONGEST
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        best = min(best, clock() - start)
    return best


def growth(reader: Reader, path: Path, make: Callable[[int], bytes], most: int, least_seconds: float) -> Growth:
    """Time inputs of four times the size while they are fast, and of twice the size then."""
    seconds, size = {FIRST_BYTES: seconds_of(reader, path, make(FIRST_BYTES))}, FIRST_BYTES
    while size < most and seconds[size] < least_seconds:
        size = min(4 * size, most)
        seconds[size] = seconds_of(reader, path, make(size))
    if seconds[size] < least_seconds:
        return Growth(seconds, False)
    while seconds[size] < LONGEST / 4 and size < most:  # a small square is hidden by what is in proportion
        size *= 2
        seconds[size] = seconds_of(reader, path, make(size))
    for repeats in (1, 3):
        seconds |= {part: seconds_of(reader, path, make(part), repeats) for part in (size // 4, size // 2, size)}
        first, second, third = (seconds[part] for part in (size // 4, size // 2, size))
        if not (third >= LONGEST or (second > STEEPEST * first and third > STEEPEST * second)):
            return Growth(seconds, False)
    return Growth(seconds, True)


def check(
    name: str, reader: Reader, folder: Path, tokens: dict[str, str], options: argparse.Namespace
) -> list[list[Any]]:
    """Return a row for each token that is quadratic, and one for the slowest token of the reader."""
    slowest: tuple[float, str, int] = (0.0, "", 0)
    rows = []
    seeds = [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]
    puts = [put for seed in seeds if not seed.startswith(PACKED) for put in templates(seed)]
    path = folder / reader.name
    for seed in seeds:  # compiles kernels, and fills caches
        seconds_of(reader, path, seed)
    for token, text in tokens.items():
        for put in puts[:: 3 if options.text else 1]:
            found = growth(reader, path, lambda size: put(repeated(text, size)), options.most, options.seconds)  # noqa: B023
            size = max(found.seconds)
            slowest = max(slowest, (found.seconds[size] / size, token, size))
            if found.quadratic:
                times = " ".join(f"{bytes_ >> 10}k:{took:.3f}" for bytes_, took in sorted(found.seconds.items()))
                rows.append([name, token, "quadratic", times])
                path.with_name(f"quadratic-{len(rows)}").write_bytes(put(repeated(text, 200)))
                break
    rate, token, size = slowest
    return [*rows, [name, token, "slowest", f"{rate * (1 << 20):.2f} s a MB at {size >> 10}k"]]


def main() -> None:
    """Time all readers and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", action="append", metavar="NAME", help="one reader, or all whose names begin so")
    parser.add_argument("--token", action="append", metavar="TOKEN", help="the name of a token; may be repeated")
    parser.add_argument("--most", type=int, default=1 << 19, help="bytes of the largest input")
    parser.add_argument("--seconds", type=float, default=0.05, help="the least time that is taken for a sign")
    parser.add_argument("--text", action="store_true", help="only readers of text, at every third position")
    options = parser.parse_args()
    options.minutes, options.jobs, options.findings, options.seed = 1.0, 1, Path("fuzz-findings"), 0
    from tests.fuzz.readers import READERS

    def give_up(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, give_up)
    gc.freeze()
    logging.getLogger("rerank").addHandler(logging.NullHandler())
    warnings.simplefilter("ignore")
    names = [name for name, reader in READERS.items() if not reader.java and (not options.text or name in TEXT_READERS)]
    names = [name for name in names if not options.reader or name.startswith(tuple(options.reader))]
    tokens = {name: token for name, token in TOKENS.items() if not options.token or name in options.token}
    rows: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for job in fuzz.prepare(names, Path(scratch), options):
            rows += check(job.name, job.reader, job.folder, tokens, options)
            print(tabulate(rows[-1:], tablefmt="plain"), flush=True)
    print(tabulate(rows, headers=["reader", "token", "", "seconds"]))
    quadratic = sum(row[2] == "quadratic" for row in rows)
    print(f"{len(names)} readers, {len(tokens)} tokens: {quadratic} quadratic")
    sys.exit(1 if quadratic else 0)


if __name__ == "__main__":
    main()
