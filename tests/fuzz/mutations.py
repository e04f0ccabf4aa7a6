"""Mutations of inputs that keep most of their structure: text by line and token, JSON by value, arrays, archives.

Each function takes the bytes of an input and a random generator and returns new bytes; all are deterministic.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

Mutation = Callable[[bytes, Random], bytes]

NUMBERS = (
    "0", "-0", "1", "-1", "2", "3", "0.5", "1e-320", "1e38", "3.5e38", "1e308", "1e309", "-1e999", "nan", "NaN",
    "-nan", "inf", "-Infinity", "1_000", "0x10", "007", "+1", "1.", ".5", "1e", "١٢", "²", "True", "null", "none",
    "--1", "1,5", "127", "128", "255", "256", "32767", "65536", "2147483647", "2147483648", "-2147483649",
    "4294967296", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809",
    "1" * 400, "0." + "1" * 400,
)  # fmt: skip
WORDS = (
    "", "#", "# rerank: {", "qid:", "qid:1", "qid:#", "1:", ":1", "1:nan", "0:1", "16777216:1", "docid",
    "# docid = d1", "base = 1", "# features:", "Q0", "<top>", "</top>", "<num>", "<title>", "<DOC>", "</DOC>",
    "<DOCNO>", "[]", "{}", '"', "'", "\\", "é", "流れ", "😀", "\u2028", "\x85", "\xa0", "\ufeff", "\x00", "\x0b",
    "\x0c", "\x1b[31m", "a" * 600,
)  # fmt: skip
RAW = (b"\x80", b"\xff\xfe", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\x1f\x8b", b"PK\x03\x04", b"\0")
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 1e-320, 1e+38, 3.5e+38, 1e+308, float("nan"), float("inf"),
    float("-inf"), 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, -(2**63) - 1, 10**400, "", "0", "none", "a b",
    "\xe9\n", "\ud800", "x" * 600, [], {}, [[]], [0], [None], ["a"], [1, "a"], [[1.0], [1.0, 2.0]], {"a": 1},
    {"": None}, [[[[[[[[]]]]]]]],
)  # fmt: skip
SEPARATORS = (b" ", b"\t", b"  ", b"", b"\r", b"\x0b", b"\xc2\xa0", b"\n", b"\n\n", b",", b"=")
DTYPES = (
    "<i4", "<i8", ">i4", ">i8", "<u4", "<u8", "|i1", "|u1", "<f2", "<f4", "<f8", ">f8", "<c16", "|b1", "<U1", "<U0",
    ">U3", "|S1", "|S8", "|S0", "<M8[s]", "<m8", "|V8", "|O", "<f16", "[('a', '<i4'), ('b', '<f8')]",
)  # fmt: skip
LONGEST = 1 << 20  # bytes of an input


def mutate_bytes(data: bytes, random: Random) -> bytes:
    """Flip, cut, repeat, insert or overwrite some bytes."""
    out = bytearray(data or b"\n")
    for _ in range(random.choice((1, 1, 2, 5))):
        at, length = random.randrange(len(out) + 1), random.choice((1, 1, 2, 4, 8, 64))
        how = random.randrange(6)
        if how == 0 and at < len(out):
            out[at] ^= 1 << random.randrange(8)
        elif how == 1:
            out[at : at + length] = b""
        elif how == 2:
            out[at:at] = out[at : at + length]
        elif how == 3:
            out[at:at] = random.choice(RAW)
        elif how == 4:
            out[at : at + length] = random.randbytes(length)
        else:
            del out[at:]
        out = out or bytearray(b"\n")
    return bytes(out)


def mutate_text(data: bytes, random: Random) -> bytes:
    """Change lines, words or white space; sometimes bytes, or all of it to gzip."""
    if data.startswith(b"\x1f\x8b") and random.random() < 0.8:
        with suppress(Exception):
            return gzip.compress(mutate_text(gzip.decompress(data)[:LONGEST], random), 1, mtime=0)
    for _ in range(random.choice((1, 1, 1, 1, 2))):
        data = random.choice((_lines, _lines, _words, _words, _words, _spaces, mutate_bytes))(data, random)
    if random.random() < 0.03:
        packed = gzip.compress(data, 1, mtime=0)
        data = packed if random.random() < 0.3 else mutate_bytes(packed, random)
    return data[:LONGEST]


def _lines(data: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    at, to = random.randrange(len(lines)), random.randrange(len(lines))
    how = random.randrange(7)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(to, lines[at])
    elif how == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif how == 3:
        lines[at] += lines[to]
    elif how == 4:
        lines[at] = random.choice(WORDS).encode("utf8") + lines[at]
    elif how == 5:
        lines.insert(at, b" ".join(_word(random) for _ in range(random.randrange(8))))
    else:
        lines = lines[: at + 1]
    return b"\n".join(lines)


def _words(data: bytes, random: Random) -> bytes:
    """Replace, swap, drop, repeat or extend words; numbers rather become other numbers."""
    parts = re.split(rb"(\s+|(?<=[:=,])|(?=[:=,]))", data)
    positions = [position for position in range(0, len(parts), 2) if parts[position]]
    if not positions:
        return _word(random)
    at, to = random.choice(positions), random.choice(positions)
    how = random.randrange(6)
    if how == 0:
        parts[at], parts[to] = parts[to], parts[at]
    elif how == 1:
        parts[at] = parts[to]
    elif how == 2:
        parts[at] = b""
    elif how == 3:
        parts[at] += random.choice((b" ", b"\t", b"")) + _word(random)
    else:
        number = re.fullmatch(rb"[-+.\deE]+", parts[at]) is not None and random.random() < 0.8
        parts[at] = random.choice(NUMBERS).encode("utf8") if number else _word(random)
    return b"".join(part or b"" for part in parts)


def _word(random: Random) -> bytes:
    kind = random.random()
    if kind < 0.1:
        return random.choice(RAW)
    return random.choice(NUMBERS if kind < 0.5 else WORDS).encode("utf8")


def _spaces(data: bytes, random: Random) -> bytes:
    gaps = list(re.finditer(rb"\s+", data))
    if not gaps:
        return data + random.choice(SEPARATORS)
    gap = random.choice(gaps)
    if random.random() < 0.1:  # all alike
        return data.replace(gap[0], random.choice(SEPARATORS))
    return data[: gap.start()] + random.choice(SEPARATORS) + data[gap.end() :]


def mutate_json(data: bytes, random: Random) -> bytes:
    """Replace, drop, swap or repeat values and keys of a JSON document; now and then its text."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_text(data, random)
    if random.random() < 0.12:
        return mutate_text(data, random)
    holder = [value]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        change_value(holder, random)
    text = json.dumps(holder[0])
    if random.random() < 0.01:
        text = text.replace("[", "[" * 501, 1)
    return text.encode("utf8")[:LONGEST]


