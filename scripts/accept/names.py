#!/usr/bin/env python3
"""Tells for every test the reference names whether there is one of that name, and whether it passed.

usage: names.py OUTPUT PART    what `cargo test` printed, and the part whose tests are asked for
"""

import re
import sys

NAMES = {
    "3": {"tcp": 6, "rec": 5, "cub": 3, "veg": 6, "dct": 6, "mod": 5, "dse": 6},
    "4": {"eth": 5, "vj": 7, "bst": 4, "crs": 6, "sb": 5},
}
TEST = re.compile(r"^test (?:\S*::)?([a-z]{2,3})_(\d)_(\S+)(?: - should panic)? \.\.\. (\w+)")


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in NAMES:
        sys.exit(__doc__)
    found = {}
    with open(sys.argv[1], encoding="utf-8") as output:
        for line in output:
            match = TEST.match(line)
            if match:
                group, number, rest, result = match.groups()
                found.setdefault((group, int(number)), []).append((rest, result))
    failed = False
    for group, count in NAMES[sys.argv[2]].items():
        for number in range(1, count + 1):
            tests = found.get((group, number), [])
            good = bool(tests) and all(result == "ok" for _, result in tests)
            failed |= not good
            what = tests[0][0].replace("_", " ") if tests else "no test of this name"
            print(f"{'ok' if good else 'FAILED':7} {group.upper()}-{number}: {what}"[:118])
    sys.exit(failed)


if __name__ == "__main__":
    main()
