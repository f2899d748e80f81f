//! What only an onlooker sees: how far packets of a connection arrive out of their order of sending.
//!
//! The measure is the reordering extent of RFC 4737, 4.2: how many packets that were sent later have
//! arrived before a late one. Every packet of a connection has its own IP identification, in order of
//! sending, retransmissions too, so a repaired loss is not mistaken for reordering.

use std::collections::VecDeque;
use trunkline_core::Context;
use trunkline_core::frame::Frame;
use trunkline_core::wire::ipv4::Protocol;

/// Arrivals looked back at; a packet later than that counts as this late.
const LOOK_BACK: usize = 256;
const IDENT_OFFSET: usize = 4;
const PROTOCOL_OFFSET: usize = 9;
const DESTINATION_PORT_OFFSET: usize = 22;

/// The order of arrival of one flow's packets.
#[derive(Clone, Default, Debug)]
pub(crate) struct Order {
    port: u16,
    recent: VecDeque<u16>,
    newest: Option<u16>,
    /// Packets that arrived after one sent later.
    pub(crate) late: u64,
    /// The largest extent seen, in packets.
    pub(crate) extent_max: u64,
}

/// The flows that are watched, by the port they are sent to.
#[derive(Default)]
pub(crate) struct Observer {
    orders: Vec<Order>,
}

impl Observer {
    /// Watches packets sent to a port.
    pub(crate) fn watch(&mut self, port: u16) {
        let at = self.orders.partition_point(|order| order.port < port);
        self.orders.insert(at, Order { port, ..Order::default() });
    }

    /// Where the order of a port is kept: ports mostly follow each other.
    fn place(&self, port: u16) -> Option<usize> {
        let (first, last) = (self.orders.first()?.port, self.orders.last()?.port);
        if port < first || port > last {
            return None;
        }
        let at = usize::from(port - first);
        match self.orders.get(at) {
            Some(order) if order.port == port => Some(at),
            _ => self.orders.binary_search_by_key(&port, |order| order.port).ok(),
        }
    }

    /// The order seen of packets sent to a port.
    pub(crate) fn order(&self, port: u16) -> Option<&Order> {
        self.place(port).map(|at| &self.orders[at])
    }

    /// A frame reached its host; the packet in it begins after `skip` bytes.
    pub(crate) fn arrived(&mut self, cx: &Context, frame: Frame, skip: usize) {
        let bytes = cx.frames.bytes(frame).get(skip..).unwrap_or_default();
        if bytes.len() < DESTINATION_PORT_OFFSET + 2 || bytes[PROTOCOL_OFFSET] != Protocol::TCP.0 {
            return;
        }
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let port = word(DESTINATION_PORT_OFFSET);
        if let Some(at) = self.place(port) {
            self.orders[at].arrived(word(IDENT_OFFSET));
        }
    }
}

impl Order {
    fn arrived(&mut self, ident: u16) {
        match self.newest {
            Some(newest) if (ident.wrapping_sub(newest) as i16) <= 0 => {
                self.late += u64::from(ident != newest);
                let later =
                    self.recent.iter().position(|seen| (seen.wrapping_sub(ident) as i16) > 0);
                let extent = later.map_or(0, |first| self.recent.len() - first);
                self.extent_max = self.extent_max.max(extent as u64);
            }
            _ => self.newest = Some(ident),
        }
        if self.recent.len() == LOOK_BACK {
            self.recent.pop_front();
        }
        self.recent.push_back(ident);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(idents: &[u16]) -> (u64, u64) {
        let mut order = Order::default();
        for ident in idents {
            order.arrived(*ident);
        }
        (order.late, order.extent_max)
    }

    #[test]
    fn extent_counts_the_packets_that_overtook() {
        assert_eq!(extent(&[1, 2, 3, 4]), (0, 0));
        assert_eq!(extent(&[1, 3, 2, 4]), (1, 1));
        assert_eq!(extent(&[1, 3, 4, 5, 2]), (1, 3));
        assert_eq!(extent(&[65534, 0, 65535, 1]), (1, 1));
    }
}
