#!/usr/bin/env bash
# What a cut of one of two links does to what a bond carries: two emulated links, `up` at both ends, a UDP
# packet every 5 ms in each direction and one TCP stream from home to server beside them.
#
#   scripts/failover.sh [OPTION VALUE]...
#     --rate MBIT     of each link (50)
#     --delay MS      one way (10)
#     --kinds LIST    of carrier,silent (both)
#     --runs N        of each kind (3)
#
# Odd runs cut the first link, even ones the second.
# carrier: home's cable is pulled, and plugged in after 4 s; the server's device notices nothing.
# silent: everything on the link is lost for 4 s, and no device notices. The monitor is the plan's default.
# Columns, > from home to server and < back: the longest gap in the arrivals (ms), packets lost, how long
# after the cut the link was still given packets (ms), how long after its return the bond had it up and
# home gave it packets again (ms); what TCP carried, its longest silence (ms), whether its contents are right.
# Wanted: no gap above 150 ms (carrier) or 500 ms (silent), back in use within 2 s, TCP's contents equal.
# A run that misses this while its UDP sender was itself held up for more than 10 ms is repeated ("stalled").
# Needs root, ethtool and python3, and release builds of trunkline and trunkline-emulate
# (cargo build --release), or the programs that TRUNKLINE and EMULATE name.
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/netns.sh"

usage() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0" >&2; exit 2; }

rate=50 delay=10 kinds=carrier,silent runs=3
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --rate) rate=$2 ;;
        --delay) delay=$2 ;;
        --kinds) kinds=$2 ;;
        --runs) runs=$2 ;;
        *) usage ;;
    esac
    shift 2
done
[ "$(id -u)" = 0 ] || { echo "failover: namespaces need root" >&2; exit 4; }
trunkline=${TRUNKLINE:-$top/target/release/trunkline}
python=$top/scripts/failover_run.py

plan() {
    local link
    echo 'name = "failover"'
    for link in 1 2; do
        cat <<END
[[link]]
name = "link$link"
kind = "udp"
trunk = true
rate = "${rate}mbit"
at.home = { device = "path$link", remote = "10.77.$link.2:4500" }
at.server = { remote = "10.77.$link.1" }
END
    done
    cat <<END
[bond.tl0]
ends = ["home", "server"]
members = ["link1", "link2"]
cipher = "none"
[end.home]
device = "tl0"
address = ["10.99.0.1/30"]
[end.server]
device = "tl0"
address = ["10.99.0.2/30"]
listen = "0.0.0.0:4500"
END
}

# END: its control socket, once the bond is up.
bond_control() {
    local tries
    for ((tries = 0; tries < 100; tries++)); do
        [ -S "$(echo "$topology_directory/$1"/*/tl0/control)" ] &&
            [ -n "$("in_$1" ip address show dev tl0 up 2>/dev/null)" ] &&
            { echo "$topology_directory/$1"/*/tl0/control; return; }
        sleep 0.1
    done
    echo "failover: the bond does not come up" >&2
    cat "$topology_directory/$1.log" >&2
    return 1
}

topology_create 2
for link in 1 2; do
    path_emulate "$link" --rate "${rate}mbit" --delay "${delay}ms" --queue 50ms --seed "$link"
done
plan >"$topology_directory/plan.toml"
for end in server home; do
    end_spawn "$end" env TRUNKLINE_RUN_DIR="$topology_directory/$end" \
        "$trunkline" up "$topology_directory/plan.toml" --as "$end" --foreground \
        2>"$topology_directory/$end.log"
done
home=$(bond_control home)
server=$(bond_control server)

python3 "$python" header
for kind in ${kinds//,/ }; do
    for ((run = 0, tries = 0; run < runs && tries < 2 * runs; tries++)); do
        link=$((1 + run % 2))
        case $kind in
            carrier)
                cut="ip -n $topology_prefix-mid$link link set dev a down"
                restore="ip -n $topology_prefix-mid$link link set dev a up"
                ;;
            silent)
                cut="echo cut >$topology_directory/path$link.control"
                restore="echo restore >$topology_directory/path$link.control"
                ;;
            *) usage ;;
        esac
        python3 "$python" run "$topology_prefix" "$kind" "$link" "$cut" "$restore" "$home" "$server" \
            "$topology_directory/runs" && status=0 || status=$?
        case $status in
            0) run=$((run + 1)) ;;
            3) ;;
            *) exit "$status" ;;
        esac
    done
done
python3 "$python" summary "$topology_directory/runs"
