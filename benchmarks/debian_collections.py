"""Judged collections of Debian 12's packages, on which no default was chosen: programs, manual pages, Perl's questions.

Run: python -m benchmarks.debian_collections FOLDER, where apt-get is; then
python -m benchmarks defaults --data FOLDER --collection programs --collection manuals --collection perlfaq

programs  descriptions of packages with the tag role::program; topics are the tags of debtags, with the packages that
          people gave each tag
manuals   manual pages without their names and references; topics are the lines that say what a page describes, of 300
          pages drawn from those with 2 to 12 references: relevant are the page itself (2) and what it refers to (1)
perlfaq   sections of Perl's manual; topics are the questions of its FAQ, each with its answer, which lacks the question
"""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PACKAGES = (  # whose files are read; of the release 12
    "debtags=2.1.5", "perl-doc", "manpages=6.03-2", "manpages-dev=6.03-2", "coreutils", "git-man", "util-linux",
    "systemd", "postgresql-client-15", "tcl8.6-doc", "tk8.6-doc", "libx11-doc",
)  # fmt: skip
FACETS = {  # of tags that are topics, and a word that says what a tag of the facet is about, unless its line has it
    "use": "", "works-with": "", "field": "", "protocol": "", "game": "game", "web": "web", "mail": "mail",
    "network": "network", "sound": "sound", "works-with-format": "format", "hardware": "hardware",
    "devel": "development", "admin": "administration", "biology": "biology",
}  # fmt: skip
FEWEST, MOST = 3, 150  # relevant packages of a topic
N_REFERENCES = range(2, 13)  # of a page whose line is a topic
N_PAGES = 300
REFERENCE = re.compile(r"([\w.+-]+) ?\((\d\w*)\)")  # open(2)
MOST_TEXT = 6000  # characters of a manual page
LEAST_TEXT = 80  # of a section of Perl's manual


class Judged(NamedTuple):
    """A judged collection: documents by id, topics, and grades of documents by topic."""

    documents: dict[str, dict[str, str]]
    topics: dict[str, str]
    grades: dict[str, dict[str, int]]


def main(folder: Path) -> None:
    """Download the packages, and write the three collections in a folder, as `benchmarks defaults` reads them."""
    files, lists = folder / "packages", folder / "lists"
    download(files, lists)
    (index,) = lists.glob("*_bookworm_main_binary-amd64_Packages")
    (descriptions,) = lists.glob("*_bookworm_main_i18n_Translation-en")
    vocabulary = files / "usr/share/debtags/vocabulary"
    pages = [path for path in sorted(files.glob("usr/share/man/man*/*.gz")) if not path.is_symlink()]
    texts = {path.stem: gzip.decompress(path.read_bytes()).decode("utf8", "replace") for path in pages}
    pods = sorted(files.glob("usr/share/perl/*/pod/*.pod"))
    collections = {
        "programs": programs(*(path.read_text("utf8") for path in (index, descriptions, vocabulary))),
        "manuals": manuals(texts),
        "perlfaq": perlfaq({path.stem: path.read_text("utf8", "replace") for path in pods}),
    }
    for name, collection in collections.items():
        write(folder / "collections" / name, collection)


