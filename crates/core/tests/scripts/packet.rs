//! Packets as the wire has them, written and read by the RFCs alone. Nothing here uses the formats of
//! the core, so what the core writes is judged by a second reader and what it reads by a second writer.

use std::net::IpAddr;

pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const ACK: u8 = 0x10;

pub const TCP: u8 = 6;
pub const ICMP: u8 = 1;
const HOP_BY_HOP: u8 = 0;
const FRAGMENT: u8 = 44;

/// The letters of the control bits from the lowest on.
pub const FLAG_LETTERS: &str = "FSRP.UEW";

/// One TCP packet, IP header included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packet {
    pub src_port: u16,
    pub dst_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub urgent: u16,
    pub ecn: u8,
    pub ttl: u8,
    /// The option bytes of the header.
    pub options: Vec<u8>,
    pub payload: Vec<u8>,
}

/// What is wrong with a packet on purpose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// The TCP checksum is one off.
    Checksum,
    /// The IP header's checksum is one off, where it has one.
    IpChecksum,
    /// The data offset says this many words.
    Offset(u8),
    /// This many bytes are missing at the end; the IP header knows.
    Cut(usize),
    /// As [`Damage::Cut`], but the IP header promises them.
    Lost(usize),
    /// The reserved bits of the header.
    Reserved(u8),
    /// An IP option of four NOPs; over IPv6 a header of hop-by-hop options that are padding.
    IpOptions,
    /// The packet is the first fragment of a longer one.
    Fragment,
    /// The bytes of the payload are others than the stream has there.
    Junk,
    From(IpAddr),
    To(IpAddr),
}

fn sum(mut total: u64, bytes: &[u8]) -> u64 {
    for pair in bytes.chunks(2) {
        total += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
    }
    total
}

fn fold(mut total: u64) -> u16 {
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn pseudo_header(src: IpAddr, dst: IpAddr, len: usize) -> u64 {
    sum(sum(u64::from(TCP) + len as u64, &octets(src)), &octets(dst))
}

fn address(octets: &[u8]) -> IpAddr {
    match <[u8; 4]>::try_from(octets) {
        Ok(four) => IpAddr::from(four),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(octets).unwrap_or_default()),
    }
}

impl Packet {
    /// The bytes between two addresses.
    pub fn encode(&self, src: IpAddr, dst: IpAddr, damage: &[Damage]) -> Vec<u8> {
        let (mut src, mut dst) = (src, dst);
        for damage in damage {
            match damage {
                Damage::From(other) => src = *other,
                Damage::To(other) => dst = *other,
                _ => {}
            }
        }
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let mut segment = Vec::new();
        segment.extend(self.src_port.to_be_bytes());
        segment.extend(self.dst_port.to_be_bytes());
        segment.extend(self.seq.to_be_bytes());
        segment.extend(self.ack.to_be_bytes());
        segment.extend([(20 + options.len()) as u8 / 4 * 16, self.flags]);
        segment.extend(self.window.to_be_bytes());
        segment.extend([0, 0]);
        segment.extend(self.urgent.to_be_bytes());
        segment.extend(options);
        segment.extend(&self.payload);
        let mut lost = 0;
        for damage in damage {
            match damage {
                Damage::Offset(words) => segment[12] = words.wrapping_mul(16),
                Damage::Reserved(bits) => segment[12] |= bits & 0x0f,
                Damage::Cut(n) => segment.truncate(segment.len().saturating_sub(*n)),
                Damage::Lost(n) => lost = *n,
                _ => {}
            }
        }
        if let Some(field) = segment.get_mut(16..18) {
            field.copy_from_slice(&[0, 0]);
            let mut checksum = fold(sum(pseudo_header(src, dst, segment.len()), &segment));
            if damage.contains(&Damage::Checksum) {
                checksum = checksum.wrapping_add(1);
            }
            segment[16..18].copy_from_slice(&checksum.to_be_bytes());
        }
        let mut packet = ip_header(src, dst, TCP, self.ecn, segment.len(), damage);
        packet.extend(segment);
        packet.truncate(packet.len().saturating_sub(lost));
        packet
    }

