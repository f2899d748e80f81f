use super::*;
use crate::seq::SeqNumber;
use crate::wire::{Integrity, ipv4, tcp};
use proptest::prelude::*;
use std::net::Ipv4Addr;

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// One connection's next segment in the making.
#[derive(Clone, Copy, Debug)]
struct Sender {
    tcp: tcp::Repr,
    ip: ipv4::Repr,
}

impl Sender {
    fn new(port: u16) -> Sender {
        let tcp = tcp::Repr {
            src_port: port,
            dst_port: 23,
            seq: SeqNumber(1000),
            ack: SeqNumber(5000),
            flags: tcp::Flags::ACK,
            window: 8192,
            ..tcp::Repr::default()
        };
        let ip = ipv4::Repr {
            src: HERE,
            dst: THERE,
            protocol: ipv4::Protocol::TCP,
            dscp: 0,
            ecn: ipv4::Ecn::NotEct,
            ident: 7,
            dont_fragment: false,
            ttl: 64,
            payload_len: 0,
        };
        Sender { tcp, ip }
    }

    /// The segment with this payload; sequence and identification go on.
    fn send(&mut self, payload: &[u8]) -> Vec<u8> {
        let len = self.tcp.header_len();
        self.ip.payload_len = (len + payload.len()) as u16;
        let mut packet = vec![0; ipv4::HEADER_LEN + len];
        self.ip.emit(&mut packet);
        self.tcp.emit(&mut packet[ipv4::HEADER_LEN..], payload, 0, HERE, THERE);
        packet.extend_from_slice(payload);
        self.tcp.seq = self.tcp.seq + payload.len() as u32;
        self.ip.ident = self.ip.ident.wrapping_add(1);
        packet
    }
}

/// What goes over the line for a packet.
fn compress(compressor: &mut Compressor, packet: &[u8]) -> (Kind, Vec<u8>) {
    let compressed = compressor.compress(packet, 0);
    (compressed.kind, [compressed.header(), &packet[compressed.replaced..]].concat())
}

fn restore(
    decompressor: &mut Decompressor,
    (kind, line): &(Kind, Vec<u8>),
) -> Result<Vec<u8>, Error> {
    let restored = decompressor.decompress(*kind, line, 0)?;
    Ok([restored.header(), &line[restored.replaced..]].concat())
}

fn pair(slots: u8) -> (Compressor, Decompressor) {
    (Compressor::new(slots, SlotCompression::Allowed), Decompressor::new(slots))
}

fn verifies(packet: &[u8]) -> bool {
    let ip = ipv4::Packet::new_checked(packet, 0).unwrap();
    let segment = tcp::Packet::new_checked(ip.payload(), 0).unwrap();
    tcp::Repr::parse(&segment, HERE, THERE, Integrity::Intact).is_ok()
}

#[test]
fn a_one_way_transfer_costs_three_bytes_a_segment() {
    let (mut compressor, mut decompressor) = pair(SLOTS);
    let mut sender = Sender::new(1);
    for segment in 0..10 {
        let packet = sender.send(&[segment; 300]);
        let line = compress(&mut compressor, &packet);
        match segment {
            0 => assert_eq!((line.0, line.1.len()), (Kind::UncompressedTcp, 340)),
            _ => assert_eq!((line.0, line.1.len()), (Kind::CompressedTcp, 303)),
        }
        if segment > 0 {
            assert_eq!(line.1[0], mask::ONE_WAY);
            assert_eq!(line.1[1..3], packet[36..38], "TCP's checksum");
        }
        assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
    }
}

#[test]
fn echoed_typing_costs_three_bytes_a_key() {
    let (mut compressor, mut decompressor) = pair(SLOTS);
    let mut sender = Sender::new(1);
    for key in 0..5 {
        sender.tcp.flags = tcp::Flags::ACK | tcp::Flags::PSH;
        let packet = sender.send(b"x");
        let line = compress(&mut compressor, &packet);
        assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
        if key > 0 {
            assert_eq!((line.1.len(), line.1[0]), (4, mask::PUSH | mask::ECHOED));
        }
        sender.tcp.ack = sender.tcp.ack + 1;
    }
}

