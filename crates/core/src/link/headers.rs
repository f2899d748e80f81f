//! What a loss does to a line with compressed headers (RFC 1144, 4): each header is told as its difference
//! from the one before, so what follows a packet that is missing is restored wrong, until one of its connection
//! is sent whole, as every retransmission is.
//!
//! The real decompressor takes, in order, what the wire carries. What it tosses, and what it restores otherwise
//! than it was, goes on as a damaged frame: nobody can use it.
//!
//! Deviations: a lost frame leaves no trace, and damage is always noticed by the framing, which a bare SLIP
//! line cannot (RFC 1055). After a cut both ends begin anew, as PPP does when it opens again (RFC 1332, 4).

use super::wire::Fate;
use crate::Context;
use crate::frame::Frame;
use crate::wire::ppp::control::SlotCompression;
use crate::wire::vj::{self, Compressed, Compressor, Decompressor};

/// Both halves of the compression of one direction.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    compressor: Compressor,
    decompressor: Decompressor,
    /// What the packet has become that was sent last.
    sent: Option<Compressed>,
    /// As it comes in, to be restored.
    received: Vec<u8>,
}

impl Headers {
    pub fn new() -> Self {
        Headers {
            compressor: Compressor::new(vj::SLOTS, SlotCompression::Allowed),
            decompressor: Decompressor::new(vj::SLOTS),
            sent: None,
            received: Vec::new(),
        }
    }

    /// A packet goes onto the line.
    pub fn send(&mut self, bytes: &[u8], elided: u32) -> Compressed {
        let compressed = self.compressor.compress(bytes, elided);
        self.sent = Some(compressed);
        compressed
    }

    /// What the wire made of the packet sent last, which is `frame` where it was carried.
    pub fn receive(&mut self, cx: &mut Context, frame: Frame, fate: Fate) {
        let Some(sent) = self.sent.take() else { return };
        match fate {
            Fate::Lost => {}
            Fate::Damaged => self.decompressor.handle_error(),
            Fate::Carried if !self.restores(cx, frame, &sent) => cx.frames.mark_corrupt(frame),
            Fate::Carried => {}
        }
    }

    /// Whether the packet comes out as it was sent.
    fn restores(&mut self, cx: &Context, frame: Frame, sent: &Compressed) -> bool {
        let (bytes, elided) = (cx.frames.bytes(frame), cx.frames.elided(frame));
        self.received.clear();
        self.received.extend_from_slice(sent.header());
        self.received.extend_from_slice(&bytes[sent.replaced..]);
        let restored = self.decompressor.decompress(sent.kind, &self.received, elided);
        restored.is_ok_and(|restored| {
            let header = restored.header();
            let rest = &self.received[restored.replaced..];
            bytes.starts_with(header) && bytes[header.len()..] == *rest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seq::SeqNumber;
    use crate::wire::{ipv4, tcp};
    use std::net::Ipv4Addr;

    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const PAYLOAD: u32 = 100;

    /// The n-th segment of a connection, and the n-th packet of the host.
    fn segment(cx: &mut Context, port: u16, n: u32, ident: u16) -> Frame {
        let tcp = tcp::Repr {
            src_port: port,
            dst_port: 80,
            seq: SeqNumber(1000 + n * PAYLOAD),
            ack: SeqNumber(1),
            flags: tcp::Flags::ACK,
            window: 8192,
            ..tcp::Repr::default()
        };
        let len = tcp.header_len();
        let ip = ipv4::Repr {
            src: HERE,
            dst: THERE,
            protocol: ipv4::Protocol::TCP,
            dscp: 0,
            ecn: ipv4::Ecn::NotEct,
            ident,
            dont_fragment: false,
            ttl: 64,
            payload_len: (len as u32 + PAYLOAD) as u16,
        };
        let mut bytes = vec![0; ipv4::HEADER_LEN + len];
        ip.emit(&mut bytes);
        tcp.emit(&mut bytes[ipv4::HEADER_LEN..], &[], PAYLOAD, HERE, THERE);
        cx.frames.insert(&bytes, PAYLOAD)
    }

    /// Which of these segments, by port and number, come out as they were, when the wire does this to them.
    fn arrived(sent: &[(u16, u32, Fate)]) -> Vec<bool> {
        let mut cx = Context::new();
        let mut headers = Headers::new();
        let mut ident = 0;
        sent.iter()
            .map(|(port, n, fate)| {
                ident += 1;
                let frame = segment(&mut cx, *port, *n, ident);
                headers.send(cx.frames.bytes(frame), cx.frames.elided(frame));
                headers.receive(&mut cx, frame, *fate);
                *fate == Fate::Carried && !cx.frames.is_corrupt(frame)
            })
            .collect()
    }

    #[test]
    fn a_line_that_loses_nothing_restores_everything() {
        let sent: Vec<_> = (0..50).map(|i| (1 + i % 3, u32::from(i / 3), Fate::Carried)).collect();
        assert_eq!(arrived(&sent), [true; 50]);
    }

    #[test]
    fn after_a_loss_all_is_lost_until_a_segment_is_sent_again() {
        for fate in [Fate::Lost, Fate::Damaged] {
            let mut sent: Vec<_> = (0..8).map(|n| (1, n, Fate::Carried)).collect();
            sent[2].2 = fate;
            // The retransmission, and what follows it.
            sent.extend((2..5).map(|n| (1, n, Fate::Carried)));
            let mut expected = [true; 11];
            expected[2..8].fill(false);
            assert_eq!(arrived(&sent), expected, "{fate:?}");
        }
    }

    #[test]
    fn another_connection_is_not_harmed() {
        let carried = |port, n| (port, n, Fate::Carried);
        let sent = [
            carried(1, 0),
            carried(2, 0),
            (1, 1, Fate::Damaged),
            carried(1, 2),
            // Says whose it is.
            carried(2, 1),
            carried(2, 2),
            carried(1, 3),
            carried(1, 1),
            carried(1, 2),
        ];
        let expected = [true, true, false, false, true, true, false, true, true];
        assert_eq!(arrived(&sent), expected);
    }
}