    /// Reads a packet; every checksum, length and reserved bit is looked at.
    pub fn decode(bytes: &[u8]) -> Result<(Packet, IpAddr, IpAddr), String> {
        let ip = IpHeader::decode(bytes)?;
        let segment = &bytes[ip.len..];
        if segment.len() < 20 {
            return Err(format!("{} bytes of TCP", segment.len()));
        }
        let u16_at = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) << 16 | u32::from(u16_at(at + 2));
        if fold(sum(pseudo_header(ip.src, ip.dst, segment.len()), segment)) != 0 {
            return Err("the TCP checksum is wrong".to_owned());
        }
        if segment[12] & 0x0f != 0 {
            return Err("reserved bits are set".to_owned());
        }
        let header_len = usize::from(segment[12] >> 4) * 4;
        if header_len < 20 || header_len > segment.len() {
            return Err(format!("data offset of {header_len} bytes"));
        }
        let packet = Packet {
            src_port: u16_at(0),
            dst_port: u16_at(2),
            seq: u32_at(4),
            ack: u32_at(8),
            flags: segment[13],
            window: u16_at(14),
            urgent: u16_at(18),
            ecn: ip.ecn,
            ttl: ip.ttl,
            options: segment[20..header_len].to_vec(),
            payload: segment[header_len..].to_vec(),
        };
        Ok((packet, ip.src, ip.dst))
    }
}

/// What an IP header says.
struct IpHeader {
    src: IpAddr,
    dst: IpAddr,
    ecn: u8,
    ttl: u8,
    len: usize,
}

impl IpHeader {
    /// Reads a header without options or extensions in front of TCP.
    fn decode(bytes: &[u8]) -> Result<IpHeader, String> {
        let u16_at = |at: usize| usize::from(bytes[at]) << 8 | usize::from(bytes[at + 1]);
        match bytes.first() {
            Some(0x45) if bytes.len() >= 20 && bytes[9] == TCP => {
                if u16_at(2) != bytes.len() {
                    return Err(format!("total length {} in {} bytes", u16_at(2), bytes.len()));
                }
                if fold(sum(0, &bytes[..20])) != 0 {
                    return Err("the IP header's checksum is wrong".to_owned());
                }
                let (src, dst) = (address(&bytes[12..16]), address(&bytes[16..20]));
                Ok(IpHeader { src, dst, ecn: bytes[1] & 3, ttl: bytes[8], len: 20 })
            }
            Some(0x60..0x70) if bytes.len() >= 40 && bytes[6] == TCP => {
                if u16_at(4) != bytes.len() - 40 {
                    return Err(format!("payload length {} in {}", u16_at(4), bytes.len()));
                }
                let (src, dst) = (address(&bytes[8..24]), address(&bytes[24..40]));
                Ok(IpHeader { src, dst, ecn: bytes[1] >> 4 & 3, ttl: bytes[7], len: 40 })
            }
            _ => Err(format!("no TCP in plain IP: {bytes:02x?}")),
        }
    }
}

/// Whether a packet is one of ICMP, of either version.
pub fn is_icmp(bytes: &[u8]) -> bool {
    match bytes.first().map(|byte| byte >> 4) {
        Some(6) => bytes.get(6) == Some(&58),
        _ => bytes.get(9) == Some(&ICMP),
    }
}

fn ip_header(
    src: IpAddr,
    dst: IpAddr,
    protocol: u8,
    ecn: u8,
    len: usize,
    damage: &[Damage],
) -> Vec<u8> {
    let has_options = damage.contains(&Damage::IpOptions);
    let is_fragment = damage.contains(&Damage::Fragment);
    let mut header;
    if src.is_ipv6() {
        let (first, options): (u8, &[u8]) = match (has_options, is_fragment) {
            (true, _) => (HOP_BY_HOP, &[protocol, 0, 1, 4, 0, 0, 0, 0]),
            (_, true) => (FRAGMENT, &[protocol, 0, 0, 1, 0, 0, 0, 9]),
            _ => (protocol, &[]),
        };
        header = vec![0x60, ecn << 4, 0x12, 0x34];
        header.extend(((options.len() + len) as u16).to_be_bytes());
        header.extend([first, 64]);
        header.extend(octets(src));
        header.extend(octets(dst));
        header.extend(options);
        return header;
    }
    let options: &[u8] = if has_options { &[1; 4] } else { &[] };
    let header_len = 20 + options.len();
    header = vec![0x40 | (header_len / 4) as u8, ecn];
    header.extend(((header_len + len) as u16).to_be_bytes());
    let flags = if is_fragment { 0x20 } else { 0x40 };
    header.extend([0x12, 0x34, flags, 0, 64, protocol, 0, 0]);
    header.extend(octets(src));
    header.extend(octets(dst));
    header.extend(options);
    let mut checksum = fold(sum(0, &header));
    if damage.contains(&Damage::IpChecksum) {
        checksum = checksum.wrapping_add(1);
    }
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    header
}

