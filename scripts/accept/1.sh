#!/usr/bin/env bash
# The full acceptance of part 1: the spine in virtual time. Prints a table; exit code 1 when a line fails.
#
#   scripts/accept/1.sh          all of it, about ten minutes on two cores
#
# Needs what the README needs, python3 and valgrind.
set -uo pipefail
cd "$(dirname "$0")/../.."
source scripts/accept/words.sh

headline "build"
cargo build --release --locked --quiet; verdict "release build" $?
cargo build --locked --quiet; verdict "debug build" $?

headline "1 eql-bentson, 2 eql-unequal: figures"
"$program" lab run eql-bentson --json --quiet >"$scratch/bentson.json"; verdict "lab run eql-bentson" $?
"$program" lab run eql-healey --json --quiet >"$scratch/healey.json"; verdict "lab run eql-healey" $?
"$program" lab run eql-unequal --json --quiet >"$scratch/unequal.json"; verdict "lab run eql-unequal" $?
"$program" lab run eql-latency --json --quiet >"$scratch/latency.json"; verdict "lab run eql-latency" $?
python3 scripts/accept/1_figures.py "$scratch" || failed=1

headline "3 digests"
digest() { "$@" --json --quiet | python3 -c 'import json, sys; print(json.load(sys.stdin)["digest"])'; }
cat >"$scratch/lossy.toml" <<'PLAN'
name = "lossy"
[[link]]
name = "a"
kind = "serial"
rate = "57.6kbit"
lab = { delay = "20ms", loss = "1%" }
[bond.b]
ends = ["x", "y"]
members = ["a"]
mode = "earliest"
mtu = 576
[lab]
duration = "600s"
[[lab.flow]]
name = "f"
from = "x"
to = "y"
app = { kind = "bulk", bytes = "200KB", content = "pattern" }
PLAN
for plan in eql-bentson eql-unequal eql-latency "$scratch/lossy.toml"; do
    once=$(digest "$program" lab run "$plan")
    same() { [ -n "$once" ] && [ "$2" = "$once" ]; verdict "$(basename "$plan"): $1" $? "${2:0:16}"; }
    same "another process" "$(digest "$program" lab run "$plan")"
    same "-j1" "$(digest "$program" lab run "$plan" -j1)"
    same "-j2" "$(digest "$program" lab run "$plan" -j2)"
    same "debug build" "$(digest target/debug/trunkline lab run "$plan")"
done
RUSTFLAGS="-C target-cpu=native" cargo build --release --locked --quiet --target-dir "$scratch/native"
verdict "build with -C target-cpu=native" $?
for plan in eql-bentson eql-unequal eql-latency "$scratch/lossy.toml"; do
    [ "$(digest "$program" lab run "$plan")" = "$(digest "$scratch/native/release/trunkline" lab run "$plan")" ]
    verdict "$(basename "$plan"): native CPU" $?
done
[ "$(digest "$program" lab run "$scratch/lossy.toml" --seed 7)" != "$(digest "$program" lab run "$scratch/lossy.toml")" ]
verdict "another seed, another digest on a plan with loss" $?

headline "4 tests by name"
cargo test --workspace --locked >"$scratch/tests" 2>&1; verdict "cargo test --workspace --locked" $? "$(grep -c ' ok$' "$scratch/tests") passed"
for name in eql_1 eql_2 eql_3 eql_4 eql_5 eql_6 eql_7 ben_1 ben_2 ben_3 ben_4 ben_5 ben_6 \
    tcp_1 tcp_2 tcp_3 tcp_4 tcp_5 tcp_6 rec_1 rec_2 \
    empty_poll_stays_empty only_eql_picks_a_full_member every_corpus_has_a_test_here; do
    grep -qE "^test .*${name}.* ok$" "$scratch/tests"; verdict "$name" $?
done

headline "5 swarm"
"$program" lab swarm --runs 500 --quiet; verdict "lab swarm --runs 500" $?
scripts/planted-bugs.py 500; verdict "five planted bugs found" $?

headline "6 instruction counts"
scripts/bench-gate.sh; verdict "instruction-count gate" $?

headline "7 a fresh clone"
git clone --quiet --no-hardlinks . "$scratch/clone"
(
    cd "$scratch/clone" || exit 1
    cargo run --release --quiet --target-dir "$scratch/native" -- lab run eql-bentson >/dev/null &&
        cargo run --release --quiet --target-dir "$scratch/native" -- lab show eql-two-modems >my.toml &&
        sed -i 's/^rate    = "28.8kbit"/rate    = "33.6kbit"/; s/^rate    = "14.4kbit"/rate    = "19.2kbit"/' my.toml &&
        cargo run --release --quiet --target-dir "$scratch/native" -- check my.toml &&
        cargo run --release --quiet --target-dir "$scratch/native" -- lab run my.toml
)
verdict "the README's commands" $?

conclude 1
