#!/usr/bin/env bash
# Namespaces for tests: home and server, and between them one path per emulated link.
#
#     home path1 ── a mid1 b ── path1 server        10.77.1.1 ── 10.77.1.2, fd77:1::1 ── fd77:1::2
#     home path2 ── a mid2 b ── path2 server        10.77.2.1 ── 10.77.2.2 …
#
# In every middle namespace trunkline-emulate carries frames between a and b; the kernel there has no
# addresses and forwards nothing. Offloads are off everywhere, so that frames are what a wire would carry.
#
# Sourced, it gives these functions (all need root):
#   topology_create K            namespaces and interfaces; names are unique to this process
#   topology_create_direct       home and server with one unshaped cable, offloads as they are
#   path_emulate I ARGUMENT…     starts the emulator of path I with these arguments
#   path_command I WORD…         cut, restore, report, reset, set OPTION VALUE…
#   path_report I                prints the emulator's report (JSON) of now
#   in_home COMMAND… / in_server COMMAND… / in_path I COMMAND…
#   end_spawn home|server COMMAND…   in the background, $spawned is the process
#   topology_destroy             ends what runs in the namespaces and removes them
# topology_create sets a trap on EXIT that destroys; a script with its own trap calls topology_destroy in it.
#
# Called as `scripts/netns.sh hold K`, it creates the topology, prints `READY PREFIX` and holds it until its
# standard input ends. Lines there, each answered by a line: `emulate I ARGUMENT…`, `command I WORD…`
# (answer OK), `report I` (the report on one line); an answer that starts with ERROR says what did not work.

topology_prefix=
topology_directory=

topology_create() {
    local path mid
    topology_begin
    for ((path = 1; path <= $1; path++)); do
        mid=$topology_prefix-mid$path
        namespace_create "mid$path"
        ip netns exec "$mid" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        cable_create home "path$path" "mid$path" a
        cable_create server "path$path" "mid$path" b
        end_address home "$path" 1
        end_address server "$path" 2
    done
}

# Nothing between home and server but one cable, with the offloads it has by itself.
topology_create_direct() {
    topology_begin
    ip -n "$topology_prefix-home" link add name path1 type veth peer name path1 netns "$topology_prefix-server"
    ip -n "$topology_prefix-home" link set dev path1 up
    ip -n "$topology_prefix-server" link set dev path1 up
    end_address home 1 1
    end_address server 1 2
}

topology_begin() {
    topology_sweep
    topology_prefix=tl-$BASHPID
    topology_directory=$(mktemp -d)
    trap topology_destroy EXIT
    trap 'exit 130' INT TERM HUP
    namespace_create home
    namespace_create server
}

namespace_create() {
    local name=$topology_prefix-$1
    ip netns add "$name"
    ip -n "$name" link set dev lo up
    # Several paths to one machine: an answer may come in on another interface than the question.
    ip netns exec "$name" sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
}

# NAMESPACE DEVICE NAMESPACE DEVICE
cable_create() {
    ip -n "$topology_prefix-$1" link add name "$2" type veth peer name "$4" netns "$topology_prefix-$3"
    interface_up "$1" "$2"
    interface_up "$3" "$4"
}

interface_up() {
    local name=$topology_prefix-$1 feature
    for feature in rx tx sg tso gso gro; do
        ip netns exec "$name" ethtool -K "$2" "$feature" off >/dev/null 2>&1 || true
    done
    if ip netns exec "$name" ethtool -k "$2" |
        grep -E '^(tx-checksumming|tcp-segmentation-offload|generic-(segmentation|receive)-offload): on'; then
        echo "netns: $name $2 keeps an offload" >&2
        return 1
    fi
    ip -n "$name" link set dev "$2" up
}

end_address() {
    local name=$topology_prefix-$1
    ip -n "$name" address add "10.77.$2.$3/24" dev "path$2"
    ip -n "$name" address add "fd77:$2::$3/64" dev "path$2" nodad
}

in_home() { ip netns exec "$topology_prefix-home" "$@"; }
in_server() { ip netns exec "$topology_prefix-server" "$@"; }
in_path() { ip netns exec "$topology_prefix-mid$1" "${@:2}"; }

# END COMMAND…: runs in the background; its process, and no shell around it, is $spawned.
end_spawn() {
    ip netns exec "$topology_prefix-$1" "${@:2}" &
    spawned=$!
}

# The emulator is ${EMULATE}, or the release build of this tree.
path_emulate() {
    local path=$1 program control=$topology_directory/path$1.control
    program=${EMULATE:-$(dirname "${BASH_SOURCE[0]}")/../target/release/trunkline-emulate}
    mkfifo "$control"
    in_path "$path" "$program" a b --report "$topology_directory/path$path.json" --control "$control" "${@:2}" &
    # Until the emulator reads its pipe, the frames it should carry are lost.
    path_report "$path" >/dev/null
}

path_command() {
    timeout 5 bash -c 'printf "%s\n" "$2" >"$1"' - "$topology_directory/path$1.control" "${*:2}"
}

path_report() {
    local file=$topology_directory/path$1.json tries
    rm -f "$file"
    path_command "$1" report || { echo "netns: the emulator of path $1 does not run" >&2; return 1; }
    for ((tries = 0; tries < 100; tries++)); do
        [ -e "$file" ] && { cat "$file"; return; }
        sleep 0.05
    done
    echo "netns: the emulator of path $1 does not answer" >&2
    return 1
}

topology_destroy() {
    [ -n "$topology_prefix" ] || return 0
    namespaces_remove "$topology_prefix"
    rm -rf "$topology_directory"
    topology_prefix=
}

# Ends what runs in the namespaces with this prefix first: an emulator must not see its interfaces go.
namespaces_remove() {
    local names name pids tries
    names=$(ip netns list | awk -v p="$1-" 'index($1, p) == 1 { print $1 }')
    pids=$(namespaces_processes $names)
    [ -z "$pids" ] || kill $pids 2>/dev/null || true
    for ((tries = 0; tries < 40; tries++)); do
        pids=$(namespaces_processes $names)
        [ -n "$pids" ] || break
        sleep 0.05
    done
    [ -z "$pids" ] || kill -KILL $pids 2>/dev/null || true
    for name in $names; do ip netns delete "$name" 2>/dev/null || true; done
}

namespaces_processes() {
    local name
    for name in "$@"; do ip netns pids "$name" 2>/dev/null || true; done
}

# A process that was killed could not clean up: whoever comes next does.
topology_sweep() {
    local owner
    for owner in $(ip netns list | sed -n 's/^tl-\([0-9]*\)-.*/\1/p' | sort -u); do
        kill -0 "$owner" 2>/dev/null || namespaces_remove "tl-$owner"
    done
}

topology_hold() {
    local verb path words
    topology_create "$1"
    echo "READY $topology_prefix"
    while read -r verb path words; do
        case $verb in
            emulate) path_emulate "$path" $words && echo OK ;;
            command) path_command "$path" "$words" && echo OK ;;
            report) path_report "$path" | tr -d '\n' && echo ;;
            *) false ;;
        esac || echo "ERROR $verb $path $words"
    done
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    set -uo pipefail
    [ $# = 2 ] && [ "$1" = hold ] || { echo "usage: scripts/netns.sh hold PATHS" >&2; exit 2; }
    topology_hold "$2"
fi
