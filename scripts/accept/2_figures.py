#!/usr/bin/env python3
"""Judges the rows two-links.sh kept. Exit code 1 when a line fails.

2_figures.py rates FILE        every `earliest` row at least 95 % of its ceiling, the lab within 10 % of it
2_figures.py delays FILE       `earliest` at least 85 % of its ceiling and no less than the best single link
"""
import json
import sys

failed = False


def judge(ok, what, text):
    global failed
    failed |= not ok
    print(f"{'ok' if ok else 'FAILED':7} {what:58} {text}")


def main(kind, path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    bonds = [row for row in rows if row["label"].startswith("bond earliest")]
    singles = [row for row in rows if row["label"].startswith("link")]
    least = {"rates": 0.95, "delays": 0.85}[kind]
    for row in bonds:
        share = row["of_ceiling"]
        judge(row["counted"] > 0 and share >= least, f"{row['label']}: at least {least:.0%}", f"{share:.1%}")
        if singles:
            best = max(single["goodput"] for single in singles)
            text = f"{row['goodput']:.2f} and {best:.2f} Mbit/s"
            judge(row["goodput"] >= best, f"{row['label']}: no less than the best link", text)
    for row in rows:
        if "lab_off" in row:
            off = row["lab_off"]
            judge(abs(off) <= 0.1, f"{row['label']}: the lab within 10 %", f"{off:+.1%}")
    judge(bool(bonds), "there are rows to judge", str(len(rows)))


main(*sys.argv[1:])
sys.exit(failed)
