#!/usr/bin/env bash
# Loads LUBM with its inferred triples into Oxigraph and Virtuoso, starts them on the loopback address, and runs
# `quadrille lubm bench` with both as peers. See README.md.
#
#   lubm.sh UNIVERSITIES [OPTION OF `lubm bench`]...          such as --warm 20 --html lubm.html
#
#   PEERS_ONLY     which ones: oxigraph, virtuoso, or both ("oxigraph virtuoso")
#   QUADRILLE      the program to measure; by default the release build, which is brought up to date first
#   OXIGRAPH_PORT  of Oxigraph's endpoint (21113); HTTP_PORT of Virtuoso's (21112)
#   DIRECTORY      where data and stores are made and, at the end, removed
# and what virtuoso.sh understands.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
universities=${1:?usage: lubm.sh UNIVERSITIES [OPTION OF lubm bench]...}
shift
peers=${PEERS:-$here/../../target/peers}
only=${PEERS_ONLY:-oxigraph virtuoso}
oxigraph_port=${OXIGRAPH_PORT:-21113}
export HTTP_PORT=${HTTP_PORT:-21112}

if [ -z "${QUADRILLE:-}" ]; then
    cargo build --release --quiet --manifest-path "$here/../../Cargo.toml"
    target=$(cargo metadata --format-version 1 --no-deps --manifest-path "$here/../../Cargo.toml" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
    QUADRILLE=$target/release/quadrille
fi

directory=$(mktemp -d -p "${DIRECTORY:-${TMPDIR:-/tmp}}" lubm-peers-XXXXXXXX)
server=
finish() {
    if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
        kill "$server"
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$directory"
}
trap finish EXIT

# What the peers get: all that we would answer from.
"$QUADRILLE" lubm bench --universities "$universities" --warm 0 --streams 0 --directory "$directory/ours" > /dev/null
"$QUADRILLE" dump --store "$directory/ours/store" --out "$directory/lubm.nt"
rm -r "$directory/ours"

arguments=("$@")
for peer in $only; do
    case $peer in
    oxigraph)
        "$peers/python/bin/oxigraph" load --location "$directory/oxigraph" --file "$directory/lubm.nt" \
            > "$directory/oxigraph.out" 2>&1 || { cat "$directory/oxigraph.out" >&2; exit 1; }
        "$peers/python/bin/oxigraph" serve-read-only --location "$directory/oxigraph" \
            --bind "127.0.0.1:$oxigraph_port" > "$directory/oxigraph.out" 2>&1 &
        server=$!
        for _ in $(seq 120); do
            (: < "/dev/tcp/127.0.0.1/$oxigraph_port") 2>/dev/null && break
            kill -0 "$server" 2>/dev/null || { cat "$directory/oxigraph.out" >&2; exit 1; }
            sleep 0.5
        done
        arguments+=(--peer "oxigraph=http://127.0.0.1:$oxigraph_port/query")
        ;;
    virtuoso)
        arguments+=(--peer "virtuoso=http://127.0.0.1:$HTTP_PORT/sparql?default-graph-uri=http%3A%2F%2Fexample.org%2Flubm")
        ;;
    *)
        echo "lubm.sh: unknown peer $peer" >&2
        exit 2
        ;;
    esac
done

bench=("$QUADRILLE" lubm bench --universities "$universities" "${arguments[@]}")
case " $only " in
*" virtuoso "*)
    # The server lives as long as the command that it is given.
    WHEN_LOADED=$(printf '%q ' "${bench[@]}")
    export WHEN_LOADED
    "$here/virtuoso.sh" "$directory/lubm.nt"
    ;;
*)
    "${bench[@]}"
    ;;
esac
