#!/usr/bin/env python3
"""Fits the parameters of plans/published/eql-bentson.toml.

Objective: the root mean square of ln(reproduced / published) over the 17 rows of MTU 600. The rows of
MTU 400 and 900 are never looked at; what they come to with the fitted values is printed at the end.
Method: coordinate descent from the plan's own values, each parameter stepped up and down, the steps
halved whenever a whole round brings nothing.

    cargo build --release && scripts/fit-bentson.py [--rounds N]

Prints the values; copy them into the plan by hand. Nothing is written.
"""
import argparse
import json
import math
import subprocess
import sys
import tomllib

BINARY = "target/release/trunkline"
PLAN = "plans/published/eql-bentson.toml"


def run(values, mtu):
    command = [BINARY, "lab", "run", PLAN, "--json", "--quiet"]
    for name, value in values.items():
        command += ["--set", f"lab.parameters.{name}.value={value}"]
    command += ["--set", f"lab.rows.where={{ mtu = {json.dumps(mtu)} }}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    figures = json.loads(done.stdout)["figures"]
    return [f for f in figures if f["published"] is not None]


def errors(figures):
    return [math.log(f["reproduced"] / f["published"]) if f["reproduced"] else 1.0 for f in figures]


def objective(values):
    logs = errors(run(values, [600]))
    return math.sqrt(sum(e * e for e in logs) / len(logs))


def show(name, figures):
    shares = sorted(abs(math.exp(e) - 1) for e in errors(figures))
    middle = shares[len(shares) // 2]
    print(f"{name}: {len(shares)} rows, median {middle:.2%}, worst {shares[-1]:.2%}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=12)
    rounds = arguments.parse_args().rounds
    with open(PLAN, "rb") as file:
        parameters = tomllib.load(file)["lab"]["parameters"]
    fitted = [n for n, p in parameters.items() if p["origin"].startswith("fitted")]
    values = {n: p["value"] for n, p in parameters.items()}
    steps = {n: 0.1 * values[n] for n in fitted}
    whole = {n for n in fitted if isinstance(values[n], int)}
    best = objective(values)
    for round_number in range(rounds):
        before = best
        for name in fitted:
            for sign in (1, -1):
                trial = dict(values)
                moved = values[name] + sign * steps[name]
                trial[name] = int(round(moved)) if name in whole else round(moved, 4)
                if trial[name] <= 0 or trial[name] == values[name]:
                    continue
                score = objective(trial)
                if score < best:
                    best, values = score, trial
                    break
        if best == before:
            steps = {n: s / 2 for n, s in steps.items()}
        print(f"round {round_number + 1}: rms {best:.4f}", {n: values[n] for n in fitted}, flush=True)
    show("fitted on MTU 600", run(values, [600]))
    show("held out, MTU 400 and 900", run(values, [400, 900]))


if __name__ == "__main__":
    main()
