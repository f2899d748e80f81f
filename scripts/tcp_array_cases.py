"""The cases of scripts/tcp-array.sh: every pair of values of any two factors stands in one of them.

The rows come from a greedy search without chance: the first pair that is not covered yet begins a row, and every
other factor takes the value that covers most. Called as a program it prints them, and checks that it is so.
"""
import itertools
from collections import Counter

OURS = ("reno", "cubic", "vegas", "dctcp")
KERNELS = ("reno", "cubic", "bbr")

FACTORS = {
    "sender": tuple(f"ours {cc}" for cc in OURS) + tuple(f"kernel {cc}" for cc in KERNELS),
    "receiver": (0, 1, 2, 3),  # which algorithm of its side the receiver has
    "opens": ("sender", "receiver"),
    "ip": (4, 6),
    "ecn": ("off", "on", "marks"),
    "loss": (0, 0.1, 1, 5),
    "reorder": (0, 1),
    "mtu": (576, 1280, 1500, 9000),
}
NAMES = tuple(FACTORS)


def allowed(case):
    """An IPv6 link has an MTU of 1280 at least (RFC 8200, 5)."""
    return not (case.get("ip") == 6 and case.get("mtu") == 576)


def pairs_of(case):
    known = [(name, case[name]) for name in NAMES if name in case]
    return set(itertools.combinations(known, 2))


def all_pairs():
    for one, other in itertools.combinations(NAMES, 2):
        for values in itertools.product(FACTORS[one], FACTORS[other]):
            case = dict(zip((one, other), values))
            if allowed(case):
                yield ((one, values[0]), (other, values[1]))


def completed(case, open_pairs, rows):
    """The other factors, each with what covers most; among equals the one that was used least so far."""
    for name in NAMES:
        if name in case:
            continue
        options = [{**case, name: value} for value in FACTORS[name]]
        options = [option for option in options if allowed(option)]
        used = Counter(row[name] for row in rows)
        case = max(options, key=lambda option: (len(pairs_of(option) & open_pairs), -used[option[name]]))
    return case


def cases():
    ordered = list(all_pairs())
    open_pairs = set(ordered)
    rows = []
    for pair in ordered:
        if pair not in open_pairs:
            continue
        row = completed(dict(pair), open_pairs, rows)
        open_pairs -= pairs_of(row)
        rows.append({name: row[name] for name in NAMES})
    return rows


def algorithms(case):
    """The sides of sender and receiver and the algorithms of both: (side, algorithm), (side, algorithm)."""
    side, cc = case["sender"].split()
    other = "kernel" if side == "ours" else "ours"
    names = KERNELS if other == "kernel" else OURS
    return (side, cc), (other, names[case["receiver"] % len(names)])


if __name__ == "__main__":
    rows = cases()
    for row in rows:
        print(*row.values(), sep="\t")
    missing = set(all_pairs()) - set().union(*map(pairs_of, rows))
    print(f"{len(rows)} cases, {len(missing)} pairs missing")