/// An ICMP message that quotes the beginning of the packet it is about.
pub fn icmp(src: IpAddr, dst: IpAddr, kind: u8, code: u8, rest: u32, about: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend(rest.to_be_bytes());
    message.extend(&about[..about.len().min(28)]);
    let checksum = fold(sum(0, &message));
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut packet = ip_header(src, dst, ICMP, 0, message.len(), &[]);
    packet.extend(message);
    packet
}

/// One TCP option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Opt {
    Mss(u16),
    Scale(u8),
    SackPermitted,
    /// Blocks, relative to the first sequence number of whom they are about.
    Sack(Vec<(u32, u32)>),
    /// TSval and TSecr; none stands for whatever is due, or in what is expected for any.
    Stamps(Option<u32>, Option<u32>),
    /// No timestamps, though they were agreed on.
    NoStamps,
    Nop,
    End,
    /// Bytes as they are.
    Raw(Vec<u8>),
}

/// Reads option bytes strictly: kinds that are not known, wrong lengths and padding other than zeros
/// after the end are errors. `base` is what SACK blocks are relative to.
pub fn read_options(mut bytes: &[u8], base: u32) -> Result<Vec<Opt>, String> {
    let mut found = Vec::new();
    let u32_at = |d: &[u8]| u32::from_be_bytes([d[0], d[1], d[2], d[3]]);
    while let [kind, rest @ ..] = bytes {
        match kind {
            0 if rest.iter().all(|b| *b == 0) => return Ok(found),
            0 => return Err(format!("padding {rest:02x?} after the end of the options")),
            1 => bytes = rest,
            _ => {
                let len = usize::from(*rest.first().ok_or("an option without a length")?);
                let data = bytes.get(2..len).ok_or(format!("option {kind} of length {len}"))?;
                found.push(match (kind, data.len()) {
                    (2, 2) => Opt::Mss(u16::from_be_bytes([data[0], data[1]])),
                    (3, 1) => Opt::Scale(data[0]),
                    (4, 0) => Opt::SackPermitted,
                    (5, 8 | 16 | 24 | 32) => {
                        let edge = |d: &[u8]| u32_at(d).wrapping_sub(base);
                        Opt::Sack(data.chunks(8).map(|d| (edge(d), edge(&d[4..]))).collect())
                    }
                    (8, 8) => Opt::Stamps(Some(u32_at(data)), Some(u32_at(&data[4..]))),
                    _ => return Err(format!("option {kind} of length {len}")),
                });
                bytes = &bytes[len..];
            }
        }
    }
    Ok(found)
}

/// Writes options in the order given.
pub fn write_options(options: &[Opt], base: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            Opt::Mss(mss) => {
                bytes.extend([2, 4]);
                bytes.extend(mss.to_be_bytes());
            }
            Opt::Scale(shift) => bytes.extend([3, 3, *shift]),
            Opt::SackPermitted => bytes.extend([4, 2]),
            Opt::Sack(blocks) => {
                bytes.extend([5, 2 + 8 * blocks.len() as u8]);
                for (left, right) in blocks {
                    bytes.extend(left.wrapping_add(base).to_be_bytes());
                    bytes.extend(right.wrapping_add(base).to_be_bytes());
                }
            }
            Opt::Stamps(value, echo) => {
                bytes.extend([8, 10]);
                bytes.extend(value.unwrap_or(0).to_be_bytes());
                bytes.extend(echo.unwrap_or(0).to_be_bytes());
            }
            Opt::NoStamps => {}
            Opt::Nop => bytes.push(1),
            Opt::End => bytes.push(0),
            Opt::Raw(raw) => bytes.extend(raw),
        }
    }
    bytes
}
