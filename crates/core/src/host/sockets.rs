//! What applications call: connect, listen, read, write, close.

use super::{ConnectionId, EPHEMERAL_PORT_FIRST, Host, InterfaceId, Slot, Stage};
use crate::Context;
use crate::seq::SeqNumber;
use crate::tcp::config::Config;
use crate::tcp::{Chunk, Connection, Data, Tuple};
use crate::time::Instant;
use crate::wire::ip::Addresses;
use std::net::SocketAddr;

/// Why a connection could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectError {
    /// No interface reaches the address, or it is not that of one host.
    NoRoute,
    /// Every dynamic port is in use towards it.
    NoPort,
}

impl Host {
    /// Opens a connection to `remote` through the interface that reaches it. The flow label is the host's.
    pub fn connect(
        &mut self,
        now: Instant,
        cx: &mut Context,
        config: Config,
        remote: impl Into<SocketAddr>,
    ) -> Result<ConnectionId, ConnectError> {
        let remote = remote.into();
        let route = self.route(remote.ip()).filter(|_| super::input::is_one_host(remote.ip()));
        let interface = route.ok_or(ConnectError::NoRoute)?;
        let address = self.interfaces[interface.0].local_for(remote.ip());
        let address = address.ok_or(ConnectError::NoRoute)?;
        let port = self.free_port(&remote).ok_or(ConnectError::NoPort)?;
        let local = SocketAddr::new(address, port);
        let iss = SeqNumber(self.rng.next_u32());
        let tuple = Tuple { local, remote };
        let config = Config { flow_label: self.labels.label(&tuple), ..config };
        let connection = Connection::connect(now, cx, config, tuple, iss);
        Ok(self.insert(now, cx, interface, connection, Stage::Open))
    }

    /// The next dynamic port that no connection to `remote` uses.
    fn free_port(&mut self, remote: &SocketAddr) -> Option<u16> {
        for _ in EPHEMERAL_PORT_FIRST..=u16::MAX {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(EPHEMERAL_PORT_FIRST);
            if self.demux.find(port, remote).is_none() {
                return Some(port);
            }
        }
        None
    }

    pub(super) fn insert(
        &mut self,
        now: Instant,
        cx: &mut Context,
        interface: InterfaceId,
        connection: Connection,
        stage: Stage,
    ) -> ConnectionId {
        let id = self.free_slot();
        let tuple = connection.tuple();
        let flow = flow_hash(&tuple);
        self.demux.insert(tuple.local.port(), &tuple.remote, id);
        let slot = Slot { connection, interface, flow, runnable: false, stage };
        self.connections[id.0 as usize] = Some(slot);
        self.serve(now, cx, id);
        id
    }

    /// The number that was forgotten last, or a new one.
    fn free_slot(&mut self) -> ConnectionId {
        self.forgotten.pop().unwrap_or_else(|| {
            self.connections.push(None);
            ConnectionId((self.connections.len() - 1) as u32)
        })
    }

    /// Hands data over for sending; answers how many bytes were taken. The rest waits for `Writable`.
    pub fn write(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: ConnectionId,
        data: Data<'_>,
    ) -> usize {
        let Some(slot) = self.slot_mut(id) else {
            return 0;
        };
        let taken = slot.connection.write(now, data);
        self.serve(now, cx, id);
        taken
    }

    /// Takes up to `max` received bytes, in order; answers how many.
    pub fn read(
        &mut self,
        now: Instant,
        cx: &mut Context,
        id: ConnectionId,
        max: usize,
        sink: impl FnMut(Chunk<'_>),
    ) -> usize {
        let Some(slot) = self.slot_mut(id) else {
            return 0;
        };
        let read = slot.connection.read(cx, max, sink);
        self.serve(now, cx, id);
        read
    }

    /// Closes our direction once everything written has been sent.
    pub fn close(&mut self, now: Instant, cx: &mut Context, id: ConnectionId) {
        if let Some(slot) = self.slot_mut(id) {
            slot.connection.close(now);
            self.serve(now, cx, id);
        }
    }

    /// Gives a connection up: the peer is sent a reset, ahead of everything that waits, and nothing more
    /// is delivered. It may be forgotten at once.
    pub fn abort(&mut self, now: Instant, cx: &mut Context, id: ConnectionId) {
        let Some(slot) = self.slot_mut(id) else {
            return;
        };
        slot.connection.abort(now);
        let interface = slot.interface;
        if let Some(reset) = slot.connection.poll_transmit(now, cx) {
            self.post(cx, interface, reset);
        }
        self.serve(now, cx, id);
    }

    /// Looks at a connection.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.slot(id).map(|slot| &slot.connection)
    }

    /// Forgets a connection that has reached its end, with what was still to be told of it. Its number
    /// may be given to another.
    pub fn forget(&mut self, cx: &mut Context, id: ConnectionId) {
        if let Some(mut slot) = self.connections.get_mut(id.0 as usize).and_then(Option::take) {
            slot.connection.release(cx);
            let tuple = slot.connection.tuple();
            self.demux.remove(tuple.local.port(), &tuple.remote, id);
            self.deadlines.set(super::DEADLINE_CONNECTIONS + id.0, None);
            self.interfaces[slot.interface.0].runnable.retain(|other| *other != id);
            self.events.retain(|event| event.connection() != Some(id));
            self.forgotten.push(id);
        }
    }
}

/// A hash of a connection's two ends, for policies that keep a flow together.
fn flow_hash(tuple: &Tuple) -> u32 {
    let fold = |bits: u128| (bits >> 64) as u64 ^ bits as u64;
    let mut hash = match tuple.addresses() {
        Addresses::V4 { src, dst } => u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits()),
        Addresses::V6 { src, dst } => fold(src.to_bits()).rotate_left(32) ^ fold(dst.to_bits()),
    };
    hash ^= u64::from(tuple.local.port()) << 16 | u64::from(tuple.remote.port());
    hash = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 32) as u32
}
