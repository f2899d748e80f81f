#!/usr/bin/env python3
"""Keeps the runs of one row of scripts/tcp-interop.sh and prints the row.

add DIRECTORY NEAR SENDS BEFORE AFTER     adds the run whose files are in DIRECTORY; BEFORE and AFTER are the
                                          counters of resets
print FILE NEAR OPENS SENDS LOSS          prints the median of the runs; status 1 when one was not as it must be
header                                    prints the head of the table
"""
import filecmp
import json
import os
import statistics
import sys

WIDTHS = (20, 8, 6, 9, 9, 8, 8, 6, 7, 7)


def line(*cells):
    first, *rest = (str(cell) for cell in cells)
    cells = [first.ljust(WIDTHS[0]), *(c.rjust(w) for c, w in zip(rest, WIDTHS[1:]))]
    print(" ".join(cells), flush=True)


def result(directory, end):
    words = open(f"{directory}/{end}.result").read().split()
    figures = dict(word.split("=", 1) for word in words if "=" in word)
    return figures.get("ended", "failed"), float(figures.get("seconds", "nan")), int(figures.get("retransmissions", 0))


def add(directory, near, sends, before, after):
    ends = {near: "server", "server": near}
    run = {"seconds": [], "bytes": 0, "retransmissions": 0, "equal": True, "closed": before == after}
    for end, other in ends.items():
        ended, seconds, retransmissions = result(directory, end)
        run["retransmissions"] += retransmissions
        run["closed"] &= ended == "Closed"
        sent, received = f"{directory}/{other}.sent", f"{directory}/{end}.received"
        run["equal"] &= filecmp.cmp(sent, received, shallow=False)
        if sends in (other, "both"):
            run["bytes"] += os.path.getsize(sent)
            run["seconds"].append(seconds)
    run["seconds"] = max(run["seconds"])
    run["late"] = json.load(open(f"{directory}/report"))["lateness"]["p99"] * 1e3
    with open(f"{directory}/runs", "a") as file:
        print(json.dumps(run), file=file)


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def show(path, near, opens, sends, loss):
    runs = [json.loads(text) for text in open(path)]
    names = {"ours": "ours", "home": "kernel", "server": "kernel"}
    arrow = {"both": "<->", near: "->", "server": "<-"}[sends]
    size, seconds = runs[0]["bytes"], median(runs, "seconds")
    equal, closed = (all(run[key] for run in runs) for key in ("equal", "closed"))
    opener = {"ours": "ours", "server": "far", "home": "near"}[opens]
    line(f"{names[near]} {arrow} kernel", opener, f"{loss} %", size, f"{seconds:.2f}",
         f"{size * 8 / seconds / 1e6:.1f}", f"{median(runs, 'retransmissions'):.0f}",
         "yes" if equal else "NO", "yes" if closed else "NO", f"{max(run['late'] for run in runs):.2f}")
    return not (equal and closed)


def main():
    verb, *words = sys.argv[1:]
    if verb == "add":
        add(*words)
    elif verb == "print":
        sys.exit(show(*words))
    else:
        line("direction", "opens", "loss", "bytes", "seconds", "Mbit/s", "resent", "equal", "closed", "late")


main()
