#!/usr/bin/env bash
# Our TCP on a TUN against the kernel's over an emulated link: who opens, who sends, with and without loss.
#
#   scripts/tcp-interop.sh [OPTION VALUE]...
#     --bytes N          sent by each sender (10485760)
#     --rate RATE        of the link (100mbit)
#     --delay MS         one way (5)
#     --loss PERCENT,... both ways, one part of the table each (0,1)
#     --queue LIMIT      in front of the link (50ms)
#     --runs N           the median of the seconds is printed (3)
#
#     tcp_tun ── tcp0 home path1 ── a mid1 b ── path1 server        10.78.0.2 ── 10.77.1.1 ── 10.77.1.2
#
# Our end is crates/live/examples/tcp_tun; the kernel of home forwards for it. The kernel's end is a plain
# socket in server, with cubic, as ours. Last come two kernels over the same link, for comparison. `equal` says
# whether every byte came as it was sent, `closed` whether both ends closed in order and no connection was reset.
# Seconds are from the handshake to the last byte at the receiver. `late` is the emulator's own lateness
# (p99, ms); a row where it is above 1 ms measures the machine. Needs root, ethtool, python3 and release builds of
# trunkline-emulate and tcp_tun (cargo build --release -p trunkline-live --bins --examples), or the programs
# that EMULATE and TCP_TUN name. The exit status is 1 when anything was not equal or not closed.
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
. "$top/scripts/netns.sh"

usage() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0" >&2; exit 2; }

bytes=10485760 rate=100mbit delay=5 losses=0,1 queue=50ms runs=3
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --bytes) bytes=$2 ;;
        --rate) rate=$2 ;;
        --delay) delay=$2 ;;
        --loss) losses=$2 ;;
        --queue) queue=$2 ;;
        --runs) runs=$2 ;;
        *) usage ;;
    esac
    shift 2
done
for program in ethtool python3; do
    command -v "$program" >/dev/null || { echo "tcp-interop: $program is needed" >&2; exit 5; }
done
[ "$(id -u)" = 0 ] || { echo "tcp-interop: namespaces need root" >&2; exit 4; }
tcp_tun=${TCP_TUN:-$top/target/release/examples/tcp_tun}
port=7000

# Connections the kernels saw reset. A RST for a late duplicate of one that is over already resets nothing.
resets() { for end in home server; do "in_$end" awk '/^Tcp:/ && ++n == 2 { print $9 }' /proc/net/snmp; done | xargs; }

# Until something listens at the port, or our device is there.
listening() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        case $1 in
            ours) in_home ip link show dev tcp0 up 2>/dev/null | grep -q . && return ;;
            *) "in_$1" ss -Hltn "sport = :$port" | grep -q . && return ;;
        esac
        sleep 0.02
    done
    echo "tcp-interop: nobody listens" >&2
    return 1
}

# END ROLE: runs one end in the background; what it sends is END.sent, what it gets END.received.
start() {
    local end=$1 role=$2 d=$topology_directory where=home at=10.77.1.2 program=()
    case $end-$role in
        server-connect) at=$([ "$near" = ours ] && echo 10.78.0.2 || echo 10.77.1.1) ;;
        home-listen) at=10.77.1.1 ;;
    esac
    case $end-$role in
        ours-connect) program=("$tcp_tun" connect "$at:$port") ;;
        ours-listen) program=("$tcp_tun" listen "$port") ;;
        *) program=(python3 "$top/scripts/tcp_interop_peer.py" "$role" "$at" "$port") ;;
    esac
    [ "$end" != server ] || where=server
    ip netns exec "$topology_prefix-$where" "${program[@]}" \
        <"$d/$end.sent" >"$d/$end.received" 2>"$d/$end.result" &
    spawned=$!
}

# NEAR OPENS SENDS LOSS: one transfer between NEAR (ours or home) and server; its figures go to the runs.
transfer() {
    local near=$1 opens=$2 sends=$3 d=$topology_directory end listens before
    for end in "$near" server; do
        case $sends in
            "$end" | both) ln -sf "$d/pattern.$end" "$d/$end.sent" ;;
            *) ln -sf "$d/nothing" "$d/$end.sent" ;;
        esac
    done
    listens=$([ "$opens" = server ] && echo "$near" || echo server)
    path_command 1 reset
    before=$(resets)
    start "$listens" listen
    local first=$spawned
    listening "$listens"
    start "$opens" connect
    wait "$first" "$spawned" || true
    path_report 1 >"$d/report"
    python3 "$top/scripts/tcp_interop_row.py" add "$d" "$near" "$sends" "$before" "$(resets)"
}

row() {
    local run
    : >"$topology_directory/runs"
    for ((run = 0; run < runs; run++)); do transfer "$@"; done
    python3 "$top/scripts/tcp_interop_row.py" print "$topology_directory/runs" "$@" || failed=1
}

topology_create 1
in_home sysctl -qw net.ipv4.ip_forward=1
for end in home server; do
    "in_$end" sysctl -qw net.ipv4.tcp_no_metrics_save=1
    python3 -c 'import hashlib, sys; sys.stdout.buffer.write(hashlib.shake_128(sys.argv[1].encode()).digest(int(sys.argv[2])))' \
        "$end" "$bytes" >"$topology_directory/pattern.$end"
done
ln -s pattern.home "$topology_directory/pattern.ours"
: >"$topology_directory/nothing"
ip -n "$topology_prefix-server" route add 10.78.0.0/30 via 10.77.1.1
path_emulate 1 --rate "$rate" --delay "${delay}ms" --queue "$queue"

failed=0
python3 "$top/scripts/tcp_interop_row.py" header
for loss in ${losses//,/ }; do
    path_command 1 set --loss "$loss%"
    for opens in ours server; do
        for sends in ours server both; do row ours "$opens" "$sends" "$loss"; done
    done
    for sends in home server both; do row home home "$sends" "$loss"; done
done
exit "$failed"
