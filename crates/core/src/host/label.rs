//! IPv6 flow labels (RFC 6437, 3): one per connection, the same in every packet from the SYN on.
//!
//! The label is a keyed hash over the connection's two ends, as the RFC's appendix A has it, so it tells
//! nothing of the first sequence number or of other connections, and an answer with a SYN cookie has the
//! label of the connection that follows from it.

use super::siphash::{ends, siphash};
use crate::rng::Rng;
use crate::tcp::Tuple;
use crate::wire::ipv6::FLOW_LABEL_BITS;

/// What labels are made with.
pub(super) struct Labels {
    key: [u64; 2],
}

impl Labels {
    /// The key comes from `rng` and never leaves.
    pub fn new(rng: &Rng) -> Self {
        let mut rng = rng.fork("flow-labels");
        Labels { key: [rng.next_u64(), rng.next_u64()] }
    }

    /// The label of a connection's packets. Zero would say that there is none.
    pub fn label(&self, tuple: &Tuple) -> u32 {
        let hash = siphash(self.key, &ends(tuple));
        ((hash >> (u64::BITS - FLOW_LABEL_BITS)) as u32).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Burst;
    use crate::host::tests::{ADDRESSES_V6, LINK, Pair};
    use crate::tcp::Data;
    use crate::tcp::config::{Config, Profile};
    use crate::wire::ipv6;
    use std::collections::{BTreeMap, BTreeSet};
    use std::net::SocketAddr;

    fn tuple(port: u16) -> Tuple {
        let end = |i: usize, port| SocketAddr::from((ADDRESSES_V6[i], port));
        Tuple { local: end(0, port), remote: end(1, 80) }
    }

    #[test]
    fn a_label_is_that_of_its_ends_and_of_the_key() {
        let labels = Labels::new(&Rng::new(7));
        assert_eq!(labels.label(&tuple(1)), labels.label(&tuple(1)));
        let mut many: Vec<u32> = (1..=1000).map(|port| labels.label(&tuple(port))).collect();
        assert!(many.iter().all(|label| (1..1 << 20).contains(label)));
        many.sort_unstable();
        many.dedup();
        assert!(many.len() > 990, "{} labels of 1000 connections", many.len());
        assert_ne!(labels.label(&tuple(1)), Labels::new(&Rng::new(8)).label(&tuple(1)));
    }

    type Seen = BTreeMap<(usize, [u8; 4]), BTreeSet<u32>>;

    /// Carries all that one end has to send, and notes the labels by where from and the ports.
    fn carry(pair: &mut Pair, from: usize, labels: &mut Seen) -> usize {
        let mut carried = 0;
        loop {
            let mut burst = Burst::new();
            pair.hosts[from].poll_transmit(pair.now, &mut pair.cx, LINK, &mut burst);
            if burst.is_empty() {
                return carried;
            }
            carried += burst.frames.len();
            for frame in burst.frames {
                let (bytes, elided) = (pair.cx.frames.bytes(frame), pair.cx.frames.elided(frame));
                let packet = ipv6::Packet::new_checked(bytes, elided).expect("is whole");
                let label = ipv6::Repr::parse(&packet).expect("has no extensions").flow_label;
                let (words, _) = bytes[ipv6::HEADER_LEN..].as_chunks::<4>();
                let (ports, seq) = (words[0], u32::from_be_bytes(words[1]));
                assert_ne!(label, seq >> 12, "a part of the sequence number");
                labels.entry((from, ports)).or_default().insert(label);
                let len = pair.cx.frames.len(frame) as u64;
                pair.hosts[from].handle_transmitted(pair.now, &mut pair.cx, LINK, len);
                pair.hosts[1 - from].handle_frame(pair.now, &mut pair.cx, LINK, frame);
                pair.events(1 - from);
            }
        }
    }

    fn carry_all(pair: &mut Pair, labels: &mut Seen) {
        while carry(pair, 0, labels) + carry(pair, 1, labels) > 0 {}
    }

    #[test]
    fn every_packet_of_a_connection_has_its_label_also_where_a_cookie_opened_it() {
        let mut pair = Pair::new();
        let config = Config { backlog: 1, ..Config::new(Profile::Modern, 1500) };
        pair.hosts[1].listen(80, config.clone());
        let remote = SocketAddr::from((ADDRESSES_V6[1], 80));
        let clients = [0, 1].map(|_| {
            let config = config.clone();
            pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote).expect("a free port")
        });
        let mut labels = BTreeMap::new();
        carry_all(&mut pair, &mut labels);
        assert_eq!(pair.hosts[1].listen_stats().cookies_sent, 1, "both kinds of answer");
        for client in clients {
            pair.hosts[0].write(pair.now, &mut pair.cx, client, Data::Elided(5000));
        }
        carry_all(&mut pair, &mut labels);
        assert_eq!(labels.len(), 4, "two connections of two ends each: {labels:?}");
        assert!(labels.values().all(|of_one| of_one.len() == 1), "{labels:?}");
        assert_eq!(labels.values().collect::<BTreeSet<_>>().len(), 4, "{labels:?}");
    }
}
