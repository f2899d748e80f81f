//! Tests of slow computers, part by part.

use super::ledger::{Counts, Kind, Ledger, Packet};
use super::processor::Processor;
use super::{Job, Machine};
use trunkline_core::frame::{Frames, LinkId};
use trunkline_core::time::{Duration, Instant};
use trunkline_plan::cpu::{CostTable, READY};

/// A packet of 1408 bytes behind 40 of headers.
const FULL: Packet =
    Packet { payload: 1408, upper: 1428, headers: 40, kind: Kind::Segment, source: None };
const ACK: Packet = Packet { payload: 0, upper: 20, ..FULL };

fn at(micros: u64) -> Instant {
    Instant::ZERO + us(micros)
}

const fn us(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

fn sun() -> CostTable {
    let ready = READY.iter().find(|ready| ready.name == "sun-3/60");
    CostTable::ready(ready.expect("a table of that name"))
}

/// The table with other values.
fn sun_with(changes: &[(&str, &str)]) -> CostTable {
    let changes: Vec<String> =
        changes.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let text = format!(
        "name = \"x\"\n[[link]]\nname = \"l\"\nkind = \"ethernet\"\nrate = \"10mbit\"\n\
         [bond.b]\nends = [\"a\", \"z\"]\nmembers = [\"l\"]\n\
         [[lab.host]]\nname = \"a\"\ncpu = {{ base = \"sun-3/60\", {} }}\n",
        changes.join(", ")
    );
    let document = trunkline_plan::Document::parse("x.toml", text, &|_| Err(String::new()));
    let plan = document.and_then(|d| d.experiment()).and_then(|e| e.plan(0, None));
    plan.unwrap_or_else(|errors| panic!("{errors}")).lab.slow[0].costs.clone()
}

#[test]
fn a_card_that_sends_slows_its_processor_down_by_its_share_of_the_bus() {
    let mut processor = Processor::new(Instant::ZERO);
    processor.start(at(0), us(1000));
    assert_eq!(processor.deadline(), Some(at(1000)));
    // A quarter of the bus for 1200 us: 300 us less for the processor.
    processor.transfer(at(0), us(1200), us(300));
    assert_eq!(processor.deadline(), Some(Instant::from_nanos(1_300_000)));
    assert!(!processor.advance(at(1299)));
    assert!(processor.advance(at(1300)));
    assert_eq!((processor.busy(), processor.bus()), (us(1300), us(300)));
}

#[test]
fn an_idle_processor_loses_nothing_to_its_card() {
    let mut processor = Processor::new(Instant::ZERO);
    processor.transfer(at(0), us(1200), us(300));
    processor.start(at(1200), us(1000));
    assert_eq!(processor.deadline(), Some(at(2200)));
    assert_eq!((processor.busy(), processor.bus()), (Duration::ZERO, us(300)));
}

#[test]
fn a_job_that_was_put_off_keeps_what_is_left_of_it() {
    let mut processor = Processor::new(at(100));
    processor.start(at(0), us(400));
    processor.advance(at(300));
    let rest = processor.put_off().expect("a job");
    processor.start(at(300), us(50));
    assert!(processor.advance(at(350)));
    processor.put_off();
    processor.resume(rest);
    assert_eq!(processor.deadline(), Some(at(450)));
    assert!(processor.advance(at(450)));
    assert_eq!(processor.busy(), us(350), "the first 100 us are warm-up");
}

/// What the note says a packet of 1408 bytes takes its sender who gets one acknowledgment for two: 193 us of
/// copy, 184 of checksum, 800 of all else.
#[test]
fn a_packet_of_the_note_takes_1177_us() {
    let mut ledger = Ledger::new(sun_with(&[("first_buffer", "\"0B\"")]));
    let mut total = Duration::ZERO;
    for _ in 0..10 {
        total += ledger.interrupted();
        let counts = Counts { checksummed: 20, received: 1, predicted: 1, ..Counts::default() };
        total += ledger.received(ACK, counts) + ledger.woken(1);
        let built = Counts { copied: 2816, checksummed: 2896, sent: 2, ..Counts::default() };
        ledger.built(built);
        total += ledger.sent(FULL) + ledger.sent(FULL);
    }
    let packet = total / 20;
    // One chunk more than needed may have been copied.
    assert!(packet > us(1170) && packet < us(1190), "{packet}");
    let fixed = ledger.spent().protocols + ledger.spent().rest;
    assert_eq!(fixed / 20, us(800));
    assert_eq!(ledger.spent().protocols / 20, us(240), "30 % of 800 us");
}

#[test]
fn chunks_are_copied_whole_and_what_is_copied_ahead_is_not_copied_again() {
    let mut ledger = Ledger::new(sun_with(&[("chunk", "\"4KiB\""), ("first_buffer", "\"0B\"")]));
    let built = Counts { copied: 3 * 1408, checksummed: 3 * 1448, sent: 3, ..Counts::default() };
    ledger.built(built);
    let costs: Vec<u64> = (0..3).map(|_| ledger.sent(FULL).as_micros()).collect();
    let chunk = 4 * 140;
    assert_eq!(costs[0], costs[1] + chunk, "{costs:?}");
    assert_eq!(costs[2], costs[0], "4096 bytes do not hold three packets: {costs:?}");
}

#[test]
fn what_has_no_prediction_or_lies_in_pieces_costs_more() {
    let mut ledger = Ledger::new(sun_with(&[("pulls_up", "true"), ("pullup", "\"500us\"")]));
    let ack = Counts { checksummed: 20, received: 1, ..Counts::default() };
    let slow = ledger.received(ACK, ack);
    let fast = ledger.received(ACK, Counts { predicted: 1, ..ack });
    assert_eq!((slow - fast), us(596 - 160));
    let plain = Ledger::new(sun()).received(ACK, Counts { predicted: 1, ..ack });
    assert_eq!(fast - plain, us(500));
}

/// The note: 9 Mbit/s of packets, 1333 us apart where they have 1500 bytes, with less than half of the processor.
/// What the cards take of the memory bus comes on top.
#[test]
fn a_packet_that_is_passed_on_takes_less_than_half_of_its_time_on_the_wire() {
    let mut ledger = Ledger::new(sun());
    let packet = Packet { payload: 1460, upper: 1480, kind: Kind::PassedOn, ..FULL };
    let cost =
        ledger.interrupted() + ledger.received(packet, Counts::default()) + ledger.sent(packet);
    assert_eq!(cost, us(90 + 2 * 80 + 175));
    assert!(cost < us(667));
}

/// Whatever is in it: a part of a datagram, a small segment.
#[test]
fn what_is_passed_on_is_not_copied_and_not_checksummed() {
    let mut ledger = Ledger::new(sun());
    let big = Packet { kind: Kind::PassedOn, ..FULL };
    let part = Packet { headers: 20, payload: 8, upper: 8, ..big };
    let small = Packet { payload: 0, upper: 20, ..big };
    let costs = [big, part, small].map(|packet| ledger.sent(packet));
    assert_eq!(costs, [us(80 + 175); 3]);
    assert_eq!(ledger.spent().bytes, Duration::ZERO);
}

/// A segment that somebody else has sent leaves what is owed for our own to them.
#[test]
fn a_segment_that_is_passed_on_does_not_pay_for_our_own() {
    let alone = {
        let mut ledger = Ledger::new(sun());
        ledger.built(Counts { copied: 1408, checksummed: 1428, sent: 1, ..Counts::default() });
        ledger.sent(FULL)
    };
    let mut ledger = Ledger::new(sun());
    ledger.built(Counts { copied: 1408, checksummed: 1428, sent: 1, ..Counts::default() });
    ledger.sent(Packet { kind: Kind::PassedOn, ..FULL });
    assert_eq!(ledger.sent(FULL), alone);
}

/// 1024 bytes: the processes of 1988 had copies, and where they were on, checksums.
#[test]
fn a_datagram_is_copied_and_checksummed_at_both_ends() {
    let mut ledger = Ledger::new(sun_with(&[("first_buffer", "\"0B\"")]));
    let datagram =
        Packet { payload: 1024, upper: 1032, headers: 28, kind: Kind::Datagram, source: None };
    let sum = |bytes: u64| Duration::from_nanos(130_000 * bytes / 1024);
    let near = |cost: Duration, wanted: Duration| cost.max(wanted) - cost.min(wanted) < us(1);
    let sent = ledger.sent(datagram);
    assert!(near(sent, us(80 + 2 * 175 + 140) + sum(1032)), "{sent}");
    let received = ledger.received(datagram, Counts { checksummed: 1024, ..Counts::default() });
    assert!(near(received, us(80) + sum(1024)), "{received}");
    let read = ledger.ran(Counts { copied: 1024, ..Counts::default() });
    assert!(near(read, us(140)), "{read}");
}

/// A question for an address, or the answer; that sends what has waited for it, which is paid for later.
#[test]
fn what_is_no_packet_of_ip_costs_the_protocols_only() {
    let mut ledger = Ledger::new(sun());
    let arp = Packet::read(&[0, 1, 8, 0, 6, 4, 0, 1], 28);
    assert_eq!(ledger.sent(arp), us(80 + 175));
    let built = Counts { copied: 1408, checksummed: 1428, sent: 1, ..Counts::default() };
    assert_eq!(ledger.received(arp, built), us(80));
    let late = ledger.sent(FULL);
    assert!(late > us(160 + 2 * 175 + 120 + 193), "{late}");
}

/// As headers stand on the wire.
#[test]
fn a_packet_is_read_as_it_stands() {
    let mut bytes = [0; 40];
    (bytes[0], bytes[9], bytes[32]) = (0x45, 6, 0x50);
    bytes[12..16].copy_from_slice(&[10, 0, 0, 1]);
    let segment = Packet::read(&bytes, 1448);
    let source = Some(std::net::IpAddr::from([10, 0, 0, 1]));
    assert_eq!(segment, Packet { source, ..FULL });
    bytes[9] = 17;
    let datagram = Packet::read(&bytes, 1500);
    assert_eq!((datagram.payload, datagram.upper, datagram.headers), (1472, 1480, 28));
    (bytes[6], bytes[7]) = (0, 185);
    let part = Packet::read(&bytes, 1500);
    assert_eq!((part.payload, part.headers, part.kind), (1480, 20, Kind::Datagram));
    bytes[0] = 0;
    assert_eq!(Packet::read(&bytes, 28), Packet::default());
}

#[test]
fn every_fifth_switch_is_to_another_process() {
    let (mut spared, mut full) =
        (Ledger::new(sun()), Ledger::new(sun_with(&[("skip_same_process", "false")])));
    let sum = |ledger: &mut Ledger| (0..10).map(|_| ledger.woken(1)).sum::<Duration>();
    assert_eq!(sum(&mut spared), us(10 * 12 + 2 * 390));
    assert_eq!(sum(&mut full), us(10 * (12 + 390)));
}

#[test]
fn a_full_ring_loses_frames_and_one_interrupt_is_for_all_that_are_there() {
    let mut frames = Frames::new();
    let mut machine = Machine::new("a", sun_with(&[("receive_ring", "\"3p\"")]), Duration::ZERO);
    for n in 0..5u8 {
        let frame = frames.insert(&[n], 0);
        assert_eq!(machine.frame_arrived(at(0), LinkId(0), frame).is_ok(), n < 3);
    }
    assert_eq!(machine.deadline(), Some(at(150)), "an idle processor hears of it later");
    assert!(machine.next_arrived(at(149)).is_none());
    let costs: Vec<u64> = std::iter::from_fn(|| machine.next_arrived(at(150)))
        .map(|(_, _, cost)| cost.as_micros())
        .collect();
    assert_eq!(costs, [90, 0, 0]);
    assert_eq!((machine.totals().overruns, machine.totals().interrupts), (2, 1));
}

#[test]
fn a_driver_of_one_packet_has_room_when_it_has_heard_that_the_card_is_done() {
    let mut frames = Frames::new();
    let mut machine = Machine::new("a", sun_with(&[("driver_queue", "\"1p\"")]), Duration::ZERO);
    let link = LinkId(7);
    assert!(machine.has_room(link));
    machine.hand_over(Job::Process, link, frames.insert(&[0], 0), FULL);
    assert!(!machine.has_room(link) && machine.has_room(LinkId(8)));
    machine.frame_sent(at(1000), link);
    machine.free_places(at(1149));
    assert!(!machine.has_room(link));
    machine.free_places(at(1150));
    assert!(machine.has_room(link));
}
