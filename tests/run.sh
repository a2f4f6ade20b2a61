#!/usr/bin/env bash
# Builds carom and runs all of its tests. On a bare Debian or Ubuntu machine with Rust it installs what is missing: a C
# linker, a software Vulkan adapter where there is no adapter at all, and a display in memory for the tests of the window.
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

# Installs packages as root or by sudo; fails where neither works.
install() {
    local root=()
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || return 1
        root=(sudo)
        # Nobody is there to type a password.
        [ -t 0 ] || root=(sudo -n)
    fi
    "${root[@]}" apt-get update -q || return 1
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

if ! command -v cc >/dev/null && ! install gcc libc6-dev; then
    echo "tests/run.sh: no C linker (cc) found; install gcc or clang" >&2
    exit 1
fi

# The window is tested on Xvfb, driven by xdotool; it finds the keys through libxkbcommon-x11, which it loads when it runs.
window_tools=()
command -v Xvfb >/dev/null || window_tools+=(xvfb)
command -v xdotool >/dev/null || window_tools+=(xdotool)
ldconfig -p 2>/dev/null | grep -q libxkbcommon-x11 || window_tools+=(libxkbcommon-x11-0 libxcursor1 libxi6)
if [ "$(uname -s)" = Linux ] && [ "${#window_tools[@]}" -gt 0 ] && ! install "${window_tools[@]}"; then
    echo 'tests/run.sh: the window cannot be tested, and what that needs could not be installed from here; on Debian or' >&2
    echo "    Ubuntu type: sudo apt-get install ${window_tools[*]}" >&2
    exit 3
fi

# 0: there is an adapter; 3: there is none. The command built for it is the one that the tests run.
adapters() {
    cargo run --locked --all-features --quiet --bin carom -- adapters
}

code=0
adapters || code=$?
if [ "$code" -eq 3 ]; then
    if ! install mesa-vulkan-drivers; then
        echo 'tests/run.sh: no Vulkan adapter, and none could be installed from here; on Debian or Ubuntu type' >&2
        echo '    sudo apt-get install mesa-vulkan-drivers' >&2
        exit 3
    fi
    code=0
    adapters || code=$?
fi
[ "$code" -eq 0 ] || exit "$code"
# The tests that need an adapter fail where there is none.

if command -v cargo-nextest >/dev/null; then
    if [ "$long" -eq 1 ]; then
        cargo nextest run --locked --all-features --no-fail-fast --run-ignored all
    else
        cargo nextest run --locked --all-features --no-fail-fast
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