def mutate_json_lines(data: bytes, random: Random) -> bytes:
    """Change a line as JSON, or the lines as text."""
    lines = data.split(b"\n")
    if random.random() < 0.4:
        return mutate_text(data, random)
    at = random.randrange(len(lines))
    lines[at] = mutate_json(lines[at], random)
    return b"\n".join(lines)[:LONGEST]


def change_value(holder: list[Any], random: Random) -> None:
    """Change one value somewhere below holder[0], in place."""
    positions = _places(holder, random)
    parent, key = random.choice(positions)
    how = random.randrange(8)
    if how == 0 and parent is not holder:
        del parent[key]
    elif how == 1:
        other, other_key = random.choice(positions)
        parent[key] = json.loads(json.dumps(other[other_key]))
    elif how == 2 and isinstance(parent, list):
        parent.insert(key, json.loads(json.dumps(parent[key])) if parent is not holder else None)
    elif how == 3 and isinstance(parent, dict):
        parent[random.choice((*parent, "x", "", "learned", "format"))] = parent.pop(key)
    elif how == 4 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        near = parent[key] if abs(parent[key]) < 1e300 else 0
        parent[key] = random.choice((near + 1, near - 1, -near, near * 2, near + 0.5, near * 1e30, str(near)))
    else:
        parent[key] = json.loads(json.dumps(random.choice(VALUES)))


def _places(holder: list[Any], random: Random) -> list[tuple[Any, Any]]:
    """Return (container, key) of some values: each level draws few of a long list, so that all parts are drawn."""
    positions, waiting = [], [holder]
    while waiting:
        parent = waiting.pop()
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        for key in random.sample(keys, min(len(keys), 12)):
            positions.append((parent, key))
            if isinstance(parent[key], dict | list):
                waiting.append(parent[key])
    return positions


def mutate_array(data: bytes, random: Random) -> bytes:
    """Change an .npy file: values to extremes, type or shape in its header, length of what follows, single bytes."""
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
        values = array.reshape(-1).copy()
    except Exception:
        return mutate_bytes(data, random)
    how = random.randrange(10)
    if how == 0:
        return mutate_bytes(data, random)
    if how == 1:
        return _with_header(data, array, random)
    if how == 2:
        return data[: random.randrange(len(data))] if random.random() < 0.5 else data + random.randbytes(8)
    if how == 3:
        return saved_array(_reshaped(values, array, random))
    if len(values):
        _change_values(values, random)
    return saved_array(values.reshape(array.shape))


