#!/usr/bin/env bash
# Our TCP on a TUN against the kernel's over an emulated link: an array of cases in which every pair of values of
# any two factors stands at least once (scripts/tcp_array_cases.py prints them).
#
#   scripts/tcp-array.sh [OPTION VALUE]...
#     --cases N,...     these cases only, counted from 1; FIRST-LAST for a range (all)
#     --bytes N         sent by the sender; fewer where losses make it slow (2000000)
#     --runs N          of each side of a comparison, whose medians count (3); 0 compares nothing
#     --rate RATE       of the link (30mbit)
#     --delay MS        one way (5)
#     --dctcp yes|no    the check of DCTCP's estimate behind the table (yes)
#
# Factors: who sends with which congestion control, the receiver's, who opens, IPv4 or IPv6, ECN (off, on, or on and
# the link marks above 5 ms of queue), loss in percent, 1 % of packets late by 8 ms, the MTU of both ends.
#
# `equal` says whether every byte came as it was sent, `closed` whether both ends closed in order and no connection
# was reset. Where the sender's algorithm is both ours and the kernel's and the loss is at most 1 %, two kernels
# do the same over the same link, run about; `of kernel` is our goodput as a part of theirs, and must be 0.9 at least.
# `ECN` is what the kernel saw (TCP_INFO, as in `ss -ti`): `-` none, `ecn` agreed, `ecnseen` a packet that said so;
# `marks` are the link's, `ce` what a sending kernel was told of them (delivered_ce). A run where ECN is on and the
# kernel does not say `ecn` fails, and so does one with marks of which the sending kernel heard nothing.
#
# The last rows watch DCTCP's alpha: with no marks it is 0 in the end, with marks it is the share of marked packets.
#
# Needs root, ethtool, python3 and release builds (cargo build --release -p trunkline-live --bins --examples), or
# the programs that EMULATE and TCP_TUN name. Exit status 1 when a row was not as it must be.
set -euo pipefail
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)

usage() { sed -n '2,/^set /{s/^# \{0,1\}//;/^set /d;p}' "$0" >&2; exit 2; }

arguments=()
while [ $# -gt 0 ]; do
    case $1 in
        --cases | --bytes | --runs | --rate | --delay | --dctcp) [ $# -ge 2 ] || usage ;;
        *) usage ;;
    esac
    arguments+=("$1=$2")
    shift 2
done
for program in ethtool ip python3; do
    command -v "$program" >/dev/null || { echo "tcp-array: $program is needed" >&2; exit 5; }
done
[ "$(id -u)" = 0 ] || { echo "tcp-array: namespaces need root" >&2; exit 4; }
exec python3 "$top/scripts/tcp_array.py" "${arguments[@]}"