def download(files: Path, lists: Path) -> None:
    """Fetch the lists of the release with the ordinary client, and unpack the packages."""
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    files.mkdir(parents=True, exist_ok=True)
    options = ["-q", "-o", f"Dir::State::lists={lists.resolve()}", "-o", "Acquire::Languages=en"]
    options += ["-o", "Acquire::GzipIndexes=false"]
    subprocess.run(["apt-get", *options, "update"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["apt-get", *options, "download", *PACKAGES], check=True, cwd=files, stdout=subprocess.DEVNULL)
    for archive in sorted(files.glob("*.deb")):
        subprocess.run(["dpkg", "-x", archive, files], check=True)


def paragraphs(text: str) -> Iterator[dict[str, str]]:
    """Yield the fields of each paragraph of a control file; further lines of a field are kept, without their blank."""
    for paragraph in text.split("\n\n"):
        fields = re.findall(r"^([\w-]+): ?(.*(?:\n .*)*)", paragraph, re.MULTILINE)
        yield {name: value.replace("\n ", "\n") for name, value in fields}


def tags_of(field: str) -> Iterator[str]:
    """Yield the tags of the field `Tag`; a::{b,c} is short for a::b, a::c."""
    for part in re.findall(r"[^\s,{]+(?:\{[^}]*\})?", field):
        stem, _, several = part.rstrip("}").partition("{")
        yield from (stem + tag for tag in several.split(",")) if several else (stem,)


def programs(index: str, descriptions: str, vocabulary: str) -> Judged:
    """Return packages by tag; of several packages whose descriptions begin alike, the first is kept."""
    described: dict[str, str] = {}
    for entry in paragraphs(descriptions):
        if "Package" in entry:
            described.setdefault(entry["Package"], entry.get("Description-en", ""))
    documents: dict[str, dict[str, str]] = {}
    tagged: defaultdict[str, set[str]] = defaultdict(set)
    known = set()
    for entry in paragraphs(index):
        name, tags = entry.get("Package", ""), set(tags_of(entry.get("Tag", "")))
        title, _, text = described.get(name, "").partition("\n")
        text = " ".join(line for line in text.splitlines() if line != ".")
        if "role::program" not in tags or name in documents or not title or text[:200] in known:
            continue
        known.add(text[:200])
        documents[name] = {"title": title, "contents": f"{title} {text}"}
        for tag in tags:
            tagged[tag].add(name)
    topics = {}
    for entry in paragraphs(vocabulary):
        tag = entry.get("Tag", "")
        facet, (title, *_) = tag.partition("::")[0], entry.get("Description", "").split("\n")
        if facet in FACETS and FEWEST <= len(tagged[tag]) <= MOST and "Need an extra tag" not in title:
            word = FACETS[facet]
            topics[tag] = title if word in title.lower() else f"{title} {word}"
    return Judged(documents, topics, {tag: dict.fromkeys(sorted(tagged[tag]), 1) for tag in topics})


def manuals(pages: Mapping[str, str]) -> Judged:
    """Return manual pages by name; of several whose texts begin alike, the first is kept."""
    documents: dict[str, dict[str, str]] = {}
    lines: dict[str, str] = {}  # what each page says that it describes
    references: dict[str, list[str]] = {}
    known = set()
    for name, page in pages.items():
        _, *parts = re.split(r"^\.S[Hh] +(.*)\n", page, flags=re.MULTILINE)
        sections = {head.strip(' "').upper(): body for head, body in zip(parts[::2], parts[1::2], strict=True)}
        line = re.fullmatch(r".*? -+ (.*)", plain(sections.pop("NAME", "")))
        referred = REFERENCE.findall(plain(sections.pop("SEE ALSO", "")))
        text = " ".join(plain(body) for body in sections.values())[:MOST_TEXT]
        if line is None or text in known:
            continue
        known.add(text)
        documents[name], lines[name] = {"contents": text}, line[1]
        references[name] = list(dict.fromkeys(f"{page}.{section}" for page, section in referred))
    own = {name: [each for each in references[name] if each in documents and each != name] for name in documents}
    first_of = {line: name for name, line in reversed(lines.items()) if len(own[name]) in N_REFERENCES}
    chosen = random.Random(0).sample(sorted(first_of.values()), min(N_PAGES, len(first_of)))
    grades = {name: {name: 2} | dict.fromkeys(own[name], 1) for name in chosen}
    return Judged(documents, {name: lines[name] for name in chosen}, grades)


def plain(text: str) -> str:
    """Return the words of a part of a manual page, without its markup."""
    text = re.sub(
        r"^['.](?:\\\"|TH|PD|TP|RS|RE|nf|fi|in|ta|if|de|ne|sp|br).*$|^['.][A-Z][A-Za-z]?\b",
        "",
        text,
        flags=re.MULTILINE,
    )
    text = re.sub(r"\\(?:f.|&|\(..|\*.|s[+-]?\d|[a-z])", " ", text.replace("\\-", "-"))
    return " ".join(text.replace('"', " ").split())


def perlfaq(pods: Mapping[str, str]) -> Judged:
    """Return the sections of Perl's manual; those of its FAQ without their heads, which are the topics."""
    documents: dict[str, dict[str, str]] = {}
    topics: dict[str, str] = {}
    for name, pod in pods.items():
        _, *parts = re.split(r"^=head[12] (.*)$", pod, flags=re.MULTILINE)
        for number, (head, body) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
            section, question, text = f"{name}-{number}", of_pod(head), of_pod(body)
            if len(text) < LEAST_TEXT:
                continue
            is_question = re.match(r"perlfaq\d", name) is not None and question.endswith("?")
            documents[section] = {"contents": text if is_question else f"{question} {text}"}
            if is_question:
                topics[section] = question
    return Judged(documents, topics, {section: {section: 1} for section in topics})


def of_pod(text: str) -> str:
    """Return the words of a text in Perl's format of documentation."""
    text = re.sub(r"^=\w+.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"[A-Z]<<+\s(.*?)\s>>+", r"\1", text, flags=re.DOTALL)
    for _ in range(3):  # marks inside others
        text = re.sub(r"[A-Z]<([^<>]*)>", r"\1", text)
    return " ".join(text.split())


def write(folder: Path, collection: Judged) -> None:
    """Write corpus.jsonl, topics.tsv and qrels.txt; topics are numbered, so that their ids say nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    ids = {name: f"q{number}" for number, name in enumerate(sorted(collection.topics), start=1)}
    documents = (json.dumps({"id": name} | fields) + "\n" for name, fields in sorted(collection.documents.items()))
    topics = (f"{ids[name]}\t{collection.topics[name]}\n" for name in ids)
    judgements = (
        f"{ids[name]} 0 {document} {grade}\n" for name in ids for document, grade in collection.grades[name].items()
    )
    for name, lines in (("corpus.jsonl", documents), ("topics.tsv", topics), ("qrels.txt", judgements)):
        (folder / name).write_text("".join(lines), "utf8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
