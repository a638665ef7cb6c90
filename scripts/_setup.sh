# Sourced by the scripts beside it: `prepare extra,extra` makes .venv in the project's root and sets $python and $root.
# The work is done once; it is done again when pyproject.toml, the interpreter or the project's place has changed.

unset CDPATH
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$root/.venv/bin/python

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "error: $*"
    exit 1
}
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# The first interpreter that is new enough; $PYTHON, where set, is the only candidate.
find_python() {
    local candidate found= candidates=(python3 python3.14 python3.13 python3.12 python3.11)
    if [[ -n ${PYTHON:-} ]]; then candidates=("$PYTHON"); fi
    for candidate in "${candidates[@]}"; do
        command -v "$candidate" >/dev/null || continue
        if new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
        found+=" $candidate ($("$candidate" -V 2>&1 || true))"
    done
    fail "Python 3.11 or newer is needed, found:${found:- none}; install one, or name it: PYTHON=/path/to/python $0"
}

# An environment without pip is what an interrupted or refused `python3 -m venv` leaves behind.
usable() { new_enough "$python" && "$python" -c 'import pip' >/dev/null 2>&1; }

prepare() {
    local extras=$1 base state stamp=$root/.venv/.ready-$1
    if ! usable; then
        base=$(find_python)
        say "making .venv with $base ..."
        "$base" -m venv --clear "$root/.venv" >&2 ||
            fail "'$base -m venv' failed; on Debian and Ubuntu: apt install python3-venv (or python3.X-venv for that version)"
    fi
    state=$({ printf '%s\n' "$root" && "$python" -VV && cat "$root/pyproject.toml"; } | cksum)
    if [[ "$(cat "$stamp" 2>/dev/null)" != "$state" ]]; then
        say "installing maxmargin[$extras] and its dependencies into .venv (once) ..."
        "$python" -m pip install --quiet --disable-pip-version-check --editable "$root[$extras]" >&2 ||
            fail "the installation failed; the lines above say why. Run $0 again when it is mended"
        printf '%s\n' "$state" >"$stamp"
    fi
}
