#!/usr/bin/env bash
# Guess: the number that insert returns is of that vector for good; a vector that comes later has a higher one.
# Behaviour: ngt 2.8.0.post1 gives the lowest number that was removed to the next vector: of ten vectors 3 and 7 are
# removed, and the next three are 3, 7 and 10. The numbers of the others stay. A search by the same number is another
# document afterwards, after saving and opening too.
# Why it matters: texts, filters, caches and judgements are kept beside an index by its numbers; after a replacement
# they are of another document, and nothing is out of range.
# Source: NGT, lib/NGT/ObjectRepository.h and Common.h (Repository: removedList, the lowest is taken first).

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ngt==2.8.0.post1 numpy==2.4.6 pybind11==3.1.0

expected='first ten: 0 1 2 3 4 5 6 7 8 9
after the removal of 3 and 7: 3, 7, 10
nearest of the vector that is the new 7: 7
opened again: 7'

cd "$folder"
observed=$("$folder/venv/bin/python" -W ignore - 2> "$folder/log" <<'EOF'
import ngtpy
import numpy as np

ngtpy.create(b"index", 2)
index = ngtpy.Index(b"index")
index.batch_insert(np.array([[i, 1] for i in range(10)], dtype=np.float32))
print("first ten:", *sorted(number for number, _ in index.search(np.array([4, 1], dtype=np.float32), 10)))
index.remove(3)
index.remove(7)
new = [index.insert(np.array([i, 1], dtype=np.float32)) for i in (20, 50, 80)]
print("after the removal of 3 and 7:", ", ".join(map(str, new)))
index.build_index()
query = np.array([50, 1], dtype=np.float32)
print("nearest of the vector that is the new 7:", index.search(query, 1)[0][0])
index.save()
index.close()
print("opened again:", ngtpy.Index(b"index").search(query, 1)[0][0])
EOF
) || { cat "$folder/log" >&2; exit 1; }
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
