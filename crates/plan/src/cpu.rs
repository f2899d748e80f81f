//! What a machine's processor takes for what a host does: cost tables, ready ones and a plan's own.
//!
//! A table has one value for each [`Item`]: a time, a time for each byte, a number of bytes or frames, or a
//! switch. The lab turns what the core counted into busy time with them; a plan takes a ready table by its
//! name and changes what it likes.

mod tables;

use crate::quantity::{self, Refusal};
use trunkline_core::time::Duration;

pub use tables::{READY, Ready};

/// What a cost table has a value for, in the order of documents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Item {
    /// Between a program and its socket.
    Copy,
    /// The Internet checksum.
    Checksum,
    /// Both in one loop.
    CopyAndChecksum,
    /// Whether what is sent is copied and summed in one loop.
    Combined,
    /// Bytes that are copied before the protocol is called, and that a writer waits for.
    Chunk,
    /// The protocols, for a segment sent or received as header prediction expects it.
    Segment,
    /// The protocols below TCP, for a packet that comes in or goes out and is no segment of the host's own.
    Packet,
    /// The same as [`Item::Segment`] for an acknowledgment that nobody predicted.
    SlowAck,
    /// The same for data that nobody predicted.
    SlowData,
    /// Copies that make headers lie in one piece, for a packet received.
    Pullup,
    /// Whether that is done.
    PullsUp,
    /// Lost without a known reason, for each segment of data sent.
    Stall,
    /// Setting up the card, for each buffer of a frame that is sent: headers are one, data another.
    Device,
    /// Serving an interrupt, for all frames that have arrived by then.
    Interrupt,
    /// From the card's signal to the driver, when the processor has nothing else to do.
    Dispatch,
    /// Waking a process up.
    Wakeup,
    /// Saving one process and restoring another.
    Switch,
    /// Whether a process that follows itself is spared that.
    SkipSameProcess,
    /// The memory bus, for each byte the card reads or writes.
    Bus,
    /// Bytes the card wants in the first buffer of a frame; 0 if any will do.
    FirstBuffer,
    /// Bringing a frame into that form.
    Rebuffer,
    /// Frames the driver gives the card at a time.
    DriverQueue,
    /// Frames that wait for the processor before the card has no more room.
    ReceiveRing,
}

/// What a value is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Picoseconds for each byte.
    PerByte,
    /// Bytes.
    Bytes,
    /// Frames, one at least.
    Frames,
    /// 1 or 0.
    Switch,
}

/// The accepted form of a time for each byte.
pub const PER_BYTE_FORM: &str = "a time per size such as \"130us/KiB\" (1024 bytes) or \"0.3ns/B\"";

impl Item {
    /// Every item.
    pub const ALL: [Item; 23] = [
        Item::Copy,
        Item::Checksum,
        Item::CopyAndChecksum,
        Item::Combined,
        Item::Chunk,
        Item::Segment,
        Item::Packet,
        Item::SlowAck,
        Item::SlowData,
        Item::Pullup,
        Item::PullsUp,
        Item::Stall,
        Item::Device,
        Item::Interrupt,
        Item::Dispatch,
        Item::Wakeup,
        Item::Switch,
        Item::SkipSameProcess,
        Item::Bus,
        Item::FirstBuffer,
        Item::Rebuffer,
        Item::DriverQueue,
        Item::ReceiveRing,
    ];

    /// Its key in a plan.
    pub const fn key(self) -> &'static str {
        match self {
            Item::Copy => "copy",
            Item::Checksum => "checksum",
            Item::CopyAndChecksum => "copy_and_checksum",
            Item::Combined => "combined",
            Item::Chunk => "chunk",
            Item::Segment => "segment",
            Item::Packet => "packet",
            Item::SlowAck => "slow_ack",
            Item::SlowData => "slow_data",
            Item::Pullup => "pullup",
            Item::PullsUp => "pulls_up",
            Item::Stall => "stall",
            Item::Device => "device",
            Item::Interrupt => "interrupt",
            Item::Dispatch => "dispatch",
            Item::Wakeup => "wakeup",
            Item::Switch => "switch",
            Item::SkipSameProcess => "skip_same_process",
            Item::Bus => "bus",
            Item::FirstBuffer => "first_buffer",
            Item::Rebuffer => "rebuffer",
            Item::DriverQueue => "driver_queue",
            Item::ReceiveRing => "receive_ring",
        }
    }

    /// What its value is of.
    pub const fn unit(self) -> Unit {
        match self {
            Item::Copy | Item::Checksum | Item::CopyAndChecksum | Item::Bus => Unit::PerByte,
            Item::Combined | Item::PullsUp | Item::SkipSameProcess => Unit::Switch,
            Item::Chunk | Item::FirstBuffer => Unit::Bytes,
            Item::DriverQueue | Item::ReceiveRing => Unit::Frames,
            _ => Unit::Time,
        }
    }
}

