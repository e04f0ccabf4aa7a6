# Sourced by the other scripts: makes .venv where there is none and installs pinned packages into it.
# $PYTHON names another Python (3.11 or later); nothing but pip is used, and no Java has to be there.

# The tests start processes, each of which would compile all modules again.
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

wheels() {  # wheels FILE...: print the folder with the wheels of requirement files, which pip's index is asked for once
    local folder
    folder=${RERANK_WHEELS:-${XDG_CACHE_HOME:-$HOME/.cache}/rerank-wheels}/$("$venv/bin/python" -c \
        'import sys; print(sys.platform, *sys.version_info[:2], sep="-")')-$(cat "$@" | cksum | cut -d ' ' -f 1)
    if [ ! -d "$folder" ]; then
        local files=() new
        for file in "$@"; do files+=(-r "$file"); done
        mkdir -p "$(dirname "$folder")"
        new=$(mktemp -d "$folder.XXXXXX")
        "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$new" "${files[@]}" ||
            { rm -rf "$new"; return 1; }
        [ -d "$folder" ] || mv "$new" "$folder"
        rm -rf "$new"
    fi
    printf '%s\n' "$folder"
}

install() {  # install NAME FILE...: install requirement files, once for each state of them; `package`: and the package
    local name=$1 stamp state folder files=()
    shift
    make_venv
    stamp=$venv/.installed-$name
    state=$(cat "$root/pyproject.toml" "$@" | cksum)
    [ "$(cat "$stamp" 2> /dev/null)" != "$state" ] || return 0
    echo "Installing pinned packages ..." >&2
    folder=$(wheels "$@")
    for file in "$@"; do files+=(-r "$file"); done
    [ "$name" != package ] || files+=(--editable "$root")
    "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check --no-deps --no-index \
        --find-links "$folder" "${files[@]}"
    printf '%s\n' "$state" > "$stamp"
}
