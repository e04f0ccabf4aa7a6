"""XML of trees as RankLib and QuickRank write it."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np

from rerank.errors import shown
from rerank.exchange.build import MOST_FEATURES
from rerank.exchange.nested import Leaf, Node, nested, tree_of
from rerank.exchange.registry import FormatFault
from rerank.exchange.text import decimal
from rerank.exchange.thresholds import Floats32
from rerank.trees.forest import Forest, Tree
from rerank.types import Floats

DEEPEST = 2000  # elements inside one another


class Builder(ElementTree.TreeBuilder):
    """Builds elements up to a depth, since Python frees them one inside the other."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: Any, attrs: Any) -> Any:
        """Open an element."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise FormatFault(f"elements up to {DEEPEST} deep", "deeper ones")
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Any:
        """Close an element."""
        self._depth -= 1
        return super().end(tag)

    def doctype(self, *arguments: Any) -> None:
        """Refuse a document type, which may define entities without end."""
        raise FormatFault("XML without a document type", "one with it")


def parsed(text: str, first_line: int = 1) -> ElementTree.Element:
    """Return the root element of a text; raises FormatFault with the line of the file."""
    parser = ElementTree.XMLParser(target=Builder())
    try:
        parser.feed(text)
        root: ElementTree.Element = parser.close()
    except ElementTree.ParseError as error:
        line, column = error.position
        got = str(error).partition(":")[0]
        raise FormatFault("XML", f"{got} at column {column + 1}", first_line + line - 1) from None
    except ValueError as error:
        if isinstance(error, FormatFault):
            raise
        raise FormatFault("XML", "characters that are not text") from None
    return root


def read_ensemble(ensemble: ElementTree.Element) -> tuple[list[Tree], list[float], int]:
    """Return trees whose missing values are read as 0, their weights, and the largest feature id (from 1)."""
    trees, weights, ids = [], [], [1]

    def read(split: ElementTree.Element) -> Leaf | Node:
        if split.find("output") is not None:
            return Leaf(number(split, "output"))
        children = {child.get("pos"): child for child in split.findall("split")}
        if set(children) != {"left", "right"} or len(split.findall("split")) != 2:
            raise FormatFault("a split with a left and a right one", "another element")
        feature = number(split, "feature")
        if feature != int(feature) or not 1 <= feature <= MOST_FEATURES:
            raise FormatFault(f"a feature from 1 to {MOST_FEATURES}", shown(feature))
        ids.append(int(feature))
        threshold = number(split, "threshold")
        with np.errstate(over="ignore"):
            threshold = float(np.float32(threshold))
        return Node(int(feature) - 1, threshold, threshold >= 0.0, children["left"], children["right"])

    for count, element in enumerate(ensemble, 1):
        try:
            if element.tag != "tree":
                raise FormatFault("an element tree", shown(element.tag))
            weights.append(numeric(element.get("weight"), "weight"))
            root = element.find("split")
            if root is None:
                raise FormatFault("an element split", "none")
            trees.append(tree_of(root, read))
        except FormatFault as fault:
            raise fault.within(f"tree {count}") from None
    return trees, weights, max(ids)


def number(element: ElementTree.Element, tag: str) -> float:
    """Return the finite number that a child element holds."""
    child = element.find(tag)
    return numeric(None if child is None else child.text, tag)


def numeric(text: str | None, what: str) -> float:
    """Return a finite number; raises FormatFault."""
    try:
        value = float(text or "")
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or "_" in (text or ""):
        raise FormatFault(f"{what} as a finite number", "none" if text is None else shown(text.strip()))
    return value


def tree_lines(forest: Forest, tree: int, thresholds: Floats32, values: Floats, indent: int) -> list[str]:
    """Return the lines of a tree's `split`, one tag or tag with its text a line."""

    def leaf(index: int, depth: int) -> list[str]:
        return [f"<output> {decimal(values[index])} </output>"]

    def node(index: int, depth: int, left: list[str], right: list[str]) -> list[str]:
        feature = int(forest.feature[index]) + 1
        lines = [f"<feature> {feature} </feature>", f"<threshold> {decimal(thresholds[index])} </threshold>"]
        for side, child in (("left", left), ("right", right)):
            lines += [f'<split pos="{side}">', *child, "</split>"]
        return lines

    return [" " * indent + line for line in ["<split>", *nested(forest, tree, leaf, node), "</split>"]]
