#!/usr/bin/env bash
# What a tunnel costs on an unshaped veth: CPU time of both ends per MB of goodput, beside the bare
# forwarder of crates/live/examples, one packet at a time and with offloads.
#
#   scripts/bench-forwarder.sh [--rounds N] [--time SECONDS] [--up PLAN]
#
# Variants alternate (A B A B), as times on a shared machine only compare within one run; the median of
# the rounds is printed with the ratio to each forwarder. `ends` is the CPU time of the two processes,
# `machine` all that was busy meanwhile, iperf3 and the kernel's interrupts included. --up measures
# `trunkline up` too, with scripts/bench-forwarder.toml or another plan of the ends home and server, device
# tl0, one udp link on device path1 from 10.77.1.1 to 10.77.1.2:4500, and the address 10.99.0.2 at the server.
# Needs root, iperf3, python3 and release builds (cargo build --release -p trunkline-live --examples), or
# the programs that FORWARDER and TRUNKLINE name.
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/netns.sh"

rounds=3 seconds=5 plan=
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || { echo "bench-forwarder: $1 needs a value" >&2; exit 2; }
    case $1 in
        --rounds) rounds=$2 ;;
        --time) seconds=$2 ;;
        --up) plan=$2 ;;
        *) echo "bench-forwarder: no option $1" >&2; exit 2 ;;
    esac
    shift 2
done
forwarder=${FORWARDER:-$top/target/release/examples/forwarder}
trunkline=${TRUNKLINE:-$top/target/release/trunkline}
variants=(single offload)
[ -z "$plan" ] || variants+=(up)

start() {
    case $1 in
        up)
            for end in server home; do
                end_spawn "$end" env TRUNKLINE_RUN_DIR="$topology_directory/$end" \
                    "$trunkline" up "$plan" --as "$end" --foreground
                ends+=("$spawned")
            done
            ;;
        *)
            end_spawn server "$forwarder" "$1" tl0 10.77.1.2:4500 10.77.1.1:4500
            ends+=("$spawned")
            end_spawn home "$forwarder" "$1" tl0 10.77.1.1:4500 10.77.1.2:4500
            ends+=("$spawned")
            ;;
    esac
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        in_home ip link show tl0 >/dev/null 2>&1 && in_server ip link show tl0 >/dev/null 2>&1 && break
        sleep 0.1
    done
    [ "$1" = up ] && return
    ip -n "$topology_prefix-home" address add 10.99.0.1/30 dev tl0
    ip -n "$topology_prefix-server" address add 10.99.0.2/30 dev tl0
    ip -n "$topology_prefix-home" link set dev tl0 mtu 1456 up
    ip -n "$topology_prefix-server" link set dev tl0 mtu 1456 up
}

# Nanoseconds on a CPU: of all threads of both ends, and of the machine (busy ticks).
cpu_ends() { cat $(printf '/proc/%s/task/*/schedstat ' "${ends[@]}") | awk '{ n += $1 } END { printf "%d", n }'; }
cpu_machine() {
    awk -v hz="$(getconf CLK_TCK)" '/^cpu / { print ($2 + $3 + $4 + $7 + $8) * 1e9 / hz }' /proc/stat
}

measure() {
    local before busy after
    ends=()
    start "$1"
    before=$(cpu_ends) busy=$(cpu_machine)
    in_home iperf3 -c 10.99.0.2 -C cubic -t "$seconds" --connect-timeout 5000 -J >"$topology_directory/iperf.json"
    after=$(cpu_ends)
    python3 - "$1" "$before" "$after" "$busy" "$(cpu_machine)" "$topology_directory/iperf.json" <<'END' >>"$topology_directory/rounds"
import json, sys
name, before, after, busy, idle, path = sys.argv[1:]
end = json.load(open(path))["end"]["sum_received"]
megabytes = end["bytes"] / 1e6
print(name, (int(after) - int(before)) / 1e3 / megabytes, (float(idle) - float(busy)) / 1e3 / megabytes,
      end["bits_per_second"] / 1e6)
END
    kill "${ends[@]}"
    wait "${ends[@]}" 2>/dev/null || true
}

topology_create_direct
in_server iperf3 -s -D >/dev/null
for ((round = 0; round < rounds; round++)); do
    for variant in "${variants[@]}"; do measure "$variant"; done
done
python3 - "$topology_directory/rounds" <<'END'
import collections, statistics, sys
rounds = collections.defaultdict(list)
for line in open(sys.argv[1]):
    name, *figures = line.split()
    rounds[name].append([float(figure) for figure in figures])
medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in rounds.items()}
print(f"{'':10}{'ends us/MB':>12}{'machine us/MB':>15}{'Mbit/s':>10}{'x single':>10}{'x offload':>11}   all rounds, ends us/MB")
for name, (ends, machine, rate) in medians.items():
    single, offload = medians["single"][0], medians["offload"][0]
    each = " ".join(f"{row[0]:.0f}" for row in rounds[name])
    print(f"{name:10}{ends:12.0f}{machine:15.0f}{rate:10.0f}{ends / single:10.2f}{ends / offload:11.2f}   {each}")
END
