"""The figures of part 1 out of the result documents in a directory, one line each."""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(sys.argv[1])
failed = False


def load(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def line(name, holds, text):
    global failed
    failed |= not holds
    print(f"{'ok' if holds else 'FAILED':7} {name:58} {text}")


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def bentson():
    document = load("bentson")
    rows = [f for f in document["figures"] if f["published"] is not None]
    line("rows", len(rows) == 52, str(len(rows)))
    errors = {f["id"]: f["reproduced"] / f["published"] - 1 for f in rows}
    middle = median([abs(e) for e in errors.values()])
    line("median error, all rows", middle <= 0.03, f"{middle:.2%} (at most 3 %)")
    held = median([abs(errors[f["id"]]) for f in rows if f["held_out"]])
    line("median error, rows held out", held <= 0.04, f"{held:.2%} (at most 4 %)")
    line("parameters", len(document["parameters"]) <= 8, ", ".join(
        f"{n} {p['value']} {p['unit']}" for n, p in document["parameters"].items()))
    single = {i: e for i, e in errors.items() if "lines=1" in i and "115200" not in i}
    worst = max(single.values(), key=abs)
    line("12 single-line rows to 57600, worst", len(single) == 12 and abs(worst) <= 0.03, f"{worst:+.1%} (3 % or noted)")
    free = {f["id"].replace(" without the chip limit", ""): f["reproduced"] for f in document["figures"] if "without" in f["id"]}
    for row in rows:
        if re.search(r"lines=[23] bps=115200", row["id"]):
            kbit = row["reproduced"] / 1000
            text = f"{kbit:.1f} kbit/s with the chip, {free[row['id']] / 1000:.1f} without"
            line(row["id"], 144 <= kbit <= 176, text + " (160 within 10 %)")
    shares = [f["trunkline"] / f["ceiling"] for f in rows if "bps=115200" not in f["id"]]
    line("trunkline, share of ceiling below the chip limit, least", min(shares) >= 0.97, f"{min(shares):.1%} (at least 97 %)")
    for row in rows:
        if abs(errors[row["id"]]) > 0.10:
            line(f"residual above 10 %: {row['id']}", row["note"] is not None, f"{errors[row['id']]:+.1%} noted")


def unequal():
    document = load("unequal")
    runs = {(f["run"], f["flow"]): f for f in document["flows"]}
    links = {(l["run"], l["link"]): l for l in document["links"]}
    windows = "windows 14335 B (linux-1.1), 64 KiB (modern)"
    for label in sorted({r.rsplit(" ", 1)[0] for r, _ in runs}):
        name = re.sub(r"(fast|slow|line)=", "", label)
        share = {v: runs[f"{label} {v}", "ftp"]["of_ceiling"] for v in ("told", "untold", "early", "terminal-server", "trunkline")}
        text = "  ".join(f"{v} {s:.1%}" for v, s in share.items())
        holds = share["trunkline"] >= 0.98 and share["untold"] < share["told"]
        if "57.6kbit" in label and "async" in label:
            holds &= 0.45 <= share["told"] <= 0.75
        line(f"{name}: of ceiling", holds, text)
        places = runs[f"{label} trunkline", "ftp"]["reorder_places"]
        slow = links[f"{label} early", "slow"]["share"]
        starves = slow <= 0.02 or "28.8kbit" in label.split()[0]
        line(f"{name}: earliest out of order, eql-early slow share", places <= 2 and starves, f"{places:.0f} places, {slow:.1%}; {windows}")
        line(f"{name}: bytes", runs[f"{label} told", "ftp"]["bytes"] >= 1e6, f"{runs[f'{label} told', 'ftp']['bytes']:.0f}")


def latency():
    document = load("latency")
    for lines in (1, 2, 3, 4):
        value = {f["id"].split(" lines")[0]: f for f in document["figures"] if f["id"].endswith(f"lines={lines} mtu=544")}
        knee = next(f for f in document["figures"] if f["id"] == f"knee of the MTU lines={lines}")
        text = (f"ping idle {value['ping idle']['reproduced']:.3f} s, loaded {value['ping loaded']['reproduced']:.3f} s "
                f"(trunkline {value['ping loaded']['trunkline']:.3f} s), knee at MTU {knee['reproduced']:.0f} and {knee['trunkline']:.0f}")
        line(f"{lines} lines, MTU 544", value["ping loaded"]["reproduced"] > value["ping idle"]["reproduced"], text)


bentson()
line("eql-healey, its inequality", load("healey")["summary"]["expectations"] == {"met": 2, "failed": 0}, "")
unequal()
latency()
sys.exit(failed)
