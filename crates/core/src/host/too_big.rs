//! A router's word that a packet of a connection was too big for its next link.

use super::Host;
use super::input::{Arrived, integrity, reason, upper};
use crate::Context;
use crate::frame::Frame;
use crate::time::Instant;
use crate::wire::too_big;
use crate::work::DropReason;
use std::net::SocketAddr;

impl Host {
    /// Tells the connection whose segment is quoted. The frame is consumed.
    pub(super) fn input_too_big(
        &mut self,
        now: Instant,
        cx: &mut Context,
        arrived: &Arrived,
        frame: Frame,
    ) {
        let (bytes, elided) = upper(cx, arrived, frame);
        let told = match too_big::parse(&arrived.addresses, bytes, elided, integrity(cx, frame)) {
            Ok(told) => told,
            Err(error) => return cx.drop_frame(frame, reason(error)),
        };
        let remote = SocketAddr::new(told.addresses.dst(), told.dst_port);
        let found = self.demux.find(told.src_port, &remote);
        let local = SocketAddr::new(told.addresses.src(), told.src_port);
        let slot = found.and_then(|id| self.slot_mut(id));
        match slot.filter(|slot| slot.connection.tuple().local == local) {
            None => cx.drop_frame(frame, DropReason::NoConnection),
            Some(slot) => {
                slot.connection.handle_too_big(now, told.seq, told.mtu);
                cx.frames.remove(frame);
                if let Some(id) = found {
                    self.serve(now, cx, id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::frame::Burst;
    use crate::host::tests::{ADDRESSES, LINK, Pair};
    use crate::tcp::Data;
    use crate::tcp::config::{Config, Profile};
    use crate::wire::checksum::Checksum;
    use crate::wire::ip::Addresses;
    use crate::wire::ipv4::Protocol;
    use crate::work::DropReason;
    use std::net::SocketAddr;

    /// What a router would answer to a packet.
    fn answer(quoted: &[u8], mtu: u16) -> Vec<u8> {
        let mut message = vec![3, 4, 0, 0, 0, 0];
        message.extend_from_slice(&mtu.to_be_bytes());
        message.extend_from_slice(&quoted[..28]);
        let mut checksum = Checksum::new();
        checksum.add_bytes(&message);
        message[2..4].copy_from_slice(&checksum.finish().to_be_bytes());
        message
    }

    #[test]
    fn a_router_that_quotes_a_segment_in_flight_makes_packets_smaller() {
        let mut pair = Pair::new();
        let config = Config::new(Profile::Modern, 1500);
        pair.hosts[1].listen(80, config.clone());
        let remote = SocketAddr::from((ADDRESSES[1], 80));
        let client = pair.hosts[0].connect(pair.now, &mut pair.cx, config, remote);
        let client = client.expect("a route");
        pair.settle();
        let now = pair.now;
        pair.hosts[0].write(now, &mut pair.cx, client, Data::Elided(1448));
        let mut burst = Burst::new();
        pair.hosts[0].poll_transmit(now, &mut pair.cx, LINK, &mut burst);
        let quoted = pair.cx.frames.bytes(burst.frames[0]).to_vec();
        let mss = |pair: &Pair| pair.hosts[0].connection(client).expect("is there").snapshot().mss;
        let mut nobodys = quoted.clone();
        nobodys[21] ^= 1;
        for (packet, expected) in [(&nobodys, 1448), (&quoted, 1248)] {
            let message = answer(packet, 1300);
            let addresses = Addresses::V4 { src: [10, 9, 9, 9].into(), dst: ADDRESSES[0] };
            let id = pair.hosts[0].interface_of(LINK).expect("is attached");
            let mut ip = vec![0; 20];
            pair.hosts[0].emit_ip(&mut ip, addresses, Protocol::ICMP, message.len() as u16);
            ip.extend_from_slice(&message);
            let frame = pair.cx.frames.insert(&ip, 0);
            pair.hosts[0].input(now, &mut pair.cx, id, frame);
            assert_eq!(mss(&pair), expected);
        }
        assert_eq!(pair.cx.work.dropped(DropReason::NoConnection), 1);
    }
}
