"""Puts the times of several programs side by side, as a Markdown table, and compares their answers.

    compare.py QUERIES NAME=DIRECTORY NAME=DIRECTORY...

The first program is the one that the others are compared with. A directory has times.tsv and answers/NAME.json, for a
graph answers/NAME.nt, as query_times (its standard output) and peer_times.py write them. Answers are compared as
multisets of rows, numbers by value to nine digits (xsd:float, which has seven, to five: the last digits of a sum
depend on its sequence), blank nodes as such; where a query's comment says `# answers: count`, by the number of rows.
"""

import csv
import hashlib
import json
import math
import re
import sys
from pathlib import Path

NUMERIC = {"integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger"}
XSD = "http://www.w3.org/2001/XMLSchema#"


def value(term):
    """What of a term must be the same in all programs."""
    kind, text = term["type"], term["value"]
    if kind == "bnode":
        return "_:"
    if kind == "uri":
        return f"<{text}>"
    datatype = term.get("datatype", "").removeprefix(XSD)
    if datatype in NUMERIC:
        try:
            return f"{float(text):.{5 if datatype == 'float' else 9}g}"
        except ValueError:
            return text
    return f'"{text}"{term.get("xml:lang", "").lower()}'


def answer(path, by_count):
    """The number of rows and a hash of them; None if there is none."""
    graph = path.with_suffix(".nt")
    if graph.exists():
        triples = {re.sub(r"_:\S+", "_:", line) for line in graph.read_text(encoding="utf-8").splitlines()}
        return len(triples), hashlib.sha256("\n".join(sorted(triples)).encode()).hexdigest()
    try:
        results = json.loads(path.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    if "boolean" in results:
        return 1, str(results["boolean"])
    rows = results["results"]["bindings"]
    if by_count:
        return len(rows), ""
    names = sorted(results["head"]["vars"])
    lines = sorted("\t".join(value(row[name]) if name in row else "" for name in names) for row in rows)
    return len(rows), hashlib.sha256("\n".join(lines).encode()).hexdigest()


def times(directory):
    with open(directory / "times.tsv", encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {row["query"]: (float(row["ms"]) if row["ms"] else None, row["error"] or "") for row in rows}


def geometric_mean(numbers):
    return math.exp(sum(math.log(number) for number in numbers) / len(numbers)) if numbers else math.nan


def shown(milliseconds):
    return f"{milliseconds:.3f}" if milliseconds < 10 else f"{milliseconds:,.0f}"


def main():
    queries = Path(sys.argv[1])
    programs = [(name, Path(directory)) for name, directory in (given.split("=", 1) for given in sys.argv[2:])]
    took = {name: times(directory) for name, directory in programs}
    # An endpoint pays for HTTP: what its emptiest query takes is subtracted in a column of its own.
    empty = {name: took[name].pop("ASK {}")[0] for name, _ in programs if "ASK {}" in took[name]}
    ours, peers = programs[0][0], [name for name, _ in programs[1:]]
    header = ["query", "rows", ours]
    for name in peers:
        header += [name, "ratio"] + (["less ASK", "ratio"] if name in empty else [])
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " ---: |" * (len(header) - 1))
    ratios, net_ratios, mine, notes = {name: [] for name in peers}, {name: [] for name in empty}, [], []
    for path in sorted(queries.glob("*.rq")):
        name = path.stem
        our_time, error = took[ours].get(name, (None, "not run"))
        by_count = "# answers: count" in path.read_text(encoding="utf-8")
        answers = {program: answer(directory / "answers" / f"{name}.json", by_count) for program, directory in programs}
        rows = answers[ours][0] if answers[ours] else ""
        cells = [name, str(rows), shown(our_time) if our_time is not None else "–"]
        if our_time is None:
            notes.append(f"`{name}`: {ours}: {error}")
        else:
            mine.append(our_time)
        for peer in peers:
            time, error = took[peer].get(name, (None, "not run"))
            columns = []
            if time is None:
                columns = ["–", ""] + (["", ""] if peer in empty else [])
                notes.append(f"`{name}`: {peer}: {error}")
            else:
                mark = ""
                if answers[ours] and answers[peer] and answers[ours] != answers[peer]:
                    mark = " ≠"
                    notes.append(f"`{name}`: {peer} answers otherwise, with {answers[peer][0]} rows")
                columns = [shown(time) + mark, ""]
                if our_time is not None:
                    ratio = time / our_time
                    columns[1] = f"{ratio:.1f}"
                    ratios[peer].append(ratio)
                if peer in empty:
                    net = max(time - empty[peer], 0.001)
                    columns += [shown(net), ""]
                    if our_time is not None:
                        columns[3] = f"{net / our_time:.1f}"
                        net_ratios[peer].append(net / our_time)
            cells += columns
        print("| " + " | ".join(cells) + " |")
    print(f"\nGeometric mean of {ours}: {geometric_mean(mine):.3f} ms over {len(mine)} queries.")
    for peer in peers:
        both = ratios[peer]
        slower = sum(ratio < 1 for ratio in both)
        print(f"\n{peer}: {geometric_mean(both):.1f} times the time of {ours} (geometric mean over the {len(both)} "
              f"queries that both answered); faster in {slower}.")
        if peer in empty:
            print(f"Less its median `ASK {{}}` of {empty[peer]:.3f} ms: {geometric_mean(net_ratios[peer]):.1f} times; "
                  f"faster in {sum(ratio < 1 for ratio in net_ratios[peer])}.")
    if notes:
        print("\n" + "\n".join(f"* {note}" for note in notes))


if __name__ == "__main__":
    main()
