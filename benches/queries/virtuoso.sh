#!/usr/bin/env bash
# Loads an N-Triples file into Virtuoso and measures a directory of queries over HTTP:
#
#   virtuoso.sh FILE.nt QUERIES OUTPUT
#
# What ../peers/virtuoso.sh needs and understands holds here too; HTTP_PORT is the port of the endpoint (21112).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
queries=$(readlink -e "${2:?usage: virtuoso.sh FILE.nt QUERIES OUTPUT}")
output=${3:?usage: virtuoso.sh FILE.nt QUERIES OUTPUT}
export HTTP_PORT=${HTTP_PORT:-21112}
export WHEN_LOADED="python3 '$here/peer_times.py' http://127.0.0.1:$HTTP_PORT/sparql http://example.org/lubm '$queries' '$output'"
exec "$here/../peers/virtuoso.sh" "$1"
