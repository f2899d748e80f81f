//! One thread that waits for everything at once: devices, sockets, deadlines, requests, signals.
//!
//! The TUN is waited for only while its bond has room, so what the bond cannot take stays where the
//! kernel can tell programs to slow down.

use crate::clock;
use crate::driver::Source;
use crate::netlink::LinkWatch;
use crate::requests::{self, Then};
use crate::running::Running;
use crate::sys::epoll::{Epoll, Interest};
use crate::sys::signal::{Signal, Signals};
use std::io;
use trunkline_core::time::Instant;

/// Tokens: the low half says what, the high half whose.
const WHAT_BITS: u32 = 32;
const TUN: u64 = 0;
const LISTENER: u64 = 1;
const SIGNALS: u64 = 2;
const LINKS: u64 = 3;
/// Sockets count from here.
const SOCKETS: u64 = 1 << 8;
/// Clients of the control socket count from here.
const CLIENTS: u64 = 1 << 16;

/// Runs a set of bonds until the last has been taken down.
pub struct Reactor {
    epoll: Epoll,
    signals: Signals,
    watch: LinkWatch,
    /// By position; one that is down has left its place empty.
    bonds: Vec<Option<Seat>>,
    /// Why the first bond ended that was not told to.
    broken: Option<io::Error>,
}

/// A bond, and what is waited for on its TUN.
struct Seat {
    running: Running,
    tun_interest: Interest,
}

impl Seat {
    fn handle(&mut self, now: Instant, what: u64) -> io::Result<Then> {
        let Running { driver, control, .. } = &mut self.running;
        match what {
            // It is waited for in vain only when there is no device any more.
            TUN if self.tun_interest == Interest::Nothing => {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the TUN device is gone"));
            }
            TUN => driver.handle_ready(now, Source::Tun)?,
            LISTENER => control.accept()?,
            SOCKETS..CLIENTS => {
                driver.handle_ready(now, Source::Socket((what - SOCKETS) as usize))?;
            }
            _ => return Ok(requests::serve(&mut self.running, now, (what - CLIENTS) as usize)),
        }
        Ok(Then::GoOn)
    }
}

impl Reactor {
    /// A reactor for bonds that have been brought up.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn new(bonds: Vec<Running>) -> io::Result<Reactor> {
        let epoll = Epoll::new()?;
        let (signals, watch) = (Signals::new()?, LinkWatch::open()?);
        epoll.add(&signals, SIGNALS, Interest::Read)?;
        epoll.add(&watch, LINKS, Interest::Read)?;
        let mut seats = Vec::new();
        for (index, running) in bonds.into_iter().enumerate() {
            let whose = (index as u64) << WHAT_BITS;
            epoll.add(running.driver.tun(), whose | TUN, Interest::Read)?;
            epoll.add(running.control.listener(), whose | LISTENER, Interest::Read)?;
            seats.push(Some(Seat { running, tun_interest: Interest::Read }));
        }
        let mut reactor = Reactor { epoll, signals, watch, bonds: seats, broken: None };
        reactor.watch_new()?;
        Ok(reactor)
    }

    /// Works until every bond is down. One whose device or socket breaks goes down alone.
    ///
    /// # Errors
    /// What broke first.
    pub fn run(mut self) -> io::Result<()> {
        let mut tokens = Vec::new();
        while self.bonds.iter().any(Option::is_some) {
            let now = clock::now();
            let seats = self.bonds.iter().flatten();
            let deadline = seats.filter_map(|seat| seat.running.driver.deadline());
            let nanos = deadline.min().map(|at| (at - now).as_nanos());
            tokens.clear();
            self.epoll.wait(nanos, &mut tokens)?;
            for token in &tokens {
                self.handle(*token)?;
            }
            let now = clock::now();
            for seat in self.bonds.iter_mut().flatten() {
                seat.running.driver.turn(now);
            }
            self.watch_new()?;
        }
        self.broken.map_or(Ok(()), Err)
    }

    fn handle(&mut self, token: u64) -> io::Result<()> {
        let now = clock::now();
        match token {
            SIGNALS => {
                while let Some(signal) = self.signals.read()? {
                    for entry in &mut self.bonds {
                        match (signal, entry.as_mut()) {
                            (Signal::End, _) => *entry = None,
                            (Signal::Reload, Some(seat)) => {
                                // A bad plan changes nothing, and a signal has no answer.
                                let _refused = requests::reload(&mut seat.running, now);
                            }
                            (Signal::Reload, None) => {}
                        }
                    }
                }
                return Ok(());
            }
            LINKS => {
                for news in self.watch.read()? {
                    for seat in self.bonds.iter_mut().flatten() {
                        seat.running.handle_news(now, &news);
                    }
                }
                return Ok(());
            }
            _ => {}
        }
        let (whose, what) = (token >> WHAT_BITS, token & ((1 << WHAT_BITS) - 1));
        let Some(entry) = self.bonds.get_mut(whose as usize) else {
            return Ok(());
        };
        match entry.as_mut().map_or(Ok(Then::GoOn), |seat| seat.handle(now, what)) {
            Ok(Then::GoOn) => {}
            Ok(Then::End) => *entry = None,
            Err(error) => {
                *entry = None;
                self.broken.get_or_insert(error);
            }
        }
        Ok(())
    }

    /// Waits for what has been opened since the last time, and for the TUN only when it is wanted.
    fn watch_new(&mut self) -> io::Result<()> {
        for (index, entry) in self.bonds.iter_mut().enumerate() {
            let Some(seat) = entry else {
                continue;
            };
            let whose = (index as u64) << WHAT_BITS;
            let Running { driver, control, .. } = &mut seat.running;
            while let Some((socket, fd)) = driver.sockets.take_new() {
                self.epoll.add(fd, whose | (SOCKETS + socket as u64), Interest::Read)?;
            }
            while let Some((client, fd)) = control.take_new() {
                self.epoll.add(fd, whose | (CLIENTS + client as u64), Interest::Read)?;
            }
            let wanted = match driver.wants_packets() {
                true => Interest::Read,
                false => Interest::Nothing,
            };
            if wanted != seat.tun_interest {
                self.epoll.modify(driver.tun(), whose | TUN, wanted)?;
                seat.tun_interest = wanted;
            }
        }
        Ok(())
    }
}
