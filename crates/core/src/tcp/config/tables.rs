//! The profiles as tables: what each does and where that is written.

use super::{Feature, Profile};

pub(super) fn of(profile: Profile) -> &'static [Feature] {
    match profile {
        Profile::Modern => MODERN,
        Profile::Linux11 => LINUX_1_1,
        Profile::Bsd43 => BSD_4_3,
        Profile::Linux22 => LINUX_2_2,
        Profile::Linux24 => LINUX_2_4,
        Profile::Linux318 => LINUX_3_18,
    }
}

const fn row(name: &'static str, value: &'static str, origin: &'static str) -> Feature {
    Feature { name, value, origin }
}

const MODERN: &[Feature] = &[
    row("payload", "MTU - 40 - options", "RFC 9293 3.7.1, RFC 6691"),
    row("initial window", "10 segments", "RFC 6928"),
    row("initial ssthresh", "none", "RFC 5681 3.1"),
    row("window growth", "per byte acknowledged", "RFC 5681 3.1"),
    row("idle restart", "after one RTO", "RFC 5681 4.1"),
    row("window scale", "offered, shift up to 14", "RFC 7323 2"),
    row("timestamps", "offered, PAWS", "RFC 7323 3, 5"),
    row("ECN", "where the peer or the congestion control asks for it", "RFC 3168; Linux"),
    row("recovery", "RACK with SACK, NewReno without", "RFC 8985, RFC 6582"),
    row("reordering", "0, then 1/4 to 1 round trip, more by D-SACK", "RFC 8985 6.2"),
    row("tail loss probe", "after 2 srtt, a single segment 200 ms more", "RFC 8985 7; Linux"),
    row(
        "reduction",
        "PRR with the slow-start bound, for losses and marks",
        "RFC 6937, RFC 9937; Linux",
    ),
    row("limited transmit", "2 segments", "RFC 3042"),
    row("duplicates", "D-SACK told and believed", "RFC 2883"),
    row("spurious repairs", "undone by timestamps or D-SACK", "RFC 3522, RFC 4015; Linux"),
    row("spurious timeouts", "F-RTO where there are no timestamps", "RFC 5682"),
    row("delayed ACK", "2 segments or 40 ms", "RFC 1122 4.2.3.2; Linux"),
    row("quick ACKs", "first 16 segments", "Linux"),
    row("Nagle", "on", "RFC 1122 4.2.3.4"),
    row("RTO", "srtt + 4 rttvar, 200 ms to 120 s, first 1 s", "RFC 6298; floor: Linux"),
    row("buffers", "4 MiB each way", "assumed"),
    row("retries", "15, SYN 6", "Linux"),
    row("TIME-WAIT", "60 s", "Linux; RFC 9293 says 4 min"),
    row("backlog", "256 half open, then SYN cookies", "RFC 4987; size: assumed"),
];

const TCP_C: &str = "Linux 1.1.89 net/inet/tcp.c";

const LINUX_1_1: &[Feature] = &[
    row("payload", "MTU - 64 to a peer on the same net", TCP_C),
    row("initial window", "1 segment", TCP_C),
    row("initial ssthresh", "0: no slow start on a new connection", TCP_C),
    row("window growth", "+1 every cwnd + 1 advancing ACKs, up to 2048", TCP_C),
    row("window unit", "packets", TCP_C),
    row("window scale", "none", TCP_C),
    row("timestamps", "none", TCP_C),
    row("ECN", "none", TCP_C),
    row("recovery", "timeout only, no duplicate-ACK counter", TCP_C),
    row("after a timeout", "resends the list by cwnd on each advancing ACK", TCP_C),
    row("ACK", "each data segment at once; out of order repeated after 3 s", TCP_C),
    row("Nagle", "on", TCP_C),
    row("RTO", "srtt + 2 mdev from zero, 0.2 to 120 s, first 3 s, 10 ms ticks", TCP_C),
    row("receive window", "(32767 / 2) - 2048 = 14335, never shrunk", TCP_C),
    row("window update", "when it would grow by more than an MTU", TCP_C),
    row("send buffer", "32767 with 216 bytes of overhead per segment", TCP_C),
    row("waiting writer", "woken when a segment fits", TCP_C),
    row("retries", "15", TCP_C),
    row("SYN retries", "5", "assumed"),
    row("TIME-WAIT", "60 s", "assumed"),
    row("backlog", "256 half open, no SYN cookies", "assumed"),
    row("header prediction", "on: it changes no result, only the work", "assumed"),
];

const RENO: &str = "4.3BSD-Reno, Jacobson 1990";
const BSD: &str = "4.3BSD, Jacobson 1988";

const BSD_4_3: &[Feature] = &[
    row("payload", "MTU - 40", "assumed: 4.3BSD rounded it to its buffers"),
    row("initial window", "1 segment", BSD),
    row("initial ssthresh", "65535 bytes", BSD),
    row("window growth", "per byte acknowledged", "assumed: 4.3BSD counted acknowledgments"),
    row("idle restart", "after one RTO", "assumed"),
    row("window scale", "none", BSD),
    row("timestamps", "none", BSD),
    row("ECN", "none", "RFC 3168 is younger"),
    row("recovery", "Reno (1990): fast recovery until the first advancing ACK", RENO),
    row("delayed ACK", "2 segments or the next tick of a 200 ms timer", BSD),
    row("Nagle", "on", "RFC 896"),
    row("RTO", "srtt + 4 dev in ticks of 500 ms, 1 to 64 s, first 6 s", BSD),
    row("buffers", "8 KiB each way", "assumed"),
    row("retries", "12, SYN 3", "assumed: 4.3BSD gave a SYN 75 s"),
    row("TIME-WAIT", "60 s", "RFC 9293 with an MSL of 30 s"),
    row("header prediction", "on", RENO),
    row("backlog", "256 half open, no SYN cookies", "assumed"),
];

