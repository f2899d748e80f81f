#!/usr/bin/env bash
# The full acceptance of part 4: Ethernet and machines. Prints tables; exit code 1 when a line fails.
#
#   scripts/accept/4.sh [LINE...]     the lines of the list below, all by default: about 15 minutes
#
#   1 the reference's tests by name, 2 every published plan, 3 the Suns and the servers with two cards,
#   4 broadcast storms, 5 the speed of the lab and of a shared Ethernet, 6 every feature alone, left out and in
#   pairs, 7 what is refused
#
# Needs what the README needs, python3 and valgrind.
set -uo pipefail
cd "$(dirname "$0")/../.."
source scripts/accept/words.sh

lines=" ${*:-1 2 3 4 5 6 7} "

headline "build"
cargo build --release --locked --quiet --workspace --bins; verdict "release build" $?

if wanted 1; then
    headline "1 the tests of the reference, by name"
    cargo test --workspace --locked >"$scratch/tests" 2>&1
    verdict "cargo test --workspace --locked" $? "$(grep -c ' ok$' "$scratch/tests") passed"
    scripts/accept/names.py "$scratch/tests" 4 || failed=1
fi
if wanted 2; then
    headline "2 every published plan, in under two minutes"
    began=$SECONDS
    "$program" lab verify --quiet --color never; verdict "lab verify" $? "$((SECONDS - began)) s"
    [ $((SECONDS - began)) -lt 120 ]; verdict "under two minutes" $?
fi
if wanted 3; then
    headline "3 slow computers and two cards"
    for name in jacobson-sun3 crs4-bonding crs4-backup sb1000; do
        plan "$name"
    done
fi
if wanted 4; then
    headline "4 a broadcast on a cable"
    for name in broadcast-storm nfs-load vax-cluster; do
        plan "$name"
    done
    for seed in 1 2 3 4 5; do
        for name in broadcast-storm vax-cluster; do
            "$program" lab run "$name" --seed "$seed" --quiet >/dev/null; verdict "$name, seed $seed" $?
        done
    done
fi
if wanted 5; then
    headline "5 instructions, and a shared Ethernet against real time"
    scripts/bench-gate.sh; verdict "instruction-count gate" $?
    "$program" lab run shared-ethernet --set lab.duration=1000s --json --quiet >"$scratch/shared"
    python3 - "$scratch/shared" <<'END'
import json, sys
timing = json.load(open(sys.argv[1]))["timing"]
ratio = timing["virtual_seconds"] / timing["wall_seconds"]
print(f"{timing['packet_hops']} frames, {ratio:.0f} times real time")
sys.exit(ratio < 1000)
END
    verdict "a shared Ethernet a thousand times real time" $?
fi
if wanted 6; then
    headline "6 every feature alone, left out and in pairs"
    "$program" lab run jacobson-sun3 --toggle all --quiet --color never; verdict "--toggle all" $?
fi
if wanted 7; then
    headline "7 what is refused, and why"
    cargo test --locked -p trunkline-plan >"$scratch/refused" 2>&1
    verdict "cargo test -p trunkline-plan" $? "$(grep -c ' ok$' "$scratch/refused") passed"
fi

conclude 4
