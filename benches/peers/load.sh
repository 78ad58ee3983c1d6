#!/usr/bin/env bash
# Loads an N-Triples file with Quadrille and its peers in turn, prints medians and ratios. See README.md.
#
#   load.sh FILE.nt [RUNS] [--only NAME]... [--threads N] [--directory DIR]
#
# QUADRILLE is the program to measure; by default the release build, which is brought up to date first.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PEERS:-$here/../../target/peers}/python/bin/python
export PYTHONDONTWRITEBYTECODE=1

if [ ! -x "$python" ]; then
    echo "load.sh: the peers are not installed: run $here/setup.sh" >&2
    exit 1
fi
if [ -z "${QUADRILLE:-}" ]; then
    cargo build --release --quiet --manifest-path "$here/../../Cargo.toml"
    target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/../../Cargo.toml" |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    QUADRILLE=$target/release/quadrille
fi
export QUADRILLE
exec "$python" "$here/compare.py" "$@"
