#!/usr/bin/env bash
# Loads an N-Triples file into Virtuoso and prints what it took. See README.md.
#
#   virtuoso.sh FILE.nt [LOADERS]
#
# With several loaders the file is cut into as many parts beforehand: each loader takes whole files.
# The server listens on the loopback address alone, lives in a temporary directory, and is stopped at the end.
#   MEMORY_MIB     for its buffers (2048)
#   PORT           of its SQL interface (21111)
#   VIRTUOSO, ISQL the programs; by default those that setup.sh unpacked, or those on the path
#   DIRECTORY      where the database is made, on the disk that is to be measured
#   HTTP_PORT      of its SPARQL endpoint; without it there is none
#   WHEN_LOADED    a command that is run before the server is stopped
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
file=$(readlink -e "${1:?usage: virtuoso.sh FILE.nt [LOADERS]}")
loaders=${2:-1}
memory=${MEMORY_MIB:-2048}
port=${PORT:-21111}
peers=${PEERS:-$here/../../target/peers}
unpacked=$peers/virtuoso/usr/bin
virtuoso=${VIRTUOSO:-$([ -x "$unpacked/virtuoso-t" ] && echo "$unpacked/virtuoso-t" || command -v virtuoso-t || true)}
isql=${ISQL:-$([ -x "$unpacked/isql-vt" ] && echo "$unpacked/isql-vt" || command -v isql-vt || true)}
for libraries in "$peers"/virtuoso/{usr/,}lib/*-linux-gnu; do
    [ -d "$libraries" ] && export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
done
if [ -z "$virtuoso" ] || [ -z "$isql" ]; then
    echo "virtuoso.sh: virtuoso-t or isql-vt is missing: run setup.sh virtuoso" >&2
    exit 1
fi

directory=$(mktemp -d -p "${DIRECTORY:-${TMPDIR:-/tmp}}" virtuoso-XXXXXXXX)
server=
finish() {
    if [ -n "$server" ] && kill -0 "$server" 2>/dev/null; then
        kill "$server"
        wait "$server" || true
    fi
    rm -rf "$directory"
}
trap finish EXIT
mkdir "$directory/data"
if [ "$loaders" -gt 1 ]; then
    split --number="l/$loaders" --additional-suffix=.nt "$file" "$directory/data/part-"
else
    ln "$file" "$directory/data/data.nt" 2>/dev/null || cp "$file" "$directory/data/data.nt"
fi

# A buffer is 8 KiB and takes about 700 bytes beside; a quarter of them may be dirty, as the manual advises.
buffers=$((memory * 1024 * 1024 / 8700))
cat > "$directory/virtuoso.ini" <<INI
[Database]
DatabaseFile = $directory/virtuoso.db
ErrorLogFile = $directory/virtuoso.log
LockFile = $directory/virtuoso.lck
TransactionFile = $directory/virtuoso.trx
xa_persistent_file = $directory/virtuoso.pxa
ErrorLogLevel = 7
FileExtend = 4096
MaxCheckpointRemap = $((buffers / 4))
Striping = 0
TempStorage = TempDatabase

[TempDatabase]
DatabaseFile = $directory/virtuoso-temp.db
TransactionFile = $directory/virtuoso-temp.trx
MaxCheckpointRemap = 2000
Striping = 0

[Parameters]
ServerPort = 127.0.0.1:$port
DisableUnixSocket = 1
DisableTcpSocket = 0
ServerThreads = 20
CheckpointInterval = 0
O_DIRECT = 0
CaseMode = 2
NumberOfBuffers = $buffers
MaxDirtyBuffers = $((buffers * 3 / 4))
DirsAllowed = $directory/data
SchedulerInterval = 0
ThreadsPerQuery = $(nproc)
AsyncQueueMaxThreads = $(nproc)
DefaultIsolation = 2
MaxMemPoolSize = 200000000
INI
if [ -n "${HTTP_PORT:-}" ]; then
    cat >> "$directory/virtuoso.ini" <<INI

[HTTPServer]
ServerPort = 127.0.0.1:$HTTP_PORT
ServerThreads = 4
MaxClientConnections = 4

[SPARQL]
ResultSetMaxRows = 100000000
INI
fi

# The server's own CPU time in seconds.
cpu() {
    awk -v ticks="$(getconf CLK_TCK)" '{ sub(/^.*\) /, ""); printf "%.2f\n", ($12 + $13) / ticks }' "/proc/$server/stat"
}
sql() {
    "$isql" "127.0.0.1:$port" dba dba VERBOSE=OFF BANNER=OFF PROMPT=OFF ERRORS=STDOUT "exec=$1"
}

"$virtuoso" +foreground +configfile "$directory/virtuoso.ini" +pwddba dba +pwddav dba \
    > "$directory/server.out" 2>&1 &
server=$!
for _ in $(seq 120); do
    sql 'select 1;' > /dev/null 2>&1 && break
    if ! kill -0 "$server" 2>/dev/null; then
        cat "$directory/server.out" "$directory/virtuoso.log" >&2 || true
        echo "virtuoso.sh: the server did not start" >&2
        exit 1
    fi
    sleep 0.5
done

cat "$directory"/data/*.nt > /dev/null
sync
graph=http://example.org/lubm
sql "ld_dir('$directory/data', '*.nt', '$graph');" > /dev/null
cpu_before=$(cpu)
began=$(date +%s.%N)
clients=()
for _ in $(seq "$loaders"); do
    sql 'rdf_loader_run();' > /dev/null &
    clients+=($!)
done
wait "${clients[@]}"
sql 'checkpoint;' > /dev/null
ended=$(date +%s.%N)
cpu_after=$(cpu)

failed=$(sql 'select ll_error from DB.DBA.LOAD_LIST where ll_error is not null;' | tr -d '[:space:]')
if [ -n "$failed" ]; then
    echo "virtuoso.sh: the load failed: $failed" >&2
    exit 1
fi
triples=$(sql "sparql select count(*) from <$graph> where { ?s ?p ?o };" | grep -oE '[0-9]+' | tail -n 1)
peak=$(awk '/^VmHWM/ { printf "%.0f", $2 / 1024 }' "/proc/$server/status")
"$virtuoso" +version 2>&1 | grep -m 1 -i 'version' || true
awk -v wall="$(awk -v a="$began" -v b="$ended" 'BEGIN { print b - a }')" -v before="$cpu_before" -v after="$cpu_after" \
    -v triples="$triples" -v peak="$peak" -v size="$(stat -c %s "$directory/virtuoso.db")" -v loaders="$loaders" 'BEGIN {
    printf "%d triples, %d loader(s): wall %.2f s, CPU %.2f s, peak %d MiB, %.1f MB on disk\n",
        triples, loaders, wall, after - before, peak, size / 1e6
}'
if [ -n "${WHEN_LOADED:-}" ]; then
    bash -c "$WHEN_LOADED"
fi
sql 'shutdown;' > /dev/null 2>&1 || true
wait "$server" || true
server=
