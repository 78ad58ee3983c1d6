"""How long queries take a peer: pyoxigraph or sparq in this process' child, or a SPARQL endpoint over HTTP.

    peer_times.py oxigraph STORE QUERIES OUTPUT
    peer_times.py sparq    STORE QUERIES OUTPUT          a directory written by sparq's `save`
    peer_times.py URL      GRAPH QUERIES OUTPUT          such as http://127.0.0.1:8890/sparql

Writes OUTPUT/times.tsv, and the answers as OUTPUT/answers/NAME.json, graphs in N-Triples as NAME.nt. Each query is run from its text to the bytes of
its result, warm; the median counts. A query that takes longer than the limit ends with its process.
"""

import argparse
import http.client
import multiprocessing
import shutil
import statistics
import time
import urllib.parse
from pathlib import Path

RUNS_MIN, RUNS_MAX = 5, 10_000
MEDIA_TYPES = {
    "tsv": "text/tab-separated-values",
    "csv": "text/csv",
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
}


def results_format(text):
    for line in text.splitlines():
        if line.startswith("# results: "):
            return line.removeprefix("# results: ").strip()
    return "tsv"


class Oxigraph:
    def __init__(self, store, _limit):
        import pyoxigraph

        self.formats = {
            "tsv": pyoxigraph.QueryResultsFormat.TSV,
            "csv": pyoxigraph.QueryResultsFormat.CSV,
            "json": pyoxigraph.QueryResultsFormat.JSON,
            "xml": pyoxigraph.QueryResultsFormat.XML,
        }
        self.boolean = pyoxigraph.QueryBoolean
        self.triples, self.n_triples = pyoxigraph.QueryTriples, pyoxigraph.RdfFormat.N_TRIPLES
        self.store = pyoxigraph.Store.read_only(store)

    def run(self, text, form):
        results = self.store.query(text)
        if isinstance(results, self.boolean) and form in ("tsv", "csv"):
            return b"true" if results else b"false"
        if isinstance(results, self.triples):
            return results.serialize(format=self.n_triples)
        return results.serialize(format=self.formats[form])


class Sparq:
    """Writes JSON only."""

    def __init__(self, store, _limit):
        import sparq

        self.graph = sparq.Graph.open(store)

    def run(self, text, _form):
        words = [line for line in text.splitlines() if not line.startswith(("#", "PREFIX", "prefix"))]
        if "".join(words).lstrip().upper().startswith("ASK"):
            return b'{"head":{},"boolean":%s}' % (b"true" if self.graph.ask(text) else b"false")
        return self.graph.query_json(text).encode()


class Endpoint:
    def __init__(self, url, graph, limit):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(parts.netloc, timeout=limit)
        self.path, self.graph = parts.path, graph

    def run(self, text, form):
        body = urllib.parse.urlencode({"query": text, "default-graph-uri": self.graph})
        headers = {"Accept": MEDIA_TYPES[form], "Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request("POST", self.path, body, headers)
        response = self.connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(answer.decode(errors="replace"))
        return answer


def connect(peer, store, limit):
    if peer == "oxigraph":
        return Oxigraph(store, limit)
    if peer == "sparq":
        return Sparq(store, limit)
    return Endpoint(peer, store, limit)


def measure(program, text, spend):
    form = results_format(text)
    began = time.perf_counter()
    answer = program.run(text, form)
    first = (time.perf_counter() - began) * 1e3
    # What takes seconds is not run again.
    if first > 10_000 * spend:
        return first, first, len(answer)
    took = []
    began = time.perf_counter()
    while len(took) < RUNS_MIN or (time.perf_counter() - began < spend and len(took) < RUNS_MAX):
        run_began = time.perf_counter()
        answer = program.run(text, form)
        took.append((time.perf_counter() - run_began) * 1e3)
        if time.perf_counter() - began > 10 * spend:
            break
    return statistics.median(took), min(took), len(answer)


def serve(pipe, peer, store, limit, spend):
    """The child: opens the store, then measures what it is sent."""
    program = connect(peer, store, limit)
    pipe.send(None)
    while True:
        text, path = pipe.recv()
        try:
            pipe.send(measure(program, text, spend))
            answer = program.run(text, "json")
            is_graph = not answer.lstrip().startswith(b"{")
            Path(path).with_suffix(".nt" if is_graph else ".json").write_bytes(answer)
            pipe.send(None)
        except Exception as error:  # Whatever a peer's error is, it is the answer.
            pipe.send(" ".join(str(error).split())[:200] or type(error).__name__)


class Child:
    def __init__(self, *arguments):
        self.pipe, theirs = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=serve, args=(theirs, *arguments), daemon=True)
        self.process.start()
        theirs.close()
        self.pipe.recv()

    def answer(self, seconds):
        """What the child says within a time; an error as text."""
        if not self.pipe.poll(seconds):
            return "more than the limit"
        try:
            return self.pipe.recv()
        except EOFError:
            return "the process ended"

    def stop(self):
        self.process.kill()
        self.process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", help="oxigraph, sparq, or the URL of an endpoint")
    parser.add_argument("store", help="a directory, or for an endpoint the graph")
    parser.add_argument("queries", type=Path, help="a directory of .rq files")
    parser.add_argument("output", type=Path)
    parser.add_argument("--only", default="", help="only queries whose name contains this")
    parser.add_argument("--limit", type=float, default=20, help="seconds for a run (20)")
    parser.add_argument("--spend", type=float, default=0.2, help="seconds spent on the runs of a query (0.2)")
    arguments = parser.parse_args()
    answers = arguments.output / "answers"
    shutil.rmtree(answers, ignore_errors=True)
    answers.mkdir(parents=True)
    given = (arguments.peer, arguments.store, arguments.limit, arguments.spend)
    child = Child(*given)
    with open(arguments.output / "times.tsv", "w", encoding="utf-8") as output:
        print("query\tbytes\tms\tleast ms\terror", file=output)
        if arguments.peer.startswith("http"):
            child.pipe.send(("ASK {}", str(answers / "ASK.json")))
            print(f"ASK {{}}\t0\t{child.pipe.recv()[0]:.4f}\t\t", file=output)
            child.pipe.recv()
            (answers / "ASK.json").unlink()
        for path in sorted(arguments.queries.glob("*.rq")):
            if arguments.only not in path.stem:
                continue
            child.pipe.send((path.read_text(encoding="utf-8"), str(answers / f"{path.stem}.json")))
            figures = child.answer(arguments.limit + 1)
            if not isinstance(figures, str):
                # The answer, once more.
                error = child.answer(2 * arguments.limit)
                figures = error or figures
            if not isinstance(figures, str) and figures[0] > arguments.limit * 1e3:
                figures = "more than the limit"
            if isinstance(figures, str):
                print(f"{path.stem}\t\t\t\t{figures}", file=output, flush=True)
                for suffix in (".json", ".nt"):
                    (answers / f"{path.stem}{suffix}").unlink(missing_ok=True)
                child.stop()
                child = Child(*given)
            else:
                median, least, size = figures
                print(f"{path.stem}\t{size}\t{median:.4f}\t{least:.4f}\t", file=output, flush=True)
    child.stop()


if __name__ == "__main__":
    main()
