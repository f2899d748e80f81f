//! The emulator's loop: take what came in, send what is due, wait for the next of either.

use super::clock::{self, Asked, Scheduling, Signals};
use super::control::{self, Command, Control};
use super::direction::Direction;
use super::lateness::Lateness;
use super::options::Options;
use super::port::{BATCH, Port};
use super::report::Report;
use std::io;
use trunkline_core::frame::{Frame, LinkChange};
use trunkline_core::rng::Rng;
use trunkline_core::time::Instant;
use trunkline_core::trace::Direction as Way;

/// A link in real time between two interfaces.
pub struct Emulator {
    options: Options,
    ports: [Port; 2],
    /// From the first port to the second, and back.
    directions: [Direction; 2],
    signals: Signals,
    control: Control,
    scheduling: Scheduling,
    lateness: Lateness,
    since: Instant,
    /// What is being sent, with the time it was due.
    due: Vec<(Instant, Frame)>,
}

impl Emulator {
    /// Opens both interfaces. The calling thread's signals SIGINT, SIGTERM and SIGUSR1 are taken over,
    /// and it gets real-time priority where that is allowed.
    pub fn open(options: Options) -> io::Result<Self> {
        let [a, b] = &options.devices;
        let ports = [Port::open(a), Port::open(b)];
        let [a, b] = ports.map(|port| port.map_err(io::Error::from));
        let ports = [a?, b?];
        let rng = Rng::new(options.seed);
        let [up, down] = options.directions;
        let directions = [
            Direction::new(up, Way::Up, rng.fork("up")),
            Direction::new(down, Way::Down, rng.fork("down")),
        ];
        let signals = Signals::open()?;
        let control = Control::open(options.control.as_deref())?;
        Ok(Emulator {
            options,
            ports,
            directions,
            signals,
            control,
            scheduling: clock::prefer_this_thread(),
            lateness: Lateness::default(),
            since: clock::now(),
            due: Vec::with_capacity(BATCH),
        })
    }

    /// Carries frames until a signal ends it; then writes the report.
    pub fn run(&mut self) -> io::Result<()> {
        loop {
            let next = self.directions.iter().filter_map(Direction::next_timeout).min();
            let [a, b] = &self.ports;
            let sources = [a, b].map(Port::descriptor);
            let [a, b, signalled, commanded] = clock::wait(
                [sources[0], sources[1], self.signals.descriptor(), self.control.descriptor()],
                next,
            )?;
            for (side, ready) in [a, b].into_iter().enumerate() {
                if ready {
                    let direction = &mut self.directions[side];
                    self.ports[side]
                        .receive(|at, header, packet| direction.offer(at, header, packet))?;
                }
            }
            for side in 0..2 {
                self.send_due(side);
            }
            if commanded {
                self.handle_commands()?;
            }
            if signalled && self.handle_signals()? == Asked::Stop {
                return self.report().write(self.options.report.as_deref());
            }
        }
    }

    /// Sends what has arrived at the far end of one direction, one batch at most.
    fn send_due(&mut self, side: usize) {
        let direction = &mut self.directions[side];
        let now = clock::now();
        self.due.clear();
        while let Some(arrived) = direction.poll_arrival(now) {
            self.due.push(arrived);
            if self.due.len() == BATCH {
                break;
            }
        }
        if self.due.is_empty() {
            return;
        }
        let frames = self.due.iter().map(|(_, frame)| direction.parts(*frame));
        self.ports[1 - side].send(frames);
        // After the call, so that sending itself counts as being late too.
        let sent = clock::now();
        for (due, frame) in self.due.drain(..) {
            self.lateness.record(sent - due);
            direction.release(frame);
        }
    }

    fn handle_signals(&mut self) -> io::Result<Asked> {
        while let Some(asked) = self.signals.poll() {
            match asked {
                Asked::Stop => return Ok(Asked::Stop),
                Asked::Report => self.report().write(self.options.report.as_deref())?,
            }
        }
        Ok(Asked::Report)
    }

    fn handle_commands(&mut self) -> io::Result<()> {
        while let Some(command) = self.control.poll() {
            match command {
                Ok(Command::Cut) => self.handle_link(LinkChange::Down),
                Ok(Command::Restore) => self.handle_link(LinkChange::Up),
                Ok(Command::Report) => self.report().write(self.options.report.as_deref())?,
                Ok(Command::Reset) => self.reset(),
                Ok(Command::Set(words)) => self.set(&words)?,
                Err(what) => complain(&what)?,
            }
        }
        Ok(())
    }

    fn handle_link(&mut self, change: LinkChange) {
        let now = clock::now();
        for direction in &mut self.directions {
            direction.handle_link(now, change);
        }
    }

    fn set(&mut self, words: &str) -> io::Result<()> {
        let [up, down] = &self.directions;
        let mut configs = [*up.config(), *down.config()];
        if let Err(error) = control::change(&mut configs, words) {
            return complain(&error.to_string());
        }
        for (direction, config) in self.directions.iter_mut().zip(configs) {
            direction.configure(config);
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.since = clock::now();
        self.lateness.reset();
        self.directions.iter_mut().for_each(Direction::reset);
        self.ports.iter_mut().for_each(Port::reset);
    }

    /// What was done since the start or the last reset.
    pub fn report(&mut self) -> Report {
        let [up, down] = &self.directions;
        Report {
            elapsed: clock::now() - self.since,
            scheduling: self.scheduling,
            lateness: self.lateness.clone(),
            totals: [up.totals(), down.totals()],
            drops: self.ports.each_mut().map(Port::drops),
        }
    }
}

/// A wrong command is the sender's fault and must not end a measurement.
fn complain(what: &str) -> io::Result<()> {
    use io::Write as _;
    writeln!(io::stderr().lock(), "trunkline-emulate: {what}")
}