#[test]
fn changes_stand_in_the_order_of_the_rfc() {
    let (mut compressor, _) = pair(SLOTS);
    let mut sender = Sender::new(1);
    compress(&mut compressor, &sender.send(&[0; 10]));
    sender.tcp.ack = sender.tcp.ack + 256;
    sender.tcp.window -= 1;
    sender.ip.ident += 4;
    let (kind, line) = compress(&mut compressor, &sender.send(&[]));
    assert_eq!(kind, Kind::CompressedTcp);
    assert_eq!(line[0], mask::IDENT | mask::SEQUENCE | mask::ACK | mask::WINDOW);
    assert_eq!(line[3..], [0, 0xff, 0xff, 0, 1, 0, 10, 5], "window, ack, sequence, ident");
}

#[test]
fn a_slot_is_named_when_it_is_another() {
    let (mut compressor, mut decompressor) = pair(2);
    let mut senders = [Sender::new(1), Sender::new(2), Sender::new(3)];
    let mut kinds = Vec::new();
    for sender in [0, 1, 0, 0, 1, 2, 1, 0] {
        let packet = senders[sender].send(&[9; 20]);
        let line = compress(&mut compressor, &packet);
        assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
        let named = line.0 == Kind::CompressedTcp && line.1[0] & mask::CONNECTION != 0;
        kinds.push((line.0, named));
    }
    let (whole, short) = (Kind::UncompressedTcp, Kind::CompressedTcp);
    let expected = [
        (whole, false),
        (whole, false),
        (short, true),
        (short, false),
        (short, true),
        (whole, false), // in the slot of the one used longest ago
        (short, true),
        (whole, false),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn what_a_compressed_header_cannot_tell_is_sent_whole() {
    let whole = |change: fn(&mut Sender)| {
        let (mut compressor, mut decompressor) = pair(SLOTS);
        let mut sender = Sender::new(1);
        let first = sender.send(&[1; 10]);
        restore(&mut decompressor, &compress(&mut compressor, &first)).unwrap();
        change(&mut sender);
        let packet = sender.send(&[2; 10]);
        let line = compress(&mut compressor, &packet);
        assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
        line.0
    };
    assert_eq!(whole(|_| ()), Kind::CompressedTcp);
    assert_eq!(whole(|s| s.tcp.seq = s.tcp.seq - 10), Kind::UncompressedTcp, "a retransmission");
    assert_eq!(whole(|s| s.tcp.ack = s.tcp.ack + 65_536), Kind::UncompressedTcp);
    assert_eq!(whole(|s| s.ip.ttl -= 1), Kind::UncompressedTcp);
    assert_eq!(whole(|s| s.ip.dscp += 1), Kind::UncompressedTcp);
    assert_eq!(whole(|s| s.ip.dont_fragment = true), Kind::UncompressedTcp);
    let stamped =
        |s: &mut Sender| s.tcp.options.timestamps = Some(tcp::Timestamps { value: 1, echo: 2 });
    assert_eq!(whole(stamped), Kind::UncompressedTcp, "options");
    for flag in [tcp::Flags::SYN, tcp::Flags::FIN, tcp::Flags::RST, tcp::Flags::ECE] {
        let (mut compressor, _) = pair(SLOTS);
        let mut sender = Sender::new(1);
        sender.tcp.flags = flag | tcp::Flags::ACK;
        assert_eq!(compress(&mut compressor, &sender.send(&[])).0, Kind::Ip);
        sender.tcp.flags = tcp::Flags::NONE;
        assert_eq!(compress(&mut compressor, &sender.send(&[])).0, Kind::Ip);
    }
}

#[test]
fn a_lost_packet_spoils_the_next_ones_until_one_is_sent_whole() {
    let (mut compressor, mut decompressor) = pair(SLOTS);
    let mut sender = Sender::new(1);
    let start = compress(&mut compressor, &sender.send(&[1; 50]));
    restore(&mut decompressor, &start).unwrap();
    let lost = sender;
    compress(&mut compressor, &sender.send(&[2; 50]));
    for _ in 0..3 {
        let packet = sender.send(&[3; 50]);
        let line = compress(&mut compressor, &packet);
        assert!(!verifies(&restore(&mut decompressor, &line).unwrap()), "TCP drops it");
    }
    sender.tcp.seq = lost.tcp.seq;
    for _ in 0..3 {
        let packet = sender.send(&[2; 50]);
        let line = compress(&mut compressor, &packet);
        assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
    }
}

#[test]
fn after_an_error_packets_are_tossed_until_one_says_whose_it_is() {
    let (mut compressor, mut decompressor) = pair(SLOTS);
    let mut senders = [Sender::new(1), Sender::new(2)];
    for sender in &mut senders {
        let line = compress(&mut compressor, &sender.send(&[1; 50]));
        restore(&mut decompressor, &line).unwrap();
    }
    decompressor.handle_error();
    for _ in 0..2 {
        let line = compress(&mut compressor, &senders[1].send(&[2; 50]));
        assert_eq!(restore(&mut decompressor, &line), Err(Error::Checksum));
    }
    let packet = senders[0].send(&[2; 50]);
    let line = compress(&mut compressor, &packet);
    assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
    let counters = Counters { packets: 3, errors: 0, tossed: 2 };
    assert_eq!(decompressor.counters(), counters);

    let unknown = (Kind::CompressedTcp, vec![mask::CONNECTION, 9, 1, 2]);
    assert_eq!(restore(&mut decompressor, &unknown), Err(Error::Malformed));
    let cut = (Kind::CompressedTcp, vec![mask::CONNECTION, 0, 1]);
    assert_eq!(restore(&mut decompressor, &cut), Err(Error::Truncated));
    assert_eq!(decompressor.counters().errors, 2);
    let line = compress(&mut compressor, &senders[0].send(&[2; 50]));
    assert_eq!(restore(&mut decompressor, &line), Err(Error::Checksum));
}

#[test]
fn elided_bytes_count_as_payload() {
    let (mut compressor, mut decompressor) = pair(SLOTS);
    let mut sender = Sender::new(1);
    for segment in 0..3 {
        let packet = sender.send(&[0; 300]);
        let (held, elided) = (&packet[..40], 300);
        assert_eq!(compressor.clone().compress(held, elided - 1).kind, Kind::Ip, "not whole");
        let compressed = compressor.compress(held, elided);
        let line = [compressed.header(), &held[compressed.replaced..]].concat();
        assert_eq!(line.len(), if segment == 0 { 40 } else { 3 });
        let restored = decompressor.decompress(compressed.kind, &line, elided).unwrap();
        assert_eq!([restored.header(), &line[restored.replaced..]].concat(), held);
    }
}

/// What a connection does between two of its segments.
#[derive(Clone, Debug)]
enum Change {
    Nothing,
    Ack(u32),
    Window(u16),
    Back(u32),
    Ahead(u32),
    Ident(u16),
    Flags(u8),
    Urgent(u16),
    Ttl(u8),
    Timestamps(u32),
    NoTimestamps,
    DontFragment(bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => Just(Change::Nothing),
        4 => (0u32..3000).prop_map(Change::Ack),
        1 => any::<u32>().prop_map(Change::Ack),
        2 => any::<u16>().prop_map(Change::Window),
        1 => (1u32..3000).prop_map(Change::Back),
        1 => (1u32..100_000).prop_map(Change::Ahead),
        2 => any::<u16>().prop_map(Change::Ident),
        2 => (0u8..64).prop_map(Change::Flags),
        1 => (0u16..3).prop_map(Change::Urgent),
        1 => (60u8..64).prop_map(Change::Ttl),
        1 => (0u32..3).prop_map(Change::Timestamps),
        1 => Just(Change::NoTimestamps),
        1 => any::<bool>().prop_map(Change::DontFragment),
    ]
}

fn apply(sender: &mut Sender, change: &Change) {
    let tcp = &mut sender.tcp;
    match *change {
        Change::Nothing => {}
        Change::Ack(more) => tcp.ack = tcp.ack + more,
        Change::Window(window) => tcp.window = window,
        Change::Back(by) => tcp.seq = tcp.seq - by,
        Change::Ahead(by) => tcp.seq = tcp.seq + by,
        Change::Ident(ident) => sender.ip.ident = ident,
        Change::Flags(flags) => tcp.flags = tcp::Flags(flags) | tcp::Flags::ACK,
        Change::Urgent(urgent) => tcp.urgent = urgent,
        Change::Ttl(ttl) => sender.ip.ttl = ttl,
        Change::Timestamps(value) => {
            tcp.options.timestamps = Some(tcp::Timestamps { value, echo: 1 });
        }
        Change::NoTimestamps => tcp.options.timestamps = None,
        Change::DontFragment(is_set) => sender.ip.dont_fragment = is_set,
    }
}

proptest! {
    #[test]
    fn what_is_compressed_comes_out_as_it_was(
        steps in prop::collection::vec((0usize..4, change(), change(), 0usize..4), 1..80),
        slots in 1u8..5,
        may_imply: bool,
    ) {
        let slot_compression =
            if may_imply { SlotCompression::Allowed } else { SlotCompression::Never };
        let mut compressor = Compressor::new(slots, slot_compression);
        let mut decompressor = Decompressor::new(slots);
        let mut senders: Vec<Sender> = (0..4).map(Sender::new).collect();
        for (sender, first, second, len) in steps {
            let sender = &mut senders[sender];
            sender.tcp.flags = tcp::Flags::ACK;
            apply(sender, &first);
            apply(sender, &second);
            let packet = sender.send(&[len as u8; 4][..len]);
            let line = compress(&mut compressor, &packet);
            prop_assert!(line.1.len() <= packet.len());
            prop_assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
        }
    }

    #[test]
    fn after_errors_a_connection_sent_whole_is_right_again(
        steps in prop::collection::vec((0usize..3, change(), 0usize..4, 0u8..8), 1..80),
    ) {
        let mut compressor = Compressor::new(4, SlotCompression::Allowed);
        let mut decompressor = Decompressor::new(4);
        let mut senders: Vec<Sender> = (0..3).map(Sender::new).collect();
        let mut is_right = [false; 3];
        let mut is_tossing = true;
        for (index, change, len, fate) in steps {
            let sender = &mut senders[index];
            sender.tcp.flags = tcp::Flags::ACK;
            apply(sender, &change);
            let packet = sender.send(&[len as u8; 4][..len]);
            let line = compress(&mut compressor, &packet);
            if fate == 0 {
                // Damaged on the line: the framing tells.
                decompressor.handle_error();
                is_tossing = true;
                is_right[index] &= line.0 == Kind::Ip;
                continue;
            }
            let says_whose = match line.0 {
                Kind::Ip => {
                    prop_assert_eq!(restore(&mut decompressor, &line).unwrap(), packet);
                    continue;
                }
                Kind::UncompressedTcp => {
                    is_right[index] = true;
                    true
                }
                Kind::CompressedTcp => line.1[0] & mask::CONNECTION != 0,
            };
            is_tossing &= !says_whose;
            let restored = restore(&mut decompressor, &line);
            if is_tossing {
                prop_assert_eq!(restored, Err(Error::Checksum));
                is_right[index] = false;
            } else if is_right[index] {
                prop_assert_eq!(restored.unwrap(), packet);
            }
        }
    }

    #[test]
    fn any_bytes_are_survived(
        packets in prop::collection::vec((0u8..3, prop::collection::vec(any::<u8>(), 0..70)), 1..40),
        elided: u32,
    ) {
        let (mut compressor, mut decompressor) = pair(3);
        for (kind, bytes) in packets {
            let compressed = compressor.compress(&bytes, elided);
            prop_assert!(compressed.replaced <= bytes.len());
            let kinds = [Kind::Ip, Kind::UncompressedTcp, Kind::CompressedTcp];
            if let Ok(restored) = decompressor.decompress(kinds[usize::from(kind)], &bytes, elided) {
                prop_assert!(restored.replaced <= bytes.len());
            }
        }
    }
}
