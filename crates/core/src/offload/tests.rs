use super::*;
use crate::frame::{Frame, Frames};
use crate::wire::vnet::{self, Cwr, Kind, Unfinished};
use crate::wire::{Error, tcp::Flags};
use etherparse::{IpSlice, NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

/// A run as a kernel hands it out.
#[derive(Clone, Debug)]
struct Super {
    is_v6: bool,
    is_udp: bool,
    ecn: u8,
    identification: u16,
    seq: u32,
    flags: u8,
    options: Vec<u8>,
    segment: u16,
    payload: Vec<u8>,
}

impl Super {
    fn upper_at(&self) -> usize {
        if self.is_v6 { 40 } else { 20 }
    }

    fn headers_len(&self) -> usize {
        self.upper_at() + if self.is_udp { 8 } else { 20 + self.options.len() }
    }

    fn told(&self) -> vnet::Repr {
        let kind = match (self.is_udp, self.is_v6) {
            (true, _) => Kind::Udp,
            (false, true) => Kind::TcpV6,
            (false, false) => Kind::TcpV4,
        };
        let is_first_only = !self.is_udp && self.flags & Flags::CWR.0 != 0;
        let cwr = if is_first_only { Cwr::First } else { Cwr::Clear };
        let field = if self.is_udp { 6 } else { 16 };
        vnet::Repr {
            checksum: Some(Unfinished { start: self.upper_at() as u16, field }),
            run: Some(vnet::Run {
                kind,
                cwr,
                headers: self.headers_len() as u16,
                payload: self.segment,
            }),
        }
    }

    fn packet(&self) -> Vec<u8> {
        let mut ip = vec![0; self.upper_at()];
        let upper_len = self.headers_len() - self.upper_at() + self.payload.len();
        let protocol = if self.is_udp { 17 } else { 6 };
        let version = if self.is_v6 {
            ip[0] = 0x60;
            ip[1] = self.ecn << 4 | 5;
            ip[6] = protocol;
            ip[7] = 64;
            ip[8..40].copy_from_slice(&std::array::from_fn::<u8, 32, _>(|i| i as u8));
            header::Version::V6
        } else {
            (ip[0], ip[1], ip[6], ip[8], ip[9]) = (0x45, self.ecn, 0x40, 64, protocol);
            ip[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
            header::Version::V4
        };
        version.seal(&mut ip, self.upper_at() + upper_len, self.identification);
        let partial = !version.pseudo_header(&ip, protocol, upper_len).finish();
        let mut upper = vec![1, 2, 3, 4];
        if self.is_udp {
            upper.extend((upper_len as u16).to_be_bytes());
            upper.extend(partial.to_be_bytes());
        } else {
            upper.extend(self.seq.to_be_bytes());
            upper.extend([9, 8, 7, 6, (5 + self.options.len() as u8 / 4) << 4, self.flags, 1, 0]);
            upper.extend(partial.to_be_bytes());
            upper.extend([0, 0]);
            upper.extend(&self.options);
        }
        [ip, upper, self.payload.clone()].concat()
    }
}

fn supers() -> impl Strategy<Value = Super> {
    let optional = Flags::PSH.0 | Flags::FIN.0 | Flags::ECE.0 | Flags::CWR.0;
    let kinds = (any::<bool>(), prop::bool::weighted(0.2), 0..4u8);
    let tcp = (any::<u32>(), any::<u8>(), prop::collection::vec(any::<u8>(), 0..=10));
    (kinds, any::<u16>(), tcp, 1..1448u16, 2..30usize, any::<(u16, u8)>()).prop_map(
        move |(kinds, identification, (seq, flags, words), segment, pieces, (short, fill))| {
            let last = 1 + usize::from(short) % usize::from(segment);
            let len = usize::from(segment) * (pieces - 1) + last;
            Super {
                is_v6: kinds.0,
                is_udp: kinds.1,
                ecn: kinds.2,
                identification,
                seq,
                flags: Flags::ACK.0 | flags & optional,
                options: words.iter().flat_map(|word| [*word; 4]).collect(),
                segment,
                payload: (0..len).map(|i| fill.wrapping_add((i * 7 / 3) as u8)).collect(),
            }
        },
    )
}

fn cut(packet: &[u8], told: &vnet::Repr) -> Vec<Vec<u8>> {
    let mut packet = packet.to_vec();
    let mut split = Split::new(&mut packet, told).unwrap();
    let mut pieces = Vec::new();
    while let Some((headers, payload)) = split.next(&packet) {
        pieces.push([headers, payload].concat());
    }
    assert!(split.is_done());
    pieces
}

/// What a joiner makes of packets: of each run the device's header, and the packet.
fn join(packets: &[Vec<u8>]) -> Vec<(vnet::Repr, Vec<u8>)> {
    let mut frames = Frames::new();
    let mut joiner = Joiner::new();
    for packet in packets {
        let frame = frames.insert(packet, 0);
        joiner.push(&frames, frame);
    }
    let mut out = Vec::new();
    for run in joiner.runs() {
        let mut head = [0; HEAD_BYTES_MAX];
        let len = run.emit_head(&frames, &mut head);
        let (told, headers) = head[..len].split_first_chunk().unwrap();
        let bodies: Vec<u8> = run.bodies(&frames).flatten().copied().collect();
        out.push((vnet::Repr::parse(told).unwrap(), [headers, &bodies].concat()));
    }
    let held: Vec<Frame> = joiner.runs().iter().flat_map(|run| run.frames().to_vec()).collect();
    assert_eq!(held.len(), packets.len());
    out
}

/// Reads a packet with a parser that is not ours and checks its checksums: its transport's payload,
/// flags and sequence.
fn read(packet: &[u8]) -> (Vec<u8>, u8, u32) {
    let sliced = SlicedPacket::from_ip(packet).unwrap();
    let net = sliced.net.as_ref().unwrap();
    let ip = match net {
        NetSlice::Ipv4(v4) => {
            assert_eq!(
                v4.header().header_checksum(),
                v4.header().to_header().calc_header_checksum()
            );
            assert_eq!(usize::from(v4.header().total_len()), packet.len());
            IpSlice::Ipv4(v4.clone())
        }
        NetSlice::Ipv6(v6) => IpSlice::Ipv6(v6.clone()),
        other => panic!("{other:?}"),
    };
    match sliced.transport.unwrap() {
        TransportSlice::Tcp(tcp) => {
            let expected = match &ip {
                IpSlice::Ipv4(v4) => {
                    tcp.calc_checksum_ipv4(v4.header().source(), v4.header().destination())
                }
                IpSlice::Ipv6(v6) => {
                    tcp.calc_checksum_ipv6(v6.header().source(), v6.header().destination())
                }
            };
            assert_eq!(Ok(tcp.checksum()), expected.map_err(drop));
            let flags = tcp.slice()[13];
            (tcp.payload().to_vec(), flags, tcp.sequence_number())
        }
        TransportSlice::Udp(udp) => {
            let header = udp.to_header();
            let expected = match &ip {
                IpSlice::Ipv4(v4) => {
                    header.calc_checksum_ipv4(&v4.header().to_header(), udp.payload())
                }
                IpSlice::Ipv6(v6) => {
                    header.calc_checksum_ipv6(&v6.header().to_header(), udp.payload())
                }
            };
            assert_eq!(udp.checksum(), expected.unwrap());
            (udp.payload().to_vec(), 0, 0)
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #[test]
    fn pieces_are_packets_of_their_own(run in supers()) {
        let pieces = cut(&run.packet(), &run.told());
        prop_assert_eq!(pieces.len(), run.payload.len().div_ceil(usize::from(run.segment)));
        let mut payload = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            let (bytes, flags, seq) = read(piece);
            let (is_first, is_last) = (index == 0, index + 1 == pieces.len());
            prop_assert!(is_last || bytes.len() == usize::from(run.segment));
            if !run.is_udp {
                prop_assert_eq!(seq, run.seq.wrapping_add(payload.len() as u32));
                let mut expected = run.flags;
                if !is_first { expected &= !Flags::CWR.0; }
                if !is_last { expected &= !(Flags::PSH.0 | Flags::FIN.0); }
                prop_assert_eq!(flags, expected);
                prop_assert_eq!(&piece[run.upper_at() + 20..run.headers_len()], &run.options[..]);
            }
            if !run.is_v6 {
                let identification = run.identification.wrapping_add(index as u16);
                prop_assert_eq!(&piece[4..6], &identification.to_be_bytes());
            }
            prop_assert_eq!(crate::wire::ip::dscp_ecn(piece).unwrap().1 as u8, run.ecn);
            payload.extend(bytes);
        }
        prop_assert_eq!(payload, run.payload);
    }

    #[test]
    fn joining_what_was_cut_gives_it_back(run in supers()) {
        let packet = run.packet();
        let pieces = cut(&packet, &run.told());
        if run.is_udp {
            let joined: Vec<_> = join(&pieces).into_iter().map(|(_, packet)| packet).collect();
            prop_assert_eq!(joined, pieces);
        } else {
            prop_assert_eq!(join(&pieces), vec![(run.told(), packet)]);
        }
    }

    #[test]
    fn cutting_what_was_joined_gives_it_back(
        runs in prop::collection::vec(supers(), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        damage in prop::option::of((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1..=255u8)),
    ) {
        let mut packets: Vec<Vec<u8>> =
            runs.iter().flat_map(|run| cut(&run.packet(), &run.told())).collect();
        packets.truncate(31);
        for pair in order.chunks_exact(2) {
            let (a, b) = (pair[0].index(packets.len()), pair[1].index(packets.len()));
            packets.swap(a, b);
        }
        if let Some((packet, byte, bits)) = damage {
            let packet = packet.get(&packets).clone();
            let place = packets.iter().position(|other| *other == packet).unwrap();
            let byte = byte.index(packet.len());
            packets[place][byte] ^= bits;
        }
        let mut again: Vec<Vec<u8>> = Vec::new();
        for (told, packet) in join(&packets) {
            match told.run {
                Some(_) => again.extend(cut(&packet, &told)),
                None => again.push(packet),
            }
        }
        // Flows take turns, so that only each one's order is the same.
        let flow = |packet: &Vec<u8>| crate::wire::ip::flow_hash(packet);
        packets.sort_by_key(flow);
        again.sort_by_key(flow);
        prop_assert_eq!(again, packets);
    }

    #[test]
    fn nothing_a_device_says_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        told in any::<[u8; 10]>(),
        start in 0..64u16,
        first in prop::sample::select(vec![0x45u8, 0x46, 0x60, 0x00]),
    ) {
        let mut bytes = bytes;
        if let Some(byte) = bytes.first_mut() { *byte = first; }
        if let Ok(mut told) = vnet::Repr::parse(&told) {
            if let Some(checksum) = &mut told.checksum { checksum.start = start; }
            let mut packet = bytes.clone();
            if let Ok(mut split) = Split::new(&mut packet, &told) {
                while split.next(&packet).is_some() {}
            }
        }
        join(&[bytes.clone(), bytes]);
    }
}

fn plain() -> Super {
    Super {
        is_v6: false,
        is_udp: false,
        ecn: 2,
        identification: 0xfffe,
        seq: u32::MAX - 100,
        flags: Flags::ACK.0 | Flags::PSH.0,
        options: vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        segment: 100,
        payload: vec![7; 450],
    }
}

#[test]
fn flows_that_take_turns_are_joined_each_for_itself() {
    let one = plain();
    let other = Super { is_v6: true, ..plain() };
    let (a, b) = (cut(&one.packet(), &one.told()), cut(&other.packet(), &other.told()));
    let turns: Vec<Vec<u8>> = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect();
    assert_eq!(join(&turns), [(one.told(), one.packet()), (other.told(), other.packet())]);
}

#[test]
fn what_differs_is_not_joined() {
    let pieces = cut(&plain().packet(), &plain().told());
    let mut pair = pieces[..2].to_vec();
    // Codepoint, identification, time to live, a port, acknowledgment, window, urgent pointer, an option.
    for byte in [1, 5, 8, 21, 31, 35, 39, 51] {
        let mut other = plain().packet();
        other[byte] ^= 1;
        pair[1] = cut(&other, &plain().told()).swap_remove(1);
        assert_eq!(join(&pair).len(), 2, "byte {byte}");
    }
    pair[1].clone_from(&pieces[1]);
    pair[1][99] ^= 1;
    assert_eq!(join(&pair).len(), 2, "a wrong checksum");
    assert_eq!(join(&pieces[..2]).len(), 1);
}

#[test]
fn a_checksum_left_to_the_device_is_finished() {
    for is_udp in [false, true] {
        let whole = Super { segment: 1, is_udp, ..plain() };
        let told = vnet::Repr { run: None, ..whole.told() };
        let pieces = cut(&whole.packet(), &told);
        assert_eq!((pieces.len(), read(&pieces[0]).0), (1, whole.payload));
    }
}

#[test]
fn a_run_that_is_not_what_it_is_said_to_be_is_refused() {
    let run = plain();
    let mut told = run.told();
    told.checksum = None;
    assert_eq!(Split::new(&mut run.packet(), &told).err(), Some(Error::Malformed));
    let six = Super { is_v6: true, ..plain() };
    assert_eq!(Split::new(&mut run.packet(), &six.told()).err(), Some(Error::Malformed));
    let datagram = Super { is_udp: true, ..plain() };
    assert_eq!(Split::new(&mut run.packet(), &datagram.told()).err(), Some(Error::Malformed));
    let mut short = run.packet();
    short.truncate(run.headers_len());
    assert_eq!(Split::new(&mut short, &run.told()).err(), Some(Error::Truncated));
}
