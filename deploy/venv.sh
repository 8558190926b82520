#!/bin/sh
# Install one of three nested sets into .venv: base (embedded mode, wheels only), stack, dev; beside
# one of them an optional set: otel (traces), s3 (uploads in a bucket); or the set tools into
# .venv/tools. All packages come from the lock files in requirements/lock, each in one version, each
# file checked by its hash.
# A stamp for each set, the hash of its lock files, makes the second call take milliseconds.
set -eu

set_name=$1
venv=.venv
case $set_name in
    base) contained="base" ;;
    stack) contained="base stack" ;;
    dev) contained="base stack dev" ;;
    otel|s3) contained="$set_name" ;;
    tools) contained="tools"; venv=.venv/tools ;;
    *) echo "usage: deploy/venv.sh base|stack|dev|otel|s3|tools" >&2; exit 2 ;;
esac
locks=requirements/lock

stamp_of() {
    cat "$locks/build.txt" "$locks/$1.txt" | sha256sum | cut -c1-64
}
stamp() {
    stamp_of "$1" >"$venv/.stamp-$1"
}
stamped() {
    [ "$(cat "$venv/.stamp-$1" 2>/dev/null)" = "$(stamp_of "$1")" ] && [ -x $venv/bin/python ]
}
new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

stamped "$set_name" && exit 0
exec 9<Makefile && flock 9 # of two concurrent runs the second waits, then finds the stamp
stamped "$set_name" && exit 0

python=
for candidate in python3 python3.11 /usr/bin/python3; do
    if new_enough "$candidate"; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
    echo "Python 3.11 or newer is needed; on Debian 12: apt-get install python3" >&2
    exit 1
fi

# --no-deps: a lock file lists all dependencies. --no-compile: Python compiles the modules that it
# imports.
options="--quiet --disable-pip-version-check --no-compile --no-input --no-deps --require-hashes"
install_build() {
    # shellcheck disable=SC2086  # the options are meant to be split
    "$@" install $options --only-binary :all: --requirement "$locks/build.txt" && stamp build
}

# Python's bundled pip runs from its wheel and installs the locked pip. That takes half the time of
# `python3 -m venv` with pip, and the locked pip is twice as fast as the bundled one.
new_venv() {
    rm -rf $venv
    wheel=$("$python" - 2>/dev/null <<'PYTHON'
import ensurepip, glob, os
folders = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"), "/usr/share/python-wheels"]
print([path for folder in folders for path in glob.glob(os.path.join(folder, "pip-*.whl"))][0])
PYTHON
    ) && "$python" -m venv --without-pip $venv &&
        install_build $venv/bin/python "$wheel/pip" >/dev/null 2>&1 ||
        "$python" -m venv --clear $venv >/dev/null 2>&1
}
if ! $venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "Creating $venv ..." >&2
    if ! new_venv; then
        # Debian has a separate package for the venv module.
        deploy/packages.sh python3-venv
        if ! new_venv; then
            "$python" -m venv --clear $venv >&2 || true
            echo "$python -m venv does not work here" >&2
            exit 1
        fi
    fi
fi

source_builds=":none:"
case $set_name in
    base) echo "Installing Python packages (first run, about 30 s) ..." >&2 ;;
    otel|s3) ;;
    tools) echo "Installing the tools of make lock and make audit ..." >&2 ;;
    *) echo "Installing Python packages (first run, about a minute) ..." >&2; source_builds="mysqlclient" ;;
esac
stamped build || install_build $venv/bin/python -m pip
# An isolated build would fetch setuptools without a hash; the locked one is installed already.
# shellcheck disable=SC2086
$venv/bin/python -m pip install $options --no-build-isolation \
    --only-binary :all: --no-binary "$source_builds" --requirement "$locks/$set_name.txt"
for part in $contained; do
    stamp "$part"
done
