#!/usr/bin/env bash
# Builds carom and runs its tests. On a bare Debian or Ubuntu machine with Rust it installs what is missing: a C linker, a
# software Vulkan adapter where there is no adapter at all, and a display in memory for the tests of the window.
#   tests/run.sh                    the default tier: about 15 minutes on two fast cores, after the build; half an hour on slow ones
#   tests/run.sh --long             the default and the long tier: less than two hours
#   tests/run.sh --campaign         lists the tests of the campaign, which take hours or a machine that does nothing else
#   tests/run.sh --campaign NAME    runs those of them whose names contain NAME, one at a time, and shows what they print
# tests/common/tiers.rs says which test is of which tier.
set -euo pipefail
cd "$(dirname "$0")/.."

tier=default
name=
case "$#:${1:-}" in
    0:) ;;
    1:--long) tier=long ;;
    1:--campaign) tier=campaign ;;
    2:--campaign) tier=campaign name=$2 ;;
    *)
        echo 'usage: tests/run.sh [--long | --campaign [NAME]]' >&2
        exit 2
        ;;
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
        # Without a terminal a password cannot be typed.
        [ -t 0 ] || root=(sudo -n)
    fi
    "${root[@]}" apt-get update -q || return 1
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
}

# The tests of the Python package need an environment.
if ! python3 -c 'import ensurepip, venv' 2>/dev/null && ! install python3 python3-venv; then
    echo 'tests/run.sh: no Python with the module venv found; on Debian or Ubuntu type: sudo apt-get install python3-venv' >&2
    exit 3
fi

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

build=(--locked --all-features)

if [ "$tier" = campaign ]; then
    listed=$(cargo test "${build[@]}" --quiet --lib --bins --tests -- --ignored --list)
    names=$(sed -n 's/^\(.*::campaign\): test$/\1/p' <<<"$listed" | grep -F -- "$name" | sort) || true
    if [ -z "$names" ]; then
        echo "tests/run.sh: no test of the campaign contains '$name' in its name; --campaign alone lists them" >&2
        exit 2
    fi
    if [ -z "$name" ]; then
        echo "$names"
        exit
    fi
    # libtest takes several names as alternatives, so each is given in full. None contains a blank.
    # shellcheck disable=SC2086
    cargo test "${build[@]}" --no-fail-fast --lib --bins --tests -- \
        --ignored --exact --test-threads 1 --nocapture $names
    exit
fi

# Without --no-fail-fast the first failing binary hides the others.
if command -v cargo-nextest >/dev/null; then
    tests=(--run-ignored default)
    [ "$tier" = default ] || tests=(--run-ignored all -E 'not test(/::campaign$/)')
    cargo nextest run "${build[@]}" --no-fail-fast "${tests[@]}"
else
    tests=(--skip ::campaign)
    [ "$tier" = default ] || tests+=(--include-ignored)
    cargo test "${build[@]}" --no-fail-fast --lib --bins --tests -- "${tests[@]}"
fi
# nextest does not run the examples in the documentation.
cargo test "${build[@]}" --doc

if [ "$tier" = long ]; then tests/python.sh --long; else tests/python.sh; fi
