//! Frames for a host on an Ethernet, well formed as far as the input wants them to be.

use crate::script::Script;
use std::net::Ipv4Addr;
use trunkline_core::seq::SeqNumber;
use trunkline_core::wire::ethernet::{self, EtherType};
use trunkline_core::wire::ip::Addresses;
use trunkline_core::wire::ipv4::{self, Ecn, Fragment, Protocol};
use trunkline_core::wire::mac::MacAddress;
use trunkline_core::wire::{arp, icmp_error, tcp, udp};

/// The host's two cards, each on a network of its own.
pub(crate) const CARDS: [(MacAddress, Ipv4Addr); 2] = [
    (MacAddress::local(1), Ipv4Addr::new(10, 0, 0, 1)),
    (MacAddress::local(2), Ipv4Addr::new(10, 1, 0, 1)),
];
/// Where it listens, and its two bound ports: an echo's and that of routes.
pub(crate) const LISTENS: u16 = 80;
pub(crate) const BOUND: [u16; 2] = [7, 520];

/// Whom a frame may be for, and who may have sent it.
const MACS: [MacAddress; 5] = [
    CARDS[0].0,
    MacAddress::BROADCAST,
    MacAddress::local(9),
    CARDS[1].0,
    MacAddress([1, 0, 0x5e, 0, 0, 9]),
];
const ADDRESSES: [Ipv4Addr; 12] = [
    CARDS[0].1,
    Ipv4Addr::new(10, 0, 0, 2),
    Ipv4Addr::new(10, 0, 0, 255),
    Ipv4Addr::BROADCAST,
    Ipv4Addr::new(10, 0, 0, 0),
    CARDS[1].1,
    Ipv4Addr::new(10, 1, 0, 2),
    Ipv4Addr::new(10, 255, 255, 255),
    Ipv4Addr::UNSPECIFIED,
    Ipv4Addr::new(10, 1, 0, 255),
    Ipv4Addr::new(192, 0, 2, 1),
    Ipv4Addr::new(224, 0, 0, 9),
];

/// Bytes of a fragment, and how many make a packet.
const PIECE: usize = 256;
const PIECES: u8 = 4;

/// What the host has sent last, for those who answer it.
#[derive(Default)]
pub(crate) struct Heard {
    /// Its last packet, without the Ethernet header.
    pub(crate) packet: Vec<u8>,
    /// What its last segment was and expects.
    pub(crate) next: u32,
    pub(crate) ack: u32,
    pub(crate) peer_port: u16,
    /// Whose address it has asked for last.
    pub(crate) asked: Option<Ipv4Addr>,
}

impl Heard {
    /// Takes note of a frame.
    pub(crate) fn note(&mut self, frame: &[u8], elided: u32) {
        let Ok(view) = ethernet::View::new_checked(frame) else { return };
        if let Ok(question) = arp::Packet::new_checked(view.payload())
            && view.ether_type() == EtherType::ARP
        {
            self.asked = Some(question.target().1);
        }
        if view.ether_type() != EtherType::IPV4 {
            return;
        }
        self.packet = view.payload().to_vec();
        let Ok(packet) = ipv4::Packet::new_checked(view.payload(), elided) else { return };
        if packet.protocol() != Protocol::TCP {
            return;
        }
        let Ok(segment) = tcp::Packet::new_checked(packet.payload(), packet.payload_elided())
        else {
            return;
        };
        let repr = tcp::Repr::parse(
            &segment,
            packet.src(),
            packet.dst(),
            trunkline_core::wire::Integrity::Intact,
        );
        if let Ok(repr) = repr {
            let ends = repr.flags.0 & (tcp::Flags::SYN.0 | tcp::Flags::FIN.0);
            let len = segment.payload_len() as u32 + ends.count_ones();
            (self.next, self.ack) = (repr.seq.0.wrapping_add(len), repr.ack.0);
            self.peer_port = repr.dst_port;
        }
    }
}

fn pick<T: Copy>(script: &mut Script<'_>, from: &[T]) -> T {
    from[usize::from(script.byte()) % from.len()]
}

/// Mostly what is right, else anything of a list.
fn mostly<T: Copy>(script: &mut Script<'_>, right: T, from: &[T]) -> T {
    if script.byte() < 192 { right } else { pick(script, from) }
}

/// A frame of the next kind that the input names, for one of the cards.
pub(crate) fn frame(script: &mut Script<'_>, heard: &Heard, card: u8) -> Vec<u8> {
    let kind = script.byte() % 8;
    let (mac, own) = CARDS[usize::from(card) % CARDS.len()];
    let ether = ethernet::Repr {
        dst: mostly(script, mac, &MACS),
        src: MacAddress::local(20 + u32::from(script.byte() % 4)),
        tag: None,
        ether_type: if kind == 0 { EtherType::ARP } else { EtherType::IPV4 },
    };
    let mut bytes = vec![0; ether.header_len()];
    ether.emit(&mut bytes);
    match kind {
        0 => bytes.extend(question(script, heard, (ether.src, own))),
        _ => bytes.extend(packet(script, heard, (kind, own))),
    }
    // A few bytes are not what they were.
    let end = script.byte();
    for _ in 0..if end < 64 { end % 4 } else { 0 } {
        let at = usize::from(script.byte()) % bytes.len();
        bytes[at] ^= script.byte();
    }
    if end == 255 {
        bytes.truncate(usize::from(script.byte()));
    }
    bytes
}