const LINUX_2_2: &[Feature] = &[
    row("payload", "MTU - 40 - options", "RFC 879"),
    row("initial window", "2 segments", "RFC 2581 3.1"),
    row("initial ssthresh", "none", "RFC 2581 3.1"),
    row("window growth", "per byte acknowledged", "assumed: Linux counted segments"),
    row("window scale", "offered, shift up to 14", "RFC 1323"),
    row("timestamps", "offered, PAWS", "RFC 1323"),
    row("ECN", "none", "RFC 2481 not built in"),
    row("recovery", "SACK, NewReno without", "RFC 2018, RFC 2582"),
    row("duplicates", "no D-SACK", "RFC 2883 is younger"),
    row("spurious timeouts", "not noticed", "assumed"),
    row("limited transmit", "none", "RFC 3042 is younger"),
    row("delayed ACK", "2 segments or 200 ms", "assumed"),
    row("quick ACKs", "first 16 segments", "assumed"),
    row("Nagle", "on", "RFC 1122 4.2.3.4"),
    row("RTO", "srtt + 4 rttvar, 200 ms to 120 s, first 3 s", "RFC 1122 4.2.3.1; Linux"),
    row("buffers", "65535 bytes each way", "assumed"),
    row("retries", "15, SYN 10", "assumed"),
    row("TIME-WAIT", "60 s", "Linux"),
];

const LINUX_2_4: &[Feature] = &[
    row("payload", "MTU - 40 - options", "RFC 879"),
    row("initial window", "3 segments, 2 above an MTU of 1500", "RFC 2414; Linux"),
    row("initial ssthresh", "none", "RFC 2581 3.1"),
    row("window growth", "per byte acknowledged", "assumed: Linux counted segments"),
    row("window scale", "offered, shift up to 14", "RFC 1323"),
    row("timestamps", "offered, PAWS", "RFC 1323"),
    row("ECN", "off, as configured by default", "Linux"),
    row("recovery", "SACK, NewReno without", "RFC 2018, RFC 2582"),
    row("duplicates", "D-SACK told and believed", "RFC 2883"),
    row("spurious repairs", "undone by timestamps or D-SACK", "Linux; RFC 3522 is younger"),
    row("spurious timeouts", "F-RTO where there are no timestamps", "RFC 4138; assumed on"),
    row("reduction", "at once; rate halving is not modelled", "assumed"),
    row("limited transmit", "2 segments", "RFC 3042"),
    row("delayed ACK", "2 segments or 40 ms", "Linux"),
    row("quick ACKs", "first 16 segments", "Linux"),
    row("Nagle", "on", "RFC 1122 4.2.3.4"),
    row("RTO", "srtt + 4 rttvar, 200 ms to 120 s, first 3 s", "RFC 2988; floor: Linux"),
    row("buffers", "87380 bytes in, 65536 out, not tuned", "Linux"),
    row("retries", "15, SYN 5", "Linux"),
    row("TIME-WAIT", "60 s", "Linux"),
];

const LINUX_3_18: &[Feature] = &[
    row("payload", "MTU - 40 - options", "RFC 9293 3.7.1, RFC 6691"),
    row("congestion control", "cubic, with HyStart++ for HyStart", "Linux; RFC 9406"),
    row("initial window", "10 segments", "RFC 6928"),
    row("initial ssthresh", "none", "RFC 5681 3.1"),
    row("window growth", "per byte acknowledged", "RFC 5681 3.1"),
    row("bursts", "all that the window admits, up to 64 KB (segmentation offload)", "Linux"),
    row("idle restart", "after one RTO", "RFC 5681 4.1"),
    row("window scale", "offered, shift up to 14", "RFC 7323 2"),
    row("timestamps", "offered, PAWS", "RFC 7323 3, 5"),
    row("ECN", "where the peer or the congestion control asks for it", "Linux"),
    row("recovery", "3 duplicates or SACK, NewReno without", "RFC 6675 for Linux's FACK"),
    row("tail loss probe", "after 2 srtt, a single segment 200 ms more", "RFC 8985 7; Linux"),
    row("reduction", "PRR with the slow-start bound, for losses and marks", "RFC 6937; Linux"),
    row("limited transmit", "2 segments", "RFC 3042"),
    row("duplicates", "D-SACK told and believed", "RFC 2883"),
    row("spurious repairs", "undone by timestamps or D-SACK", "RFC 3522, RFC 4015; Linux"),
    row("spurious timeouts", "F-RTO where there are no timestamps", "RFC 5682"),
    row("dctcp's alpha", "by bytes, stuck below 16 of 1024", "Linux"),
    row("delayed ACK", "2 segments or 40 ms", "RFC 1122 4.2.3.2; Linux"),
    row("quick ACKs", "first 16 segments", "Linux"),
    row("Nagle", "on", "RFC 1122 4.2.3.4"),
    row("RTO", "srtt + 4 rttvar, 200 ms to 120 s, first 1 s", "RFC 6298; floor: Linux"),
    row("buffers", "4 MiB each way", "assumed"),
    row("retries", "15, SYN 6", "Linux"),
    row("TIME-WAIT", "60 s", "Linux"),
];
