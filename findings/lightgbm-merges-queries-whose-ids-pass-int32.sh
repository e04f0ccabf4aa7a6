#!/usr/bin/env bash
# Guess: a query column of a text file (group_column) may hold any whole numbers, such as hashes or dates with a number.
# Behaviour: LightGBM 4.7.0 converts each id to a signed 32-bit integer, without a check. Ids above 2^31 all become the
# same one, and ids with fractions lose them: neighbouring queries are merged into one, without a warning.
# Why it matters: a model is then trained on, and measured over, one huge query (20240115001 is beyond 2^31).
# Source: src/io/dataset_loader.cpp, where a parsed value of the query column is cast to data_size_t (int32_t).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/pip" install -q lightgbm==4.7.0 numpy==2.4.6 scipy==1.17.1
cd "$work"
venv/bin/python - > observed <<'PYTHON'
import lightgbm

PARAMETERS = {"group_column": 0, "min_data_in_bin": 1, "min_data_in_leaf": 1, "verbosity": -1}
for first in ("1", "2024011500", "20240115001", "1732789000123", "0.1"):
    with open("data.csv", "w") as file:
        for row in range(40):
            number = row // 10 * (0.1 if "." in first else 1)
            query = f"{float(first) + number:.1f}" if "." in first else int(first) + number
            file.write(f"{row % 3},{query},{row * 0.5},{row % 5}\n")
    groups = lightgbm.Dataset("data.csv", params=PARAMETERS).construct().get_group()
    print("four queries from", first, "on become", groups.tolist())
PYTHON
cat > expected <<'TEXT'
four queries from 1 on become [10, 10, 10, 10]
four queries from 2024011500 on become [10, 10, 10, 10]
four queries from 20240115001 on become [40]
four queries from 1732789000123 on become [40]
four queries from 0.1 on become [40]
TEXT
cat observed
diff expected observed || { echo "differs: < expected, > observed" >&2; exit 1; }
