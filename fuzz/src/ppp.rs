//! PPP framing and its control packets (RFC 1661, RFC 1662, RFC 1332): any line noise is survived, and what
//! is encoded comes out as it was.

use trunkline_core::wire::ppp::control::{IpcpOption, LcpOption, Options, Packet};
use trunkline_core::wire::ppp::{Agreed, Decoder, Field, Line, MRU, Protocol, encode};

/// Reads the input once as the bytes of a line and once, after a byte of agreements, as a packet.
pub fn ppp(input: &[u8]) {
    let Some((&choice, input)) = input.split_first() else { return };
    let agreed = agreed(choice);
    let whole = decode(agreed, input.chunks(input.len().max(1)));
    let (left, right) = input.split_at(input.len() / 2);
    assert_eq!(decode(agreed, [left, right].into_iter()), whole, "pieces make no difference");
    assert_eq!(decode(agreed, input.chunks(1)), whole, "nor do single bytes");
    assert!(whole.iter().all(|(_, information)| information.len() <= MRU));
    whole.iter().for_each(|(_, information)| control(information));
    control(input);

    let protocols = [Protocol::IPV4, Protocol::VJ_COMPRESSED, Protocol::IPCP, Protocol::LCP];
    let protocol = protocols[usize::from(choice >> 6)];
    let mut line = Vec::new();
    encode(protocol, input, agreed, Line::Idle, &mut line);
    let mut decoder = Decoder::new(input.len(), agreed.accm);
    let mut frames = Vec::new();
    decoder.feed(&line, |protocol, information| frames.push((protocol, information.to_vec())));
    if agreed.header(protocol).1 + input.len() < 2 {
        assert!(frames.is_empty(), "too short to be a frame");
    } else {
        assert_eq!(frames, [(protocol, input.to_vec())]);
    }
}

fn agreed(choice: u8) -> Agreed {
    let field = |bit: u8| if choice >> bit & 1 == 1 { Field::Compressed } else { Field::Full };
    let accm = [u32::MAX, 0, 0x000a_0000, 0x8000_0001][usize::from(choice & 3)];
    Agreed { accm, address: field(2), protocol: field(3) }
}

/// A packet and options that are accepted come out as they were.
fn control(input: &[u8]) {
    let Ok(packet) = Packet::parse(input) else { return };
    let mut emitted = Vec::new();
    packet.emit(&mut emitted).expect("a length that was read");
    assert_eq!(emitted, input[..emitted.len()]);
    let mut rest = packet.data;
    for option in Options::new(packet.data).map_while(Result::ok) {
        let mut raw = Vec::new();
        option.emit(&mut raw).expect("a length that was read");
        assert!(rest.starts_with(&raw));
        rest = &rest[raw.len()..];
        if let Ok(lcp) = LcpOption::parse(option) {
            let mut again = Vec::new();
            lcp.emit(&mut again).expect("a length that was read");
            assert_eq!(again, raw);
        }
        if let Ok(ipcp) = IpcpOption::parse(option) {
            let mut again = Vec::new();
            ipcp.emit(&mut again).expect("a length that was read");
            assert_eq!(again.len(), raw.len());
        }
    }
}

fn decode<'a>(agreed: Agreed, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<(Protocol, Vec<u8>)> {
    let mut decoder = Decoder::new(MRU, agreed.accm);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.feed(piece, |protocol, information| frames.push((protocol, information.to_vec())));
    }
    assert_eq!(decoder.counters().frames, frames.len() as u64);
    frames
}
