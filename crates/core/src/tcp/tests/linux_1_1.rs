//! What Linux 1.1 did differently.

use super::pair::{A, B, Pair};
use crate::frame::Place;
use crate::tcp::{Config, Data, Profile};
use crate::time::Duration;
use crate::units::BitRate;

const MSS: u32 = 536;

fn pair() -> Pair {
    let config = Config::new(Profile::Linux11, 600);
    Pair::new(config.clone(), config).established()
}

#[test]
fn the_window_is_14335_and_the_send_buffer_43_segments() {
    let mut pair = pair();
    assert_eq!(pair.end(A).snapshot().snd_wnd, 14_335);
    assert_eq!(pair.end(A).snapshot().rcv_wnd, 14_335);
    assert_eq!(pair.end(A).snapshot().mss, MSS);
    assert_eq!(pair.end(A).send_space(), 43 * MSS as usize);
}

#[test]
fn the_window_grows_from_one_by_one_every_cwnd_plus_one_acks() {
    let mut pair = pair();
    // The handshake ACK was the first of the two that the step to 2 takes.
    assert_eq!(pair.end(A).snapshot().cwnd, MSS);
    pair.write(A, Data::Elided(40 * MSS as usize));
    let mut flights = Vec::new();
    for _ in 0..8 {
        let cwnd = pair.end(A).snapshot().cwnd / MSS;
        assert_eq!(pair.end(A).snapshot().flight, cwnd * MSS);
        flights.push(cwnd);
        pair.run_for(Duration::from_millis(100));
    }
    assert_eq!(flights, [1, 2, 2, 3, 4, 4, 5, 6]);
}

#[test]
fn every_segment_is_acknowledged_at_once() {
    let mut pair = pair();
    pair.bulk(100_000, Duration::from_secs(100));
    let data = pair.data_lens(A).len();
    assert_eq!(pair.sent_by(B).count(), data);
    assert!(pair.end(B).stats().predicted_data > 0);
}

#[test]
fn duplicates_change_nothing_and_the_timer_repairs() {
    let mut pair = pair();
    pair.bulk(60 * u64::from(MSS), Duration::from_secs(100));
    pair.run_for(Duration::from_secs(1));
    let cwnd = pair.end(A).snapshot().cwnd;
    assert!(cwnd >= 8 * MSS);
    pair.log.clear();
    pair.drop_data = vec![60];
    pair.write(A, Data::Elided(8 * MSS as usize));
    pair.run_for(Duration::from_millis(190));
    assert!(pair.end(A).stats().dup_acks >= 3);
    assert_eq!(pair.end(A).stats().retransmissions, 0);
    assert_eq!(pair.end(A).snapshot().cwnd, cwnd);
    pair.run_for(Duration::from_secs(5));
    assert_eq!(pair.end(A).stats().fast_recoveries, 0);
    assert_eq!(pair.end(A).stats().timeouts, 1);
    assert_eq!(pair.received_len[B], 68 * u64::from(MSS));
}

#[test]
fn the_first_rto_is_five_eighths_of_the_round_trip() {
    let mut pair = pair();
    pair.delay = Duration::from_millis(4000);
    assert_eq!(pair.end(A).snapshot().rto, Duration::from_secs(3));
    pair.write(A, Data::Elided(MSS as usize));
    // The segment is sent again before its acknowledgment can arrive, so there is no sample.
    pair.run_for(Duration::from_secs(9));
    assert_eq!(pair.end(A).stats().timeouts, 1);
    assert_eq!(pair.end(A).stats().rtt_samples, 0);
    pair.delay = Duration::from_millis(1000);
    pair.run_for(Duration::from_secs(30));
    pair.write(A, Data::Elided(MSS as usize));
    pair.run_for(Duration::from_secs(10));
    assert_eq!(pair.end(A).stats().rtt_samples, 1);
    assert_eq!(pair.end(A).snapshot().rto, Duration::from_millis(1250));
}

#[test]
fn a_timeout_resends_the_head_and_then_by_cwnd() {
    let mut pair = pair();
    pair.bulk(60 * u64::from(MSS), Duration::from_secs(100));
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    pair.drop_data = vec![60, 61, 62];
    pair.write(A, Data::Elided(30 * MSS as usize));
    let first = pair.log[0].repr.seq;
    let packets = pair.end(A).snapshot().cwnd / MSS;
    let sent = pair.log.len();
    assert_eq!(sent as u32, packets);
    pair.run_for(Duration::from_secs(10));
    let place = |s: &super::pair::Sent| (s.repr.seq - first) / MSS;
    let later: Vec<u32> = pair.sent_by(A).skip(sent).map(place).collect();
    // The head at the timeout. Its ACK finds cwnd 1, then 2 and so on: each resends from the head, and
    // the buffered ones behind the hole are acknowledged together.
    assert_eq!(&later[..2], [0, 1]);
    let fresh = later.iter().position(|n| *n >= packets).unwrap();
    assert!(later[..fresh].iter().all(|n| *n < packets), "{later:?}");
    assert!(fresh >= 3);
    assert_eq!(pair.received_len[B], 90 * u64::from(MSS));
}

#[test]
fn a_loss_at_the_end_does_not_stop_the_transfer() {
    let mut pair = pair();
    pair.rate = Some(BitRate::from_bps(57_600));
    pair.drop_data = vec![3, 17, 18, 40, 41, 42, 90, 180];
    pair.bulk(200 * u64::from(MSS), Duration::from_secs(600));
    assert_eq!(pair.received_len[B], 200 * u64::from(MSS));
}

#[test]
fn what_still_waits_in_the_machine_is_not_sent_twice() {
    for (place, again) in [(Place::Queue, false), (Place::Transmitter, true)] {
        let mut pair = pair();
        let connection = pair.ends[A].as_mut().unwrap();
        connection.write(pair.now, Data::Elided(MSS as usize));
        let frame = connection.poll_transmit(pair.now, &mut pair.cx).unwrap();
        pair.cx.frames.set_waiting(frame, place);
        let (later, _) = connection.poll_timeout().unwrap();
        connection.handle_timeout(later, &mut pair.cx);
        assert_eq!(connection.stats().timeouts, 1);
        assert_eq!(connection.poll_transmit(later, &mut pair.cx).is_some(), again);
    }
}

#[test]
fn the_ack_of_an_out_of_order_segment_is_repeated_after_3_s() {
    let mut pair = pair();
    pair.bulk(60 * u64::from(MSS), Duration::from_secs(100));
    pair.run_for(Duration::from_secs(1));
    pair.log.clear();
    pair.drop_data = vec![60];
    pair.write(A, Data::Elided(2 * MSS as usize));
    pair.run_for(Duration::from_millis(60));
    pair.cut[A] = true;
    pair.run_for(Duration::from_secs(10));
    let times: Vec<_> = pair.sent_by(B).map(|s| s.at).collect();
    assert_eq!(times.len(), 2);
    assert_eq!(times[1] - times[0], Duration::from_secs(3));
}
