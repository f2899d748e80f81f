//! The same over IPv6.

use super::pair::{A, B, Pair};
use crate::tcp::{Config, Data, Profile, State};
use crate::time::Duration;
use crate::wire::ipv6;
use crate::wire::tcp::{Flags, Repr};

fn pair() -> Pair {
    let config = Config::new(Profile::Modern, 1500);
    Pair::new(config.clone(), config).over_ipv6()
}

#[test]
fn bytes_arrive_in_segments_that_leave_room_for_the_larger_header() {
    let mut pair = pair();
    pair.connect(A);
    pair.run_for(Duration::from_millis(150));
    assert_eq!(pair.log[0].repr.options.mss, Some(1440));
    let snapshot = pair.end(A).snapshot();
    assert_eq!((snapshot.mss, snapshot.header_len), (1428, 72));
    let sent = super::pair::pattern(100_000);
    pair.write(A, Data::Bytes(&sent));
    pair.close(A);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.received[B], sent);
    assert!(pair.data_lens(A).contains(&1428));
    assert_eq!(pair.end(A).state(), State::FinWait2);
}

#[test]
fn a_peer_that_tells_no_mss_takes_1220_bytes() {
    let mut pair = pair();
    pair.cut = [true; 2];
    pair.connect(A);
    let syn = pair.log[0].repr;
    let answer = Repr {
        seq: crate::seq::SeqNumber(900),
        ack: syn.seq + 1,
        flags: Flags::SYN | Flags::ACK,
        window: 8000,
        ..Repr::default()
    };
    pair.inject(A, answer, b"");
    assert_eq!(pair.end(A).state(), State::Established);
    assert_eq!(pair.end(A).snapshot().mss, 1220);
}

#[test]
fn all_packets_of_a_connection_have_one_label() {
    let config = Config { flow_label: 0xabcde, ..Config::new(Profile::Modern, 1500) };
    let mut pair = Pair::new(config.clone(), config).over_ipv6().established();
    let mut labels = Vec::new();
    for _ in 0..3 {
        let now = pair.now;
        let end = pair.ends[A].as_mut().unwrap();
        end.write(now, Data::Elided(1428));
        let frame = end.poll_transmit(now, &mut pair.cx).expect("the window is open");
        let bytes = pair.cx.frames.bytes(frame);
        let packet = ipv6::Packet::new_checked(bytes, pair.cx.frames.elided(frame)).unwrap();
        assert_eq!(packet.total_len(), 1500);
        labels.push(ipv6::Repr::parse(&packet).unwrap().flow_label);
        pair.cx.frames.remove(frame);
    }
    assert_eq!(labels, [0xabcde; 3]);
}
