//! A receiver of a cable channel that many share: what it takes out of all that goes by.
//!
//! A cable channel carries packets in cells of one size, and the cells of several logical channels, each with
//! its PID, take turns. A SURFboard 1000 listens to four PIDs at most and puts the packets of each together
//! for itself, so that a cell lost on one spoils nothing on the others. Of what is whole it passes on what has
//! its station address, and what is for everybody unless it was told `nobroadcast`.
//!
//! Source: the card's behaviour (its driver, README and `cmconfig`). Deviation: what a cell looks like on the
//! cable is not known; here it is as long as a packet of an MPEG-2 transport stream (ISO/IEC 13818-1, which is
//! what 64-QAM channels carry, ITU-T J.83) and has the same counter of four bits, and the first cell of a packet
//! tells how many there are.

/// A logical channel on the cable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Pid(pub u16);

/// A modem's address on the cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Station(pub [u8; 6]);

impl Station {
    /// The address of a card of this serial number: two zeros, then the number.
    pub const fn of_serial(serial: u32) -> Station {
        let [a, b, c, d] = serial.to_be_bytes();
        Station([0, 0, a, b, c, d])
    }
}

/// Whom a packet on the cable is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum To {
    /// One modem.
    Station(Station),
    /// All that listen to the PID.
    Everybody,
}

/// What becomes of packets for everybody.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Broadcasts {
    /// The host gets them.
    #[default]
    Taken,
    /// They end at the card (`nobroadcast`).
    Refused,
}

/// Logical channels a modem listens to at most.
pub const PIDS_MAX: usize = 4;

/// What a modem is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TunerConfig {
    /// Its address.
    pub station: Station,
    /// The logical channels it listens to.
    pub pids: [Option<Pid>; PIDS_MAX],
    /// What becomes of packets for everybody.
    pub broadcasts: Broadcasts,
}

/// A piece of a packet, as long as all others on the cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cell {
    /// The logical channel.
    pub pid: Pid,
    /// Counts the cells of this PID, modulo [`COUNTS`].
    pub count: u8,
    /// Which piece it is.
    pub piece: Piece,
}

/// Counter values of a PID's cells.
pub const COUNTS: u8 = 16;

/// Which piece of a packet a cell is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Piece {
    /// The first of so many, with the packet's header.
    First {
        /// Whom the packet is for.
        to: To,
        /// Cells of the packet, this one included.
        cells: u16,
    },
    /// One of the others.
    Next,
}

/// What a cell has brought.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Nothing for the host yet, or at all.
    Nothing,
    /// A packet is whole and for this host.
    Packet,
}

/// What a tuner has seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TunerStats {
    /// Packets passed on.
    pub packets: u64,
    /// Of these, packets for everybody.
    pub broadcasts: u64,
    /// Packets for everybody that ended here.
    pub refused: u64,
    /// Packets for other stations.
    pub others: u64,
    /// Packets of which a cell was missing.
    pub broken: u64,
    /// Cells of logical channels not listened to.
    pub foreign_cells: u64,
}

/// A packet that is being put together.
#[derive(Clone, Copy, Debug)]
struct Assembly {
    to: To,
    /// Cells still to come.
    left: u16,
}

#[derive(Clone, Copy, Debug)]
struct Listening {
    pid: Pid,
    /// The count of the next cell, once there was one.
    count: Option<u8>,
    assembly: Option<Assembly>,
}

/// The receiver of one modem.
#[derive(Clone, Debug)]
pub struct Tuner {
    config: TunerConfig,
    channels: [Option<Listening>; PIDS_MAX],
    stats: TunerStats,
}

impl Tuner {
    /// A tuner that has heard nothing.
    pub fn new(config: TunerConfig) -> Self {
        let listening = |pid: Pid| Listening { pid, count: None, assembly: None };
        let channels = config.pids.map(|pid| pid.map(listening));
        Tuner { config, channels, stats: TunerStats::default() }
    }

    /// Totals so far.
    pub const fn stats(&self) -> &TunerStats {
        &self.stats
    }

    /// A cell has gone by.
    pub fn hear(&mut self, cell: Cell) -> Heard {
        let mut channels = self.channels.iter_mut().flatten();
        let Some(channel) = channels.find(|channel| channel.pid == cell.pid) else {
            self.stats.foreign_cells += 1;
            return Heard::Nothing;
        };
        let is_expected = channel.count.is_none_or(|count| count == cell.count);
        channel.count = Some((cell.count + 1) % COUNTS);
        let begun = channel.assembly.take();
        let assembly = match (cell.piece, begun) {
            (Piece::First { to, cells }, begun) => {
                self.stats.broken += u64::from(begun.is_some());
                Assembly { to, left: cells.saturating_sub(1) }
            }
            (Piece::Next, Some(begun)) if is_expected && begun.left > 0 => {
                Assembly { left: begun.left - 1, ..begun }
            }
            (Piece::Next, begun) => {
                self.stats.broken += u64::from(begun.is_some());
                return Heard::Nothing;
            }
        };
        if assembly.left > 0 {
            channel.assembly = Some(assembly);
            return Heard::Nothing;
        }
        self.filter(assembly.to)
    }

