#!/usr/bin/env python3
"""Plants bugs, one at a time, in a copy of the tree and lets the swarm look for each.

    scripts/planted-bugs.py [RUNS]        cases per bug at most, 500 unless told

Each bug is one line changed; a line that is no longer there is an error, so the list cannot go stale
unseen. The copy and its build live in a temporary directory; nothing here is changed. Exit code 1 when
a bug survives.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

# What it is, the file, the line, what is planted in its place.
BUGS = [
    (
        "damage goes unnoticed",
        "crates/core/src/wire/tcp.rs",
        "        integrity.accepts(|| packet.verifies(src, dst))?;",
        "        let _ = (integrity, src, dst);",
    ),
    (
        "a held segment waits on, though the hole before it is filled",
        "crates/core/src/tcp/reassembly.rs",
        "            if front.seq.gt(rcv_nxt) {",
        "            if front.seq.ge(rcv_nxt) {",
    ),
    (
        "a FIN ends the stream before the data ahead of it",
        "crates/core/src/tcp/input.rs",
        "        if fin.gt(self.rcv_nxt) {",
        "        if fin.lt(self.rcv_nxt) {",
    ),
    (
        "what waits for a dying member is forgotten",
        "crates/core/src/bond/mod.rs",
        "            self.ingress.push_front(waiting, len);",
        "            let _ = (waiting, len);",
    ),
    (
        "a writer is never told of new room",
        "crates/core/src/tcp/input.rs",
        "            self.pending.raise(Event::Writable);",
        "",
    ),
    (
        "a router takes no hop off",
        "crates/core/src/host/forward.rs",
        "        if ipv4::take_hop(cx.frames.bytes_mut(frame)).is_none() {",
        "        if cx.frames.bytes_mut(frame).is_empty() {",
    ),
    (
        "a slow host forgets a frame that waits for it",
        "crates/lab/src/cpu/machine.rs",
        "        self.arrived.push_back(Arrived { ready, link, frame });",
        "        self.arrived.push_back(Arrived { ready, link, frame });\n        self.arrived.truncate(7);",
    ),
    (
        "a compressed header is restored off by one",
        "crates/core/src/wire/vj/decompress.rs",
        "    let ident = if first & mask::IDENT != 0 { input.change()? } else { 1 };",
        "    let ident = if first & mask::IDENT != 0 { input.change()? } else { 0 };",
    ),
]


def main():
    runs = sys.argv[1] if len(sys.argv) > 1 else "500"
    root = pathlib.Path(__file__).resolve().parent.parent
    survived = 0
    with tempfile.TemporaryDirectory() as scratch:
        tree = pathlib.Path(scratch) / "tree"
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", root, tree], check=True)
        for name, path, line, planted in BUGS:
            file = tree / path
            text = file.read_text()
            if text.count(line + "\n") != 1:
                sys.exit(f"{path}: the line to plant `{name}` in is not there once: {line.strip()}")
            file.write_text(text.replace(line + "\n", planted + "\n"))
            build = ["cargo", "build", "--release", "--quiet", "--locked", "-p", "trunkline"]
            environment_target = ["--target-dir", str(pathlib.Path(scratch) / "target")]
            subprocess.run(build + environment_target, cwd=tree, check=True, stderr=subprocess.DEVNULL)
            program = pathlib.Path(scratch) / "target/release/trunkline"
            swarm = [program, "lab", "swarm", "--quiet", "--json", "--runs", runs, "--seed", "1"]
            done = subprocess.run(swarm, capture_output=True, text=True, check=False)
            failures = json.loads(done.stdout)["failures"]
            file.write_text(text)
            if failures:
                first = failures[0]
                what = first["what"].splitlines()[0][:90]
                print(f"found     {name}: {len(failures)} of {runs}, first seed {first['seed']}: {what}", flush=True)
            else:
                survived += 1
                print(f"SURVIVED  {name}: {runs} cases", flush=True)
    sys.exit(1 if survived else 0)


if __name__ == "__main__":
    main()
