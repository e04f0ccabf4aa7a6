"""Say how many lines of the kernels a run without Numba's compiler reached: kernel_coverage.py COVERAGE_JSON."""

import ast
import json
import sys
from pathlib import Path

LEAST = 95.0  # per cent


def kernel_lines(path: Path) -> set[int]:
    """Return the numbers of the lines inside functions that are compiled."""
    lines: set[int] = set()
    for node in ast.parse(path.read_text("utf8")).body:
        if isinstance(node, ast.FunctionDef):
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if any(name.startswith(("kernel(", "helper(")) for name in decorators):
                lines |= set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return lines


def main() -> None:
    files = json.loads(Path(sys.argv[1]).read_text())["files"]
    reached = total = 0
    for name, report in sorted(files.items()):
        lines = kernel_lines(Path(name))
        missing = sorted(lines & set(report["missing_lines"]))
        reached += len(lines & set(report["executed_lines"]))
        total += len(lines & set(report["executed_lines"])) + len(missing)
        if missing:
            print(f"{name}: lines {', '.join(map(str, missing))}")
    share = 100 * reached / total
    print(f"{reached} of {total} lines of the kernels run as Python: {share:.1f} %")
    if share < LEAST:
        sys.exit(f"kernels: expected at least {LEAST} % of their lines reached, got {share:.1f} %. Test those above.")


if __name__ == "__main__":
    main()
