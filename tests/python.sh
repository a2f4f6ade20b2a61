#!/usr/bin/env bash
# Builds the Python package in an environment of its own, which is kept for later runs, and runs its tests.
#   tests/python.sh           the quick tests: less than a minute after the build
#   tests/python.sh --long    all tests
# CAROM names the command that the package is compared with; default: the one that tests/run.sh builds.
set -euo pipefail
cd "$(dirname "$0")/.."

case "$#:${1:-}" in
    0: | 1:--long) ;;
    *)
        echo 'usage: tests/python.sh [--long]' >&2
        exit 2
        ;;
esac

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CAROM=${CAROM:-$target/debug/carom}
if [ ! -x "$CAROM" ]; then
    echo "tests/python.sh: there is no command at $CAROM; build it (cargo build) or name one in CAROM" >&2
    exit 2
fi

environment=$target/python-tests
python=$environment/bin/python
if [ ! -x "$python" ] && ! python3 -m venv "$environment"; then
    echo 'tests/python.sh: this needs Python 3.10 or later with the module venv (on Debian the package python3-venv)' >&2
    exit 3
fi
if ! "$python" -m pip install --quiet --disable-pip-version-check 'maturin>=1.7,<2'; then
    echo 'tests/python.sh: the tests install packages from PyPI, some 900 MB, and need access to it' >&2
    exit 3
fi
# Build outputs of another set of features, apart from those of the crate.
VIRTUAL_ENV=$environment CARGO_TARGET_DIR=$target/python PATH=$environment/bin:$PATH \
    maturin develop --quiet --locked --release --extras test,ase,pyvista,ovito,freud,dask,notebook --manifest-path python/Cargo.toml
cd python
"$python" -m mypy --cache-dir "$environment/mypy"
"$python" -m pytest -q -p no:cacheprovider "$@"
