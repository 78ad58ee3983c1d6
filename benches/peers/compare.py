"""Loads one N-Triples file with Quadrille and its peers in turn, and prints medians and ratios.

The programs alternate, so that whatever else the machine does meets all of them alike. Before each run the file is in
the page cache and nothing waits to be written back. That all of them loaded the same triples is checked in the first
round, outside the measured time.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import measure

PYTHON = sys.executable
HERE = Path(__file__).resolve().parent
OXIGRAPH = Path(PYTHON).parent / "oxigraph"


class Quadrille:
    name = "quadrille"

    def __init__(self, program, threads):
        self.program = program
        self.options = ["--threads", str(threads)] if threads else []

    def load(self, file, store):
        figures, _ = measure.run([self.program, "load", "--store", store, *self.options, file])
        return figures

    def triples(self, store):
        info = subprocess.run(
            [self.program, "info", "--store", store, "--json"], check=True, stdout=subprocess.PIPE
        )
        return json.loads(info.stdout)["quads"]


class Oxigraph:
    name = "oxigraph load"
    options = []

    def load(self, file, store):
        figures, _ = measure.run([OXIGRAPH, "load", "--location", store, *self.options, "--file", file])
        return figures

    def triples(self, store):
        code = "import sys, pyoxigraph; print(len(pyoxigraph.Store.read_only(sys.argv[1])))"
        return int(subprocess.run([PYTHON, "-c", code, store], check=True, stdout=subprocess.PIPE).stdout)


class OxigraphLenient(Oxigraph):
    name = "oxigraph load --lenient"
    options = ["--lenient"]


class Sparq:
    """In memory, or also written to files by its `save`."""

    def __init__(self, save):
        self.name = "sparq, saved" if save else "sparq, in memory"
        self.save = save

    def load(self, file, store):
        command = [PYTHON, HERE / "sparq_load.py", file, *([store] if self.save else [])]
        figures, said = measure.run(command)
        triples, wall, cpu = said.split()
        self.counted = int(triples)
        return measure.Figures(float(wall), float(cpu), figures.peak_mib)

    def triples(self, _store):
        return self.counted


def bytes_below(path):
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def main():
    parser = argparse.ArgumentParser(prog="load.sh", description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="N-Triples")
    parser.add_argument("runs", type=int, nargs="?", default=3, help="rounds (3)")
    parser.add_argument("--only", action="append", metavar="NAME", help="only peers whose name contains NAME")
    parser.add_argument("--threads", type=int, help="threads of Quadrille; by default what it chooses")
    parser.add_argument("--directory", type=Path, help="where stores are made, on the disk that is to be measured")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("one run at least")
    if arguments.file.suffix != ".nt":
        parser.error("the file must be N-Triples, named .nt")
    file = arguments.file.resolve(strict=True)
    ours = Quadrille(os.environ["QUADRILLE"], arguments.threads)
    peers = [Oxigraph(), OxigraphLenient(), Sparq(save=False), Sparq(save=True)]
    if arguments.only:
        peers = [peer for peer in peers if any(part in peer.name for part in arguments.only)]
    programs = [ours, *peers]

    versions = [
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        for command in ([ours.program, "--version"], [OXIGRAPH, "--version"])
    ]
    sparq_version = subprocess.run(
        [PYTHON, "-c", "import sparq; print(sparq.__version__)"], check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{file.name}, {file.stat().st_size:,} bytes; rounds: {arguments.runs}; {os.cpu_count()} CPUs, "
          f"{platform.machine()}, Linux {platform.release()}")
    print(f"{', '.join(versions)}, sparq {sparq_version}\n")

    measured = {program.name: [] for program in programs}
    sizes, counts = {}, {}
    for round_number in range(arguments.runs):
        for program in programs:
            with tempfile.TemporaryDirectory(prefix="peers-", dir=arguments.directory) as directory:
                store = str(Path(directory) / "store")
                with open(file, "rb") as data:
                    while data.read(1 << 20):
                        pass
                os.sync()
                measured[program.name].append(program.load(file, store))
                if round_number == 0:
                    sizes[program.name] = bytes_below(store)
                    counts[program.name] = program.triples(store)
            print(f"round {round_number + 1}: {program.name}: "
                  f"{measured[program.name][-1].wall_seconds:.2f} s", file=sys.stderr)
    if len(set(counts.values())) > 1:
        sys.exit(f"the programs did not load the same: {counts}")

    triples = counts[ours.name]
    print(f"{triples:,} distinct triples; medians\n")
    print(f"{'':24} {'wall s':>9} {'of ours':>8} {'M/s':>7} {'CPU s':>9} {'of ours':>8} "
          f"{'peak MiB':>9} {'disk MB':>9}")
    base = None
    for program in programs:
        runs = measured[program.name]
        wall = statistics.median(run.wall_seconds for run in runs)
        cpu = statistics.median(run.cpu_seconds for run in runs)
        peak = statistics.median(run.peak_mib for run in runs)
        base = base or (wall, cpu)
        print(f"{program.name:24} {wall:9.2f} {wall / base[0]:8.2f} {triples / wall / 1e6:7.2f} {cpu:9.2f} "
              f"{cpu / base[1]:8.2f} {peak:9.0f} {sizes[program.name] / 1e6:9.1f}")


if __name__ == "__main__":
    if shutil.which(str(OXIGRAPH)) is None:
        sys.exit("the peers are not installed: run setup.sh")
    main()
