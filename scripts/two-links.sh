#!/usr/bin/env bash
# A bond over emulated links: `up` at both ends, the bottlenecks in middle namespaces, iperf3 over it.
#
#   scripts/two-links.sh [OPTION VALUE]... RATE...      rates in Mbit/s, one link each
#     --delay MS,...     one way, one for all links or one each (10)
#     --loss PERCENT,... likewise (0)
#     --queue LIMIT      of every link (50ms)
#     --modes MODE,...   bonding modes to measure (earliest)
#     --streams N,...    parallel TCP streams (1)
#     --time SECONDS     measured, after 3 s that do not count (15)
#     --runs N           the median is printed (3)
#     --baseline         only the single links, without a bond
#     --no-singles       only the bond, without the single links
#     --rows FILE        appends each row to this file, as JSON on a line
#     --mptcp            the kernel's MPTCP over the same links beside it, one stream
#
# raw % is the goodput of the sum of the rates. The ceiling is what headers leave of it: the sum of the
# rates x inner payload / outer bytes, with outer packets of 1500 bytes, 44 of them for IPv4, UDP and our
# header, and TCP with timestamps inside; for a single link, of TCP itself. The lab's column is what
# `trunkline lab run` predicts for the same plan, with what it is off the measured goodput. A run counts only while the
# emulators sent 99 % of their frames less than 1 ms late and lost none by themselves; others are repeated.
# Needs root, iperf3, ethtool and python3, and release builds of trunkline and trunkline-emulate
# (cargo build --release), or the programs that TRUNKLINE and EMULATE name.
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/netns.sh"

usage() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0" >&2; exit 2; }

delays=10 losses=0 queue=50ms modes=earliest streams=1 seconds=15 runs=3 baseline=no singles=yes mptcp=no kept=/dev/null rates=()
while [ $# -gt 0 ]; do
    case $1 in
        --baseline) baseline=yes; shift; continue ;;
        --no-singles) singles=no; shift; continue ;;
        --mptcp) mptcp=yes; shift; continue ;;
        --*) [ $# -ge 2 ] || usage ;;
    esac
    case $1 in
        --delay) delays=$2 ;;
        --loss) losses=$2 ;;
        --queue) queue=$2 ;;
        --modes) modes=$2 ;;
        --streams) streams=$2 ;;
        --time) seconds=$2 ;;
        --runs) runs=$2 ;;
        --rows) kept=$2 ;;
        --* | *[!0-9.]*) usage ;;
        *) rates+=("$1"); shift; continue ;;
    esac
    shift 2
