#!/usr/bin/env bash
# Builds carom and runs all of its tests. On a bare Debian or Ubuntu machine with Rust it installs what is missing (a C
# linker, nothing else).
#   tests/run.sh          all tests but the bulk cases
#   tests/run.sh --long   the bulk cases too
set -euo pipefail
cd "$(dirname "$0")/.."

long=0
case "${1:-}" in
    '') ;;
    --long) long=1 ;;
    *) echo "usage: tests/run.sh [--long]" >&2; exit 2 ;;
esac

# Rust from rustup is on the path only of login shells.
if ! command -v cargo >/dev/null && [ -f "${CARGO_HOME:-$HOME/.cargo}/env" ]; then
    # shellcheck disable=SC1091
    . "${CARGO_HOME:-$HOME/.cargo}/env"
fi
if ! command -v cargo >/dev/null; then
    echo "tests/run.sh: cargo not found; install Rust 1.95 or later (https://rustup.rs)" >&2
    exit 1
fi
if ! command -v cc >/dev/null; then
    if ! command -v apt-get >/dev/null; then
        echo "tests/run.sh: no C linker (cc) found; install gcc or clang" >&2
        exit 1
    fi
    root=''
    [ "$(id -u)" -eq 0 ] || root=sudo
    $root apt-get update -q
    DEBIAN_FRONTEND=noninteractive $root apt-get install -qy --no-install-recommends gcc libc6-dev
fi

if command -v cargo-nextest >/dev/null; then
    if [ "$long" -eq 1 ]; then
        cargo nextest run --locked --all-features --run-ignored all
    else
        cargo nextest run --locked --all-features
    fi
else
    # Without --no-fail-fast the first failing binary would hide the others.
    if [ "$long" -eq 1 ]; then
        cargo test --locked --all-features --no-fail-fast --lib --bins --tests -- --include-ignored
    else
        cargo test --locked --all-features --no-fail-fast --lib --bins --tests
    fi
fi
# nextest does not run the examples in the documentation.
cargo test --locked --all-features --doc
