#!/usr/bin/env bash
# Installs the peers that load.sh, lubm.sh and virtuoso.sh run, with their ordinary clients, into target/peers, or where
# PEERS says (then it must say so to the others as well).
#
#   setup.sh             Oxigraph and sparq, from PyPI into a virtual environment of their own
#   setup.sh virtuoso    Virtuoso too, the Debian package unpacked (not installed: no root, no service)
#
# The versions are pinned, so that figures of different days compare; newer ones: OXIGRAPH_VERSION, SPARQ_VERSION.
set -euo pipefail
peers=${PEERS:-$(dirname "$0")/../../target/peers}
mkdir -p "$peers"
cd "$peers"

oxigraph=${OXIGRAPH_VERSION:-0.5.13}
sparq=${SPARQ_VERSION:-0.1.6}

python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check \
    "oxigraph==$oxigraph" "pyoxigraph==$oxigraph" "sparq-rdf==$sparq"
python/bin/pip list --disable-pip-version-check | grep -iE 'oxigraph|sparq'

if [ "${1:-}" = virtuoso ]; then
    mkdir -p virtuoso
    (
        cd virtuoso
        # The others have libraries that the server needs and many systems lack.
        apt-get download virtuoso-opensource-7-bin libminizip1 libpcre3
        for package in ./*.deb; do dpkg-deb --extract "$package" .; done
        rm ./*.deb
    )
elif [ $# -gt 0 ]; then
    echo "setup.sh: unknown argument $1" >&2
    exit 2
fi
