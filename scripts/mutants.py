#!/usr/bin/env python3
"""Breaks our TCP in small ways and looks which conversations of its script suite notice.

    scripts/mutants.py [--write | --tables]

The mutants are in scripts/mutants.txt: one changed expression each. All of them go into one copy of the
tree, each behind a number that the environment chooses when the suite runs, so that one build is enough.
A place that is no longer there, or there twice, is an error, so the list cannot go stale unseen.

Prints the mutants that survive and the scripts that kill none; with --write it also writes what each
mutant is noticed by into docs/tcp-conformance.md, with the list of MUSTs and the scripts by section; with
--tables it writes only these two, and builds nothing. Exit code 1 when a mutant survives or a script
kills none.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "target/mutants"
SUITE = "crates/core/tests/scripts"
SWITCH = """
/// Which mutant is alive.
pub fn mutant() -> u32 {
    static NUMBER: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *NUMBER.get_or_init(|| {
        std::env::var("MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0)
    })
}
"""


def read_mutants():
    """Every mutant: its file, what stands there, what is planted instead."""
    mutants, file = [], None
    lines = (ROOT / "scripts/mutants.txt").read_text().splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("@ "):
            file = "crates/core/src/" + line[2:].strip()
            continue
        if " => " not in line and not line.endswith(" =>"):
            sys.exit(f"scripts/mutants.txt:{number}: expected `old => new`")
        # An arm of a match has an arrow too: the last one separates.
        old, new = line.rsplit(" =>", 1) if line.endswith(" =>") else line.rsplit(" => ", 1)
        mutants.append((file, old.strip().replace("\\n", "\n"), new.strip()))
    return mutants


def planted(numbered, old):
    """The text that stands for `old`: each mutant behind its number."""
    is_statement = old.endswith(";")
    text = old
    for number, new in numbered:
        if is_statement and not new:
            text = f"if crate::mutant() != {number} {{ {text} }}"
        elif is_statement:
            text = f"if crate::mutant() == {number} {{ {new} }} else {{ {text} }}"
        else:
            text = f"(if crate::mutant() == {number} {{ {new} }} else {{ {text} }})"
    return text


def plant(tree, mutants):
    by_place = {}
    for number, (file, old, new) in enumerate(mutants, 1):
        by_place.setdefault(file, {}).setdefault(old, []).append((number, new))
    for file, places in by_place.items():
        path = tree / file
        text = path.read_text()
        cuts = []
        for old, numbered in places.items():
            whole = old.replace("[[", "").replace("]]", "")
            if text.count(whole) != 1:
                sys.exit(f"{file}: `{whole}` is there {text.count(whole)} times, not once")
            before, inner = old.split("[[") if "[[" in old else ("", old)
            at = text.index(whole) + len(before)
            inner = inner.split("]]")[0]
            cuts.append((at, at + len(inner), planted(numbered, inner)))
        cuts.sort()
        for (_, end, _), (start, _, _) in zip(cuts, cuts[1:]):
            if start < end:
                sys.exit(f"{file}: two places overlap at `{text[start:end]}`")
        for start, end, new in reversed(cuts):
            text = text[:start] + new + text[end:]
        path.write_text(text)
    lib = tree / "crates/core/src/lib.rs"
    lib.write_text(lib.read_text() + SWITCH)


def copy_tree():
    """The tracked files, those changed or new included; unchanged ones keep their times."""
    tree = TARGET / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()
    shutil.rmtree(tree, ignore_errors=True)
    for name in listed:
        source, copy = ROOT / name, tree / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    return tree


def build(tree):
    command = ["cargo", "test", "--locked", "-p", "trunkline-core", "--test", "scripts", "--no-run"]
    command += ["--message-format=json", "--quiet"]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(TARGET / "build"), RUSTFLAGS="-Awarnings")
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    program = None
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["target"]["name"] == "scripts":
            program = message["executable"]
        rendered = (message.get("message") or {}).get("rendered") if done.returncode else None
        if rendered:
            print(rendered, file=sys.stderr)
    if done.returncode or not program:
        sys.exit(done.stderr or "the mutants do not build")
    return program


def play(program, number):
    """The scripts that fail with a mutant alive; none when the suite never ends."""
    environment = dict(os.environ, MUTANT=str(number), RUST_BACKTRACE="0")
    command = [program, "--exact", "every_script_goes_as_written", "--nocapture"]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    return set(re.findall(r"^(\S+)\.script:\d+: ", done.stdout + done.stderr, re.MULTILINE))


def read_scripts():
    """Every script: its title, its sections, its MUSTs."""
    scripts = {}
    for path in sorted((ROOT / SUITE).rglob("*.script")):
        lines = path.read_text().splitlines()
        title = lines[0].lstrip("# ").rstrip()
        sections, musts = [], []
        for words in (line.replace(",", " ").split() for line in lines):
            if words[:1] == ["rfc"]:
                sections += [(int(words[1]), section) for section in words[2:]]
            elif words[:1] == ["must"]:
                musts += [int(word) for word in words[1:]]
        scripts[str(path.relative_to(ROOT / SUITE).with_suffix(""))] = (title, sections, musts)
    return scripts


def section_key(section):
    return [int(part) if part.isdigit() else 0 for part in section.split(".")]


def tables(scripts):
    """What is told without breaking anything: the MUSTs, and the scripts by section."""
    out = ["# What proves that our TCP is one", ""]
    out += [
        f"{len(scripts)} conversations in virtual time (`{SUITE}`, told in `language.rs` there) say packet by",
        "packet and to the nanosecond what a host answers; each is played with and without header prediction",
        "and with sequence numbers that wrap and that do not. `cargo test -p trunkline-core --test scripts`",
        "plays them all. `scripts/mutants.py --tables` writes the first two tables anew, `--write` all three.",
        "",
        "## The MUSTs of RFC 9293",
        "",
        "By the numbers of its appendix B. What is held is proven by the conversations and tests named.",
        "",
        "| MUST | asks | state | proven by |",
        "|---|---|---|---|",
    ]
    for number, state, asks, tests in read_musts():
        by = [f"`{name}`" for name in scripts if number in scripts[name][2]]
        by += [f"`{test}`" for test in tests]
        out.append(f"| {number} | {asks} | {state} | {', '.join(by)} |")
    out += ["", "## Conversations by section", "", "| RFC | section | conversation | proves |", "|---|---|---|---|"]
    rows = [(rfc, section, name) for name in scripts for rfc, section in scripts[name][1]]
    for rfc, section, name in sorted(rows, key=lambda row: (row[0], section_key(row[1]), row[2])):
        out.append(f"| {rfc} | {section} | `{name}` | {scripts[name][0]} |")
    return out + [""]


def deaths(scripts, mutants, kills):
    """Which mutant is noticed by what."""
    noticed = sum(1 for failing in kills.values() if failing is None or failing)
    counts = sorted(sum(1 for failing in kills.values() if failing and name in failing) for name in scripts)
    out = ["## Mutants", ""]
    out += [
        f"`scripts/mutants.py` breaks the code in {len(mutants)} ways, one at a time: {noticed} are noticed, by",
        f"the conversations named or by as many as told. Every one of {len(scripts)} conversations notices",
        f"{counts[0]} at least, half of them {counts[len(counts) // 2]} or more.",
        "",
        "| file | was | becomes | noticed by |",
        "|---|---|---|---|",
    ]
    for number, (file, old, new) in enumerate(mutants, 1):
        failing = kills[number]
        if failing is None:
            by = "a suite that never ends"
        elif len(failing) > 3:
            by = str(len(failing))
        else:
            by = ", ".join(f"`{name}`" for name in sorted(failing)) or "nobody"
        shown = [f"`{text}`".replace("|", "\\|").replace("\n", " ") if text else "nothing" for text in (old, new)]
        out.append(f"| {file.removeprefix('crates/core/src/')} | {shown[0]} | {shown[1]} | {by} |")
    return out


def write(scripts, rest):
    (ROOT / "docs/tcp-conformance.md").write_text("\n".join(tables(scripts) + rest).rstrip() + "\n")


def written_deaths():
    """What the document says of mutants now."""
    path = ROOT / "docs/tcp-conformance.md"
    lines = path.read_text().splitlines() if path.exists() else []
    return lines[lines.index("## Mutants") :] if "## Mutants" in lines else []


def read_musts():
    """Number, state, what is asked, and the tests beside the scripts."""
    rows = []
    for line in (ROOT / SUITE / "musts.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            number, state, asks, tests = (part.strip() for part in line.split("|"))
            rows.append((int(number), state, asks, tests.split()))
    return rows


def main():
    mutants, scripts = read_mutants(), read_scripts()
    if "--tables" in sys.argv:
        return write(scripts, written_deaths())
    tree = copy_tree()
    plant(tree, mutants)
    program = build(tree)
    kills = {}
    if play(program, 0):
        sys.exit("the suite fails without a mutant")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        numbers = range(1, len(mutants) + 1)
        for number, failing in zip(numbers, pool.map(lambda n: play(program, n), numbers)):
            kills[number] = failing
    survivors = [mutants[n - 1] for n, failing in kills.items() if failing is not None and not failing]
    for file, old, new in survivors:
        print(f"SURVIVED  {file}: {old} => {new}")
    noticed = set().union(*(failing for failing in kills.values() if failing))
    idle = [name for name in scripts if name not in noticed]
    for name in idle:
        print(f"KILLS NONE  {name}")
    print(f"{len(mutants)} mutants, {len(survivors)} survive; {len(scripts)} scripts, {len(idle)} kill none")
    if "--write" in sys.argv:
        write(scripts, deaths(scripts, mutants, kills))
    sys.exit(1 if survivors or idle else 0)


if __name__ == "__main__":
    main()
