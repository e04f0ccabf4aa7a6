"""LaTeX tables with booktabs."""

from __future__ import annotations

from collections.abc import Sequence

from rerank.evaluation.comparison import Comparison

MARKS = ((0.01, "**"), (0.05, "*"))  # marks for corrected p-values below the bounds
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{letter: "\\" + letter for letter in "&%$#_{}"},
}


class Raw(str):
    """A cell that is LaTeX code, which is not escaped."""


def latex_table(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Return a `tabular`: the first column left-aligned, the others right-aligned; cells are escaped unless Raw."""
    lines = [[_escaped(cell) for cell in row] for row in (header, *rows)]
    head, *body = (" & ".join(line) + r" \\" for line in lines)
    columns = "l" + "r" * (len(header) - 1)
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule"]) + (
        "\n" + r"\end{tabular}"
    )


def means_with_marks(comparison: Comparison, rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return rows (run, mean, mean ...) with the highest mean of each measure in bold, and marks of significance.

    * and ** mark means that differ from the baseline's with a corrected p-value below 0.05 and 0.01.
    """
    best = [max((row[column] for row in rows), key=float) for column in range(1, len(rows[0]))]
    return [
        [run, *(_marked(comparison, run, column, cell, best[column]) for column, cell in enumerate(cells))]
        for run, *cells in rows
    ]


def _marked(comparison: Comparison, run: str, column: int, cell: str, best: str) -> Raw:
    text = rf"\textbf{{{cell}}}" if cell == best else cell
    if run == comparison.baseline:
        return Raw(text)
    p_value = comparison.p_values[run][comparison.measures[column]]
    mark = next((mark for bound, mark in MARKS if p_value < bound), "")
    return Raw(text + (rf"$^{{{mark}}}$" if mark else ""))


def _escaped(cell: str) -> str:
    return cell if isinstance(cell, Raw) else "".join(_SPECIAL.get(letter, letter) for letter in cell)
