#!/usr/bin/env python3
"""Keeps the runs of one row of scripts/two-links.sh and prints the row.

add FILE GOODPUT     adds a run with the emulators' reports (JSON, one a line, on stdin); prints how many count
print FILE ROWS LABEL SUM PAYLOAD LAB
                     prints the median of the runs that count, beside the lab's prediction in Mbit/s or
                     -, and appends the row to ROWS
header               prints the head of the table
"""
import json
import statistics
import sys

OUTER = 1500
LATE_MAX = 1e-3
WIDTHS = (32, 14, 8, 11, 10, 9, 10, 9, 10, 9, 8)


def line(*cells):
    first, *rest = (str(cell).rjust(width) for cell, width in zip(cells, WIDTHS))
    print(" ".join([str(cells[0]).ljust(WIDTHS[0]), *rest]), flush=True)


def read(path):
    with open(path) as file:
        return [json.loads(text) for text in file]


def counting(runs):
    return [run for run in runs if run["goodput"] is not None and run["p99"] < LATE_MAX and run["own"] == 0]


def add(path, goodput):
    reports = [json.loads(text) for text in sys.stdin if text.strip()]
    run = {
        "goodput": None if goodput == "failed" else float(goodput),
        "p99": max(report["lateness"]["p99"] for report in reports),
        "max": max(report["lateness"]["max"] for report in reports),
        "own": sum(report["own_drops"] for report in reports),
        "queue": sum(report["up"]["queue_drops"] for report in reports),
    }
    with open(path, "a") as file:
        print(json.dumps(run), file=file)
    print(len(counting(read(path))))


def keep(path, record):
    with open(path, "a") as file:
        print(json.dumps(record), file=file)


def row(path, kept, label, total, payload, predicted):
    runs = read(path)
    good = counting(runs)
    shown = good or runs
    rates = [run["goodput"] for run in shown if run["goodput"] is not None]
    if not rates:
        keep(kept, {"label": label, "counted": 0, "goodput": 0.0, "of_ceiling": 0.0})
        line(label, "failed", *[""] * 8, f"0/{len(runs)}")
        return
    rate = statistics.median(rates)
    ceiling = float(total) * float(payload) / OUTER
    lab, record = ("-", "-"), {"label": label, "counted": len(good), "goodput": rate, "of_ceiling": rate / ceiling}
    if predicted != "-":
        record["lab_off"] = float(predicted) / rate - 1
        lab = (f"{float(predicted):.2f}", f"{100 * record['lab_off']:+.1f} %")
    keep(kept, record)
    line(
        label,
        f"{rate:.2f}",
        f"{100 * rate / float(total):.1f}",
        f"{100 * rate / ceiling:.1f}",
        *lab,
        f"{1e3 * max(run['p99'] for run in shown):.3f}",
        f"{1e3 * max(run['max'] for run in shown):.2f}",
        statistics.median_low(run["queue"] for run in shown),
        sum(run["own"] for run in shown),
        f"{len(good)}/{len(runs)}",
    )


match sys.argv[1:]:
    case ["header"]:
        line("", "goodput Mbit/s", "raw %", "% ceiling", "lab", "lab off", "late p99", "late max", "queue", "own", "counted")
        line("", "", "", "", "Mbit/s", "", "ms", "ms", "drops", "drops", "/ runs")
    case ["add", path, goodput]:
        add(path, goodput)
    case ["print", path, kept, label, total, payload, predicted]:
        row(path, kept, label, total, payload, predicted)
    case _:
        sys.exit(__doc__)
