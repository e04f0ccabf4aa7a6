# Sourced by the other scripts: makes .venv where there is none and installs pinned packages into it.
# $PYTHON names another Python (3.11 or later); nothing but pip is used, and no Java has to be there.

# The tests start hundreds of processes, each of which would compile all modules again.
unset PYTHONDONTWRITEBYTECODE

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${RERANK_VENV:-$root/.venv}

make_venv() {
    [ ! -x "$venv/bin/python" ] || return 0
    local python=${PYTHON:-python3}
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        echo "scripts: expected Python 3.11 or later, got $("$python" --version 2>&1). Set PYTHON to a newer one." >&2
        exit 2
    }
    echo "Making $venv ..." >&2
    "$python" -m venv "$venv"
}

install() {  # install NAME FILE...: install requirement files, once for each state of them; `package`: and the package
    local name=$1 stamp="$venv/.installed-$1" state
    shift
    state=$(cat "$root/pyproject.toml" "$@" | cksum)
    make_venv
    if [ "$(cat "$stamp" 2>/dev/null)" != "$state" ]; then
        echo "Installing pinned packages ..." >&2
        local files=()
        for file in "$@"; do files+=(-r "$file"); done
        "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --no-deps "${files[@]}"
        if [ "$name" = package ]; then
            "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable "$root"
        fi
        printf '%s\n' "$state" > "$stamp"
    fi
}
