#!/usr/bin/env bash
# Guess: normalize_url and check_url of courlan with strict=True drop from an address what does not choose the page:
# trackers, sessions and fragments. Two pages keep two addresses.
# Behaviour: courlan 1.4.0 keeps a short list of parameters (id, p, page, postid and a few more) and drops all others:
# v of videos, sku of a shop's item, isbn, story, article, t of a forum's thread. All videos of a site have one
# address. Without strict the parameters stay, but for known trackers.
# Why it matters: addresses are made equal to find duplicates before a crawl or an index. Of a site with such
# addresses one page is left, and no count of duplicates tells that they were none.
# Source: courlan, clean.py (clean_query: what is not in ALLOWED_PARAMS is dropped) and settings.py.

set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
    courlan==1.4.0 babel==2.17.0 tld==0.13.2 urllib3==2.5.0

expected='read?utm_source=mail: 1 of 3 addresses, strict 1, checked 1: https://example.org/read
doc?id=: 3 of 3 addresses, strict 3, checked 3: https://example.org/doc?id=11
?p=: 3 of 3 addresses, strict 3, checked 3: https://example.org/?p=11
watch?v=: 3 of 3 addresses, strict 1, checked 1: https://example.org/watch
item?sku=: 3 of 3 addresses, strict 1, checked 1: https://example.org/item
view?isbn=: 3 of 3 addresses, strict 1, checked 1: https://example.org/view
read?story=: 3 of 3 addresses, strict 1, checked 1: https://example.org/read
topic?t=: 3 of 3 addresses, strict 1, checked 1: https://example.org/topic'

observed=$("$folder/venv/bin/python" -W ignore - <<'EOF'
from courlan import check_url, normalize_url

paths = ("read?utm_source=mail", "doc?id=", "?p=", "watch?v=", "item?sku=", "view?isbn=", "read?story=", "topic?t=")
for path in paths:
    pages = [f"https://example.org/{path}{number}" for number in (11, 12, 13)]
    plain, strict = ({normalize_url(page, strict=strict) for page in pages} for strict in (False, True))
    checked = {(check_url(page, strict=True) or ("none",))[0] for page in pages}
    print(f"{path}: {len(plain)} of 3 addresses, strict {len(strict)}, checked {len(checked)}: {sorted(strict)[0]}")
EOF
)
echo "$observed"
if [ "$observed" != "$expected" ]; then
    printf 'The behaviour differs. Expected:\n%s\n' "$expected" >&2
    exit 1
fi
