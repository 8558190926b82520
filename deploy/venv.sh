#!/bin/sh
# Bring .venv up to one of three growing sets: base (embedded mode, wheels only), stack, dev.
# A stamp per set, the hash of its requirement files, makes the second call a matter of milliseconds.
set -eu

set_name=$1
case $set_name in
    base) file=requirements/base.txt; contained="base" ;;
    stack) file=requirements.txt; contained="base stack" ;;
    dev) file=requirements/dev.txt; contained="base stack dev" ;;
    *) echo "usage: deploy/venv.sh base|stack|dev" >&2; exit 2 ;;
esac

stamp_of() {
    case $1 in
        base) cat requirements/base.txt ;;
        stack) cat requirements/base.txt requirements.txt ;;
        dev) cat requirements/base.txt requirements.txt requirements/dev.txt ;;
    esac | cat - requirements/constraints.txt | sha256sum | cut -c1-64
}
ready() {
    [ "$(cat ".venv/.stamp-$set_name" 2>/dev/null)" = "$(stamp_of "$set_name")" ] && [ -x .venv/bin/python ]
}
new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

ready && exit 0
exec 9<Makefile && flock 9 # two makes at once: the second waits, then finds the work done
ready && exit 0

python=
for candidate in python3 python3.11 /usr/bin/python3; do
    if new_enough "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or newer is needed; on Debian 12: apt-get install python3" >&2
    exit 1
fi

# The pip that Python carries with it is run from its wheel to install a current one, which is twice
# as quick as `python3 -m venv` with its own pip, and as the old pip at all the rest.
new_venv() {
    rm -rf .venv
    wheel=$("$python" - 2>/dev/null <<'PYTHON'
import ensurepip, glob, os
folders = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"), "/usr/share/python-wheels"]
print([path for folder in folders for path in glob.glob(os.path.join(folder, "pip-*.whl"))][0])
PYTHON
    ) && "$python" -m venv --without-pip .venv &&
        .venv/bin/python "$wheel/pip" install --quiet --disable-pip-version-check --no-compile \
            --only-binary :all: --constraint requirements/constraints.txt pip >/dev/null 2>&1 ||
        "$python" -m venv --clear .venv >/dev/null 2>&1
}
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "Creating .venv ..." >&2
    if ! new_venv; then
        # Debian keeps what the venv module needs in a package of its own.
        deploy/packages.sh python3-venv
        if ! new_venv; then
            "$python" -m venv --clear .venv >&2 || true
            echo "$python -m venv does not work here" >&2
            exit 1
        fi
    fi
fi

case $set_name in
    base) echo "Installing Python packages (first run, about 30 s) ..." >&2; source_builds=":none:" ;;
    *) echo "Installing Python packages (first run, about a minute) ..." >&2; source_builds="mysqlclient" ;;
esac
# --no-compile: Python writes the byte code of what it really imports.
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-input \
    --only-binary :all: --no-binary "$source_builds" \
    --constraint requirements/constraints.txt --requirement "$file"
for part in $contained; do
    stamp_of "$part" >".venv/.stamp-$part"
done
