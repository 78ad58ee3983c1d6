"""Loads an N-Triples file into sparq, in memory; with a second argument also saves it to that directory.

Prints the number of triples, and what the load alone took: the start of Python is not sparq's fault.
"""

import resource
import sys
import time
from pathlib import Path

import sparq


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    path = Path(sys.argv[1])
    wall, cpu = time.monotonic(), cpu_seconds()
    graph = sparq.Graph.load(path, format="ntriples")
    if len(sys.argv) > 2:
        graph.save(sys.argv[2])
    wall, cpu = time.monotonic() - wall, cpu_seconds() - cpu
    print(f"{len(graph)} {wall:.6f} {cpu:.6f}")


main()