/// Who has an address, or an answer to what the host has asked.
fn question(script: &mut Script<'_>, heard: &Heard, to: (MacAddress, Ipv4Addr)) -> [u8; arp::LEN] {
    let (sender, own) = to;
    let operation = pick(script, &[arp::Operation::Request, arp::Operation::Reply]);
    let from = mostly(script, heard.asked.unwrap_or(own), &ADDRESSES);
    let target = (pick(script, &MACS), mostly(script, own, &ADDRESSES));
    // Now and then it says that everybody has the address.
    let mac = if script.byte() == 0 { MacAddress::BROADCAST } else { sender };
    let mut bytes = [0; arp::LEN];
    arp::Repr { operation, sender: (mac, from), target }.emit(&mut bytes);
    bytes
}

fn packet(script: &mut Script<'_>, heard: &Heard, (kind, own): (u8, Ipv4Addr)) -> Vec<u8> {
    let [a, b, ..] = own.octets();
    let src = mostly(script, Ipv4Addr::new(a, b, 0, 2), &ADDRESSES);
    let dst = mostly(script, own, &ADDRESSES);
    let addresses = Addresses::V4 { src, dst };
    let (protocol, payload) = match kind {
        1 => (Protocol::UDP, datagram(script, &addresses)),
        2 => (Protocol::UDP, first_piece(script, &addresses)),
        3 => (Protocol::ICMP, message(script, heard)),
        4 => (Protocol::UDP, vec![0; PIECE * usize::from(1 + script.byte() / 240)]),
        _ => (Protocol::TCP, segment(script, heard, (src, dst))),
    };
    let part = match kind {
        2 | 4 => {
            let place = if kind == 2 { 0 } else { script.byte() % PIECES };
            let more = mostly(script, place + 1 < PIECES, &[true, false]);
            Fragment { offset: u16::from(place) * PIECE as u16, more }
        }
        _ => Fragment::WHOLE,
    };
    let ip = ipv4::Repr {
        src,
        dst,
        protocol,
        dscp: 0,
        ecn: Ecn::NotEct,
        ident: u16::from(script.byte() % 2),
        dont_fragment: script.byte() == 0,
        ttl: mostly(script, 64, &[1, 2, 0]),
        payload_len: payload.len() as u16,
    };
    let mut bytes = vec![0; ipv4::HEADER_LEN];
    ip.emit_fragment(part, &mut bytes);
    bytes.extend(payload);
    bytes
}

fn datagram(script: &mut Script<'_>, addresses: &Addresses) -> Vec<u8> {
    let dst_port = pick(script, &[BOUND[0], BOUND[1], 9]);
    let payload = vec![script.byte(); usize::from(script.byte()) * 5];
    let mut bytes = vec![0; udp::HEADER_LEN];
    udp::Repr { src_port: 520, dst_port }.emit(&mut bytes, &payload, 0, addresses);
    bytes.extend(payload);
    bytes
}

/// The first piece of a datagram of zeros.
fn first_piece(script: &mut Script<'_>, addresses: &Addresses) -> Vec<u8> {
    let dst_port = pick(script, &[BOUND[0], BOUND[1], 9]);
    let mut bytes = vec![0; PIECE];
    let zeros = (PIECE * usize::from(PIECES) - udp::HEADER_LEN) as u32;
    udp::Repr { src_port: 520, dst_port }.emit(&mut bytes, &[], zeros, addresses);
    bytes
}

/// An echo, or an error about what the host has sent last.
fn message(script: &mut Script<'_>, heard: &Heard) -> Vec<u8> {
    use icmp_error::Kind;
    use trunkline_core::wire::icmp;
    let mtu = script.near() as u16;
    let errors = [
        Kind::NetUnreachable,
        Kind::PortUnreachable,
        Kind::FragmentationNeeded { mtu },
        Kind::HopsExceeded,
        Kind::ReassemblyExceeded,
    ];
    if script.byte().is_multiple_of(2) {
        let payload = vec![1; usize::from(script.byte()) * 5];
        let kind = pick(script, &[icmp::Kind::EchoRequest, icmp::Kind::EchoReply]);
        let mut bytes = vec![0; icmp::HEADER_LEN];
        icmp::Repr { kind, ident: 1, seq: 1 }.emit(&mut bytes, &payload);
        bytes.extend(payload);
        return bytes;
    }
    let mut bytes = [0; icmp_error::LEN_MAX];
    let len = icmp_error::Repr { kind: pick(script, &errors) }.emit(&mut bytes, &heard.packet);
    bytes[..len].to_vec()
}

/// Mostly nothing, else a little more or less, or anything.
fn beside(script: &mut Script<'_>) -> u32 {
    match script.byte() {
        0..=159 => 0,
        160..=255 => script.near().wrapping_sub(script.near()),
    }
}

/// A segment near to what the host expects, from one of a few ports.
fn segment(script: &mut Script<'_>, heard: &Heard, (src, dst): (Ipv4Addr, Ipv4Addr)) -> Vec<u8> {
    let flags = pick(script, &[0x02, 0x10, 0x18, 0x11, 0x04, 0x14, 0x12, 0x38, 0xc2, 0x00]);
    let ours = script.byte();
    let src_port = if ours.is_multiple_of(4) || heard.peer_port == 0 {
        1000 + u16::from(ours % 3)
    } else {
        heard.peer_port
    };
    let payload = vec![ours; usize::from(script.byte() % 64) * 8];
    let repr = tcp::Repr {
        src_port,
        dst_port: mostly(script, LISTENS, &[9]),
        seq: SeqNumber(heard.ack.wrapping_add(beside(script))),
        ack: SeqNumber(heard.next.wrapping_add(beside(script))),
        flags: tcp::Flags(flags),
        window: mostly(script, 8_000, &[0, 1, 65_535]),
        urgent: 0,
        options: tcp::Options::default(),
    };
    let mut bytes = vec![0; repr.header_len()];
    repr.emit(&mut bytes, &payload, 0, src, dst);
    bytes.extend(payload);
    bytes
}
