#!/usr/bin/env bash
# The full acceptance of part 3: the transport. Prints tables; exit code 1 when a line fails.
#
#   scripts/accept/3.sh [LINE...]     the lines of the list below, all by default: about 25 minutes
#
#   1 the reference's tests by name, 2 DCTCP's plans, 3 Vegas's plans, 4 our TCP against the kernel's,
#   5 packet scripts and their mutants, 6 the fast path, 7 the lab's cost per hop, 8 swarm
#
# Needs root, what scripts/two-links.sh and the README need, and valgrind; line 4 wants a quiet machine.
set -uo pipefail
cd "$(dirname "$0")/../.."
source scripts/accept/words.sh

lines=" ${*:-1 2 3 4 5 6 7 8} "

headline "build"
cargo build --release --locked --quiet --workspace --bins --examples; verdict "release build" $?

if wanted 1; then
    headline "1 the tests of the reference, by name"
    cargo test --workspace --locked >"$scratch/tests" 2>&1
    verdict "cargo test --workspace --locked" $? "$(grep -c ' ok$' "$scratch/tests") passed"
    scripts/accept/names.py "$scratch/tests" 3 || failed=1
fi
if wanted 2; then
    headline "2 DCTCP beside CUBIC"
    for name in dctcp-incast dctcp-latency dctcp-convergence dctcp-syn-ect dctcp-workload dctcp-vs-cubic; do
        plan "$name"
    done
fi
if wanted 3; then
    headline "3 Vegas beside Reno"
    for name in vegas-modem vegas-lan vegas-vs-reno; do
        plan "$name"
    done
fi
if wanted 4; then
    headline "4 our TCP against the kernel's: a pairwise array"
    scripts/tcp-array.sh; verdict "tcp-array.sh" $?
fi
if wanted 5; then
    headline "5 packet scripts and the mutants they kill"
    cargo test --locked -p trunkline-core --test scripts >"$scratch/scripts" 2>&1
    verdict "packet scripts" $? "$(grep -E '^test result' "$scratch/scripts" | head -1)"
    scripts/mutants.py; verdict "mutants" $?
fi
if wanted 6 || wanted 7; then
    headline "6, 7 instructions per segment and per packet-hop, smoltcp in the same process"
    scripts/bench-gate.sh; verdict "instruction-count gate" $?
fi
if wanted 8; then
    headline "8 random networks with every algorithm, recovery and queue"
    "$program" lab swarm --runs 2000 --quiet; verdict "lab swarm --runs 2000" $?
fi

conclude 3