/// A value for every item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostTable {
    values: [u64; Item::ALL.len()],
}

impl CostTable {
    /// The table of these values, in the order of [`Item::ALL`].
    pub(crate) const fn new(values: [u64; Item::ALL.len()]) -> CostTable {
        CostTable { values }
    }

    /// A ready table.
    ///
    /// # Panics
    /// When the program's own table is incomplete: a test reads them all.
    pub fn ready(ready: &Ready) -> CostTable {
        let value = |item: Item| {
            let (_, text, _) = ready.rows.iter().find(|(key, _, _)| *key == item.key())?;
            read(item, text).ok()
        };
        let value = |item| value(item).unwrap_or_else(|| panic!("{}: {item:?}", ready.name));
        CostTable { values: Item::ALL.map(value) }
    }

    /// Its value in nanoseconds, picoseconds for each byte, bytes, frames, or 1 and 0.
    pub fn value(&self, item: Item) -> u64 {
        self.values[item as usize]
    }

    /// An item that is a time.
    pub fn time(&self, item: Item) -> Duration {
        Duration::from_nanos(self.value(item))
    }

    /// Whether a switch is on.
    pub fn is_on(&self, item: Item) -> bool {
        self.value(item) != 0
    }
}

/// A host or a router with a cost table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlowHost {
    /// Its name: an end of a bond, a machine at a switch or a segment, a router.
    pub name: String,
    /// What it takes for what it does.
    pub costs: CostTable,
    /// The ready table that was begun with.
    pub base: Option<&'static Ready>,
}

/// Reads an item's value as a table writes it; switches are `on` and `off` there.
pub(crate) fn read(item: Item, text: &str) -> Result<u64, Refusal> {
    match item.unit() {
        Unit::Time => quantity::duration(text).map(Duration::as_nanos),
        Unit::PerByte => quantity::per_byte(text),
        Unit::Bytes => quantity::size(text),
        Unit::Frames => match quantity::limit(text)? {
            trunkline_core::queue::Limit::Packets(frames) => Ok(u64::from(frames)),
            _ => Err(Refusal::NotWhole("frames")),
        },
        Unit::Switch => match text {
            "on" => Ok(1),
            "off" => Ok(0),
            _ => Err(Refusal::NotANumber),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ready_table_is_complete_and_tells_its_origins() {
        for ready in READY {
            let table = CostTable::ready(ready);
            assert_eq!(
                ready.rows.len(),
                Item::ALL.len(),
                "{}: a row twice, or unknown",
                ready.name
            );
            assert!(table.value(Item::DriverQueue) > 0 && table.value(Item::ReceiveRing) > 0);
            let origins = ready.rows.iter().all(|(_, _, origin)| !origin.is_empty());
            assert!(origins, "{}", ready.name);
        }
    }

    #[test]
    fn items_are_in_the_order_of_their_places() {
        for (place, item) in Item::ALL.into_iter().enumerate() {
            assert_eq!(item as usize, place);
        }
    }

    #[test]
    fn the_notes_packet_costs_what_the_note_says() {
        let table = CostTable::ready(&READY[0]);
        let nanos = |item, bytes| table.value(item) * bytes / 1000;
        // In tenths of a microsecond.
        for (item, bytes, tenths) in [
            (Item::Copy, 1408, 1925),
            (Item::Checksum, 1448, 1838),
            (Item::CopyAndChecksum, 1408, 2750),
            (Item::Bus, 1448, 3000),
        ] {
            let taken = (nanos(item, bytes) + 50) / 100;
            assert!(taken.abs_diff(tenths) <= 1, "{item:?}: {taken}");
        }
    }
}