    /// A packet is whole: is it for this host?
    fn filter(&mut self, to: To) -> Heard {
        match to {
            To::Station(station) if station == self.config.station => {}
            To::Everybody if self.config.broadcasts == Broadcasts::Taken => {
                self.stats.broadcasts += 1;
            }
            To::Everybody => {
                self.stats.refused += 1;
                return Heard::Nothing;
            }
            To::Station(_) => {
                self.stats.others += 1;
                return Heard::Nothing;
            }
        }
        self.stats.packets += 1;
        Heard::Packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: Station = Station::of_serial(0x2a0d_16d8);

    fn tuner(pids: &[u16], broadcasts: Broadcasts) -> Tuner {
        let mut list = [None; PIDS_MAX];
        for (place, pid) in list.iter_mut().zip(pids) {
            *place = Some(Pid(*pid));
        }
        Tuner::new(TunerConfig { station: OURS, pids: list, broadcasts })
    }

    /// The cells of a packet, the first with this count.
    fn cells(pid: u16, count: u8, to: To, cells: u16) -> Vec<Cell> {
        let piece = |n: u16| if n == 0 { Piece::First { to, cells } } else { Piece::Next };
        let count = |n: u16| ((u16::from(count) + n) % u16::from(COUNTS)) as u8;
        (0..cells).map(|n| Cell { pid: Pid(pid), count: count(n), piece: piece(n) }).collect()
    }

    fn packets(tuner: &mut Tuner, cells: &[Cell]) -> usize {
        cells.iter().filter(|cell| tuner.hear(**cell) == Heard::Packet).count()
    }

    #[test]
    fn the_address_of_a_card_is_its_serial_number() {
        assert_eq!(OURS, Station([0, 0, 0x2a, 0x0d, 0x16, 0xd8]));
    }

    #[test]
    fn packets_of_several_pids_are_put_together_separately() {
        let mut tuner = tuner(&[1, 2], Broadcasts::Taken);
        let [a, b] = [1, 2].map(|pid| cells(pid, 14, To::Station(OURS), 9));
        let woven: Vec<Cell> = a.iter().zip(&b).flat_map(|(a, b)| [*a, *b]).collect();
        assert_eq!(packets(&mut tuner, &woven), 2);
        assert_eq!(tuner.stats().broken, 0);
    }

    #[test]
    fn a_lost_cell_spoils_the_packet_of_its_pid_alone() {
        for lost in 0..9 {
            let mut tuner = tuner(&[1, 2], Broadcasts::Taken);
            let [mut a, b] = [1, 2].map(|pid| cells(pid, 0, To::Station(OURS), 9));
            a.remove(lost);
            let woven: Vec<Cell> = a.iter().zip(&b).flat_map(|(a, b)| [*a, *b]).collect();
            assert_eq!(packets(&mut tuner, &woven), 0, "cell {lost}");
            assert_eq!(tuner.hear(b[8]), Heard::Packet);
            let next = cells(1, 9, To::Station(OURS), 3);
            assert_eq!(packets(&mut tuner, &next), 1, "the next one is whole");
            // The loss of a first cell leaves nothing to be called a packet.
            assert_eq!(tuner.stats().broken, u64::from(lost > 0));
        }
    }

    #[test]
    fn pids_stations_and_broadcasts_are_filtered() {
        let all = [
            cells(1, 0, To::Station(OURS), 2),
            cells(1, 2, To::Station(Station::of_serial(7)), 2),
            cells(1, 4, To::Everybody, 2),
            cells(3, 0, To::Station(OURS), 2),
            cells(3, 2, To::Everybody, 2),
        ]
        .concat();
        let mut open = tuner(&[1], Broadcasts::Taken);
        assert_eq!(packets(&mut open, &all), 2);
        let expected = TunerStats {
            packets: 2,
            broadcasts: 1,
            others: 1,
            foreign_cells: 4,
            ..TunerStats::default()
        };
        assert_eq!(*open.stats(), expected);
        let mut closed = tuner(&[1, 3], Broadcasts::Refused);
        assert_eq!(packets(&mut closed, &all), 2);
        assert_eq!((closed.stats().refused, closed.stats().broadcasts), (2, 0));
    }
}