done
[ ${#rates[@]} -gt 0 ] || usage
for program in iperf3 ethtool python3; do
    command -v "$program" >/dev/null || { echo "two-links: $program is needed" >&2; exit 5; }
done
[ "$(id -u)" = 0 ] || { echo "two-links: namespaces need root" >&2; exit 4; }
trunkline=${TRUNKLINE:-$top/target/release/trunkline}
omit=3

# The value of link I (from 1) in a list of one for all or one each.
of_link() {
    local values
    IFS=, read -ra values <<<"$1"
    if [ ${#values[@]} -eq 1 ]; then echo "${values[0]}"; else echo "${values[$2 - 1]:?one value for each link}"; fi
}

# ADDRESS STREAMS: goodput at the receiver in Mbit/s.
goodput() {
    in_home iperf3 -c "$1" -C cubic -O "$omit" -t "$seconds" -P "$2" --connect-timeout 3000 -J |
        python3 -c 'import json, sys
result = json.load(sys.stdin)
if "error" in result: sys.exit("iperf3: " + result["error"])
print(result["end"]["sum_received"]["bits_per_second"] / 1e6)'
}

# The same over the kernel's MPTCP.
goodput_mptcp() {
    in_home "$top/scripts/mptcp.py" send 10.77.1.2 5202 "$omit" "$seconds"
}

# LABEL SUM PAYLOAD LAB LINKS COMMAND...: runs until enough runs count, prints the row.
row() {
    local label=$1 sum=$2 payload=$3 predicted=$4 used=$5 link run rate counted=0 file=$topology_directory/runs
    shift 5
    : >"$file"
    for ((run = 0; run < 2 * runs && counted < runs; run++)); do
        for link in $used; do path_command "$link" reset; done
        rate=$("$@") || rate=failed
        counted=$(for link in $used; do path_report "$link" | tr -d '\n'; echo; done |
            python3 "$top/scripts/two_links_row.py" add "$file" "$rate")
    done
    python3 "$top/scripts/two_links_row.py" print "$file" "$kept" "$label" "$sum" "$payload" "$predicted"
}

# MODE STREAMS: what the lab says of the same plan, in Mbit/s.
predict() {
    local stream file=$topology_directory/lab.toml
    plan "$1" >"$file"
    printf '[lab]\nseed = 1\nduration = "%ss"\nwarmup = "%ss"\n' $((omit + seconds)) "$omit" >>"$file"
    for ((stream = 0; stream < $2; stream++)); do
        printf '[[lab.flow]]\nname = "stream%s"\nfrom = "home"\nto = "server"\n' "$stream"
        printf 'app = { kind = "bulk" }\ntcp = { cc = "cubic" }\n'
    done >>"$file"
    "$trunkline" lab run "$file" --json --quiet |
        python3 -c 'import json, sys
print(sum(flow["goodput"] for flow in json.load(sys.stdin)["flows"]) / 1e6)'
}

plan() {
    local link names=()
    echo 'name = "links"'
    for ((link = 1; link <= ${#rates[@]}; link++)); do
        names+=("\"link$link\"")
        cat <<END
[[link]]
name = "link$link"
kind = "udp"
trunk = true
rate = "${rates[link - 1]}mbit"
lab = { delay = "$(of_link "$delays" "$link")ms", queue = "$queue", loss = "$(of_link "$losses" "$link")%" }
at.home = { device = "path$link", remote = "10.77.$link.2:4500" }
at.server = { remote = "10.77.$link.1" }
END
    done
    local IFS=,
    cat <<END
[bond.tl0]
ends = ["home", "server"]
members = [${names[*]}]
mode = "$1"
cipher = "none"
[end.home]
device = "tl0"
address = ["10.99.0.1/30", "fd99::1/126"]
[end.server]
device = "tl0"
address = ["10.99.0.2/30", "fd99::2/126"]
listen = "0.0.0.0:4500"
END
}

bond_up() {
    local end tries
    plan "$1" >"$topology_directory/plan.toml"
    ups=()
    for end in server home; do
        end_spawn "$end" env TRUNKLINE_RUN_DIR="$topology_directory/$end" \
            "$trunkline" up "$topology_directory/plan.toml" --as "$end" --foreground \
            2>"$topology_directory/$end.log"
        ups+=("$spawned")
    done
    for ((tries = 0; tries < 100; tries++)); do
        [ -n "$(in_home ip address show dev tl0 scope global up 2>/dev/null)" ] &&
            [ -n "$(in_server ip address show dev tl0 scope global up 2>/dev/null)" ] && return
        sleep 0.1
    done
    echo "two-links: the bond does not come up" >&2
    cat "$topology_directory"/{home,server}.log >&2
    exit 1
}

bond_down() {
    kill "${ups[@]}" 2>/dev/null || true
    wait "${ups[@]}" 2>/dev/null || true
}

topology_create ${#rates[@]}
total=0 links=()
for ((link = 1; link <= ${#rates[@]}; link++)); do
    path_emulate "$link" --rate "${rates[link - 1]}mbit" --delay "$(of_link "$delays" "$link")ms" \
        --loss "$(of_link "$losses" "$link")%" --queue "$queue" --seed "$link"
    total=$(python3 -c "print($total + ${rates[link - 1]})")
    links+=("$link")
done
in_server iperf3 -s -D >/dev/null

python3 "$top/scripts/two_links_row.py" header
[ "$singles" = no ] || for link in "${links[@]}"; do
    row "link $link: ${rates[link - 1]} Mbit/s, $(of_link "$delays" "$link") ms" \
        "${rates[link - 1]}" 1448 - "$link" goodput "10.77.$link.2" 1
done
[ "$mptcp" = no ] || {
    in_home ip mptcp limits set subflow 8 add_addr_accepted 8
    in_server ip mptcp limits set subflow 8 add_addr_accepted 8
    for link in "${links[@]:1}"; do
        in_server ip mptcp endpoint add "10.77.$link.2" dev "path$link" signal
    done
    end_spawn server "$top/scripts/mptcp.py" serve 5202
    row "kernel MPTCP, 1 stream" "$total" 1428 - "${links[*]}" goodput_mptcp
    kill "$spawned"
    wait "$spawned" 2>/dev/null || true
}
[ "$baseline" = no ] || {
    python3 -c "print(f'sum {$total:g} Mbit/s; ceiling of a bond {$total * 1404 / 1500:.2f} Mbit/s (1404 of 1500 bytes)')"
    exit 0
}
for mode in ${modes//,/ }; do
    bond_up "$mode"
    for parallel in ${streams//,/ }; do
        row "bond $mode, $parallel stream(s)" "$total" 1404 "$(predict "$mode" "$parallel")" "${links[*]}" \
            goodput 10.99.0.2 "$parallel"
    done
    bond_down
done