def saved_array(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def _with_header(data: bytes, array: Any, random: Random) -> bytes:
    """Return the same bytes under another header."""
    begin = 10 + int.from_bytes(data[8:10], "little")
    shape = random.choice(
        (array.shape, (), (0,), (-1,), (2**62,), (len(array) if array.ndim else 1, 1), (1, 2, 3), (2**31, 2**33))
    )
    kind = random.choice(DTYPES) if random.random() < 0.7 else array.dtype.str
    kind = kind if kind.startswith("[") else repr(kind)
    header = f"{{'descr': {kind}, 'fortran_order': {random.random() < 0.2}, 'shape': {shape}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return data[:6] + b"\1\0" + len(header).to_bytes(2, "little") + header.encode("latin1") + data[begin:]


def _reshaped(values: Any, array: Any, random: Random) -> Any:
    how = random.randrange(6)
    if how == 0:
        return values[: random.randrange(len(values) + 1)]
    if how == 1:
        return np.concatenate([values, values[-1:]])
    if how == 2:
        return values.reshape(-1, 1)
    if how == 3:
        return np.asfortranarray(array)
    if how == 4 and array.dtype.kind not in "OV":
        kinds = [kind for kind in DTYPES if kind[0] != "[" and kind[1] not in "OV"]
        with np.errstate(all="ignore"):
            try:
                return array.astype(random.choice(kinds))
            except (ValueError, TypeError):
                return array
    return values[:0]


def _change_values(values: Any, random: Random) -> None:
    at, to = random.randrange(len(values)), random.randrange(len(values))
    kind, how = values.dtype.kind, random.randrange(4)
    if how == 0:
        values[[at, to]] = values[[to, at]]
    elif how == 1:
        values[min(at, to) : max(at, to)] = values[at : at + 1]  # no Python object: text may be invalid
    elif kind in "iu":
        limits = np.iinfo(values.dtype)
        near = (int(values[at]) + 1, int(values[at]) - 1, int(values[at]) * 2, len(values))
        new = random.choice((0, -1, 1, 1 << 20, limits.min, limits.max, *near))
        values[at] = min(max(new, limits.min), limits.max)
    elif kind == "f":
        with np.errstate(over="ignore"):  # a float16 holds no 1e30: infinity is as good
            values[at] = random.choice((np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e30, 1e-45, 2.0))
    elif kind == "U":
        values.view(np.uint32)[random.randrange(values.nbytes // 4)] = random.choice(
            (0, 32, 10, 65, 0xD800, 0x10FFFF, 0x110000, 2**32 - 1)
        )
    else:
        values.view(np.uint8)[random.randrange(values.nbytes)] ^= 1 << random.randrange(8)


def members(data: bytes) -> dict[str, bytes] | None:
    """Return the parts of a zip archive, None where it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return None


def archive_of(parts: Mapping[str, bytes]) -> bytes:
    """Return parts as a zip archive without compression or time."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


def mutate_archive(data: bytes, random: Random, of_bytes: float = 0.1, never: tuple[str, ...] = ()) -> bytes:
    """Change one part of an archive by what it holds, drop it, or put another's content under its name.

    of_bytes  share of the mutations that change the archive's bytes as they are
    never     parts that stay
    """
    parts = members(data)
    if parts is None or random.random() < of_bytes:
        return mutate_bytes(data, random)
    for _ in range(random.choice((1, 1, 1, 2))):
        names = [name for name in parts if name not in never]
        if not names:
            break
        name, other = random.choice(names), random.choice(names)
        how = random.random()
        if how < 0.03:
            del parts[name]
        elif how < 0.06:
            parts[name], parts[other] = parts[other], parts[name]
        elif how < 0.08:
            parts[name] = parts[other]
        else:
            parts[name] = _part_mutation(name)(parts[name], random)
    return archive_of(parts)[: 4 * LONGEST]


def _part_mutation(name: str) -> Mutation:
    if name.endswith(".json"):
        return mutate_json
    return mutate_about if name == "about.npy" else mutate_array if name.endswith(".npy") else mutate_bytes


def mutate_about(data: bytes, random: Random) -> bytes:
    """Change JSON that an array of bytes holds."""
    try:
        text = np.load(io.BytesIO(data), allow_pickle=False).tobytes()
    except Exception:
        return mutate_bytes(data, random)
    if random.random() < 0.2:
        return mutate_array(data, random)
    return saved_array(np.frombuffer(mutate_json(text, random), dtype=np.uint8))
