#!/usr/bin/env python
"""A small version of the Yahoo! challenge's winner: 8 LambdaMART, 2 LambdaRank nets and 2 logistic regressions.

Run: python scripts/bench_ensemble.py [--quick] [--output FILE]
MQ2008's first fold: three parts train, the fourth stops, the fifth is measured. Shown are the mean of each kind of
member by itself and the ensemble with either second stage. Settings were fixed beforehand. `--quick`: tiny members, for
no figure that counts. The same from the shell:

    rerank train train.svm --validate valid.svm --ranker ensemble -o model.json \
        --members "8*lambdamart(subsample=0.5), 2*lambdarank, 2*logisticregression"
"""

from __future__ import annotations

import json
import time

import numpy as np
from bench_common import arguments, machine, report
from bench_rankers import mq2008, values
from tabulate import tabulate

import rerank

MEASURES = ("nDCG@10", "AP", "RR")
WINNER = (
    "8*lambdamart(subsample=0.5, n_estimators=200, early_stopping_rounds=30), 2*lambdarank(n_epochs=20), "
    "2*logisticregression"
)
QUICK = "8*lambdamart(subsample=0.5, n_estimators=2), 2*lambdarank(n_epochs=1), 2*logisticregression"


def main() -> None:
    """Train the ensemble twice; score it and its members on the test part."""
    options = arguments(__doc__.splitlines()[0])
    about = machine("numpy", "numba")
    split, lines = mq2008(quick=True)[0], []
    for second in ("linear", "boosted"):
        begin = time.perf_counter()
        model = rerank.Ensemble(QUICK if options.quick else WINNER, second=second, n_estimators=50)
        model.fit(split.train, eval_set=split.valid)
        seconds = time.perf_counter() - begin
        lines.append({"system": f"ensemble, {second}", **values(split, model.predict(split.test), MEASURES)})
        lines[-1]["seconds"] = seconds
    for kind in sorted({member.kind for member in model.members_}):
        member_values = [
            values(split, each.predict(split.test), MEASURES) for each in model.members_ if each.kind == kind
        ]
        means = {measure: float(np.mean([one[measure] for one in member_values])) for measure in MEASURES}
        lines.append({"system": f"{kind}, mean of {len(member_values)}", **means})
    print(tabulate(lines, headers="keys", tablefmt="github", floatfmt=("", ".4f", ".4f", ".4f", ".1f")))
    figures = {"machine": about}
    report([], figures, None)
    if options.output:
        options.output.write_text(json.dumps({**figures, "systems": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main()
