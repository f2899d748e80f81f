#!/usr/bin/env bash
# The full acceptance of part 2: the same core on a real wire. Prints tables; exit code 1 when a line fails.
#
#   scripts/accept/2.sh [LINE...]     the lines of the list below, all by default: about 45 minutes
#
#   1 rates, 2 delays, 3 failover, 4 lab and live alike, 5 the lab's prediction (of 1 and 2), 6 TCP on a TUN,
#   7 CPU beside the bare forwarder, 8 kills and operations, 9 everything else that is tested
#
# Needs root, and what scripts/two-links.sh and the README need; nothing else should run meanwhile.
set -uo pipefail
cd "$(dirname "$0")/../.."
source scripts/accept/words.sh

lines=" ${*:-1 2 3 4 5 6 7 8 9} "

judge() { # KIND FILE
    scripts/accept/2_figures.py "$1" "$2" || failed=1
}

test_by_name() { # CRATE TARGET NAME
    cargo test --locked -p "$1" --test "$2" -- --nocapture "$3" >"$scratch/test" 2>&1
    verdict "$3" $? "$(grep -E '^(test result|skipped)' "$scratch/test" | head -1)"
    grep -E '^[a-z ]*:.*(before|after|operations|kills)' "$scratch/test" || true
}

headline "build"
cargo build --release --locked --quiet --workspace --bins --examples; verdict "release build" $?

if wanted 1; then
    headline "1 rates given, 10 ms: earliest, balance-rr and eql, one stream and six"
    for rates in "50 50" "50 10" "100 20 5"; do
        # shellcheck disable=SC2086
        scripts/two-links.sh --modes earliest,balance-rr,eql --streams 1,6 --no-singles --rows "$scratch/rates" $rates
        verdict "two-links.sh $rates" $?
    done
    judge rates "$scratch/rates"
fi
if wanted 2; then
    headline "2 50 Mbit/s at 10 ms and at 60 ms, one stream, kernel MPTCP beside it"
    scripts/two-links.sh --delay 10,60 --mptcp --rows "$scratch/delays" 50 50
    verdict "two-links.sh --delay 10,60 50 50" $?
    judge delays "$scratch/delays"
fi
if wanted 3; then
    headline "3 failover"
    scripts/failover.sh; verdict "failover.sh" $?
fi
if wanted 4; then
    headline "4 the same bond in the lab and on the wire"
    cargo test --locked -p trunkline --test contract; verdict "contract" $?
fi
if wanted 6; then
    headline "6 our TCP against the kernel's, 10 MB"
    scripts/tcp-interop.sh; verdict "tcp-interop.sh" $?
fi
if wanted 7; then
    headline "7 CPU of both ends on an unshaped veth"
    scripts/bench-forwarder.sh --up scripts/bench-forwarder.toml; verdict "bench-forwarder.sh" $?
fi
if wanted 8; then
    headline "8 kill -9 at random moments, random operations"
    TRUNKLINE_KILLS=50 test_by_name trunkline live kill::
    TRUNKLINE_OPERATIONS=10000 test_by_name trunkline live churn::
fi
if wanted 9; then
    headline "9 tests, swarm, instruction counts"
    cargo test --workspace --locked >"$scratch/tests" 2>&1
    verdict "cargo test --workspace --locked" $? "$(grep -c ' ok$' "$scratch/tests") passed"
    target/release/trunkline lab swarm --runs 2000 --quiet; verdict "lab swarm --runs 2000" $?
    scripts/bench-gate.sh; verdict "instruction-count gate" $?
fi

conclude 2
