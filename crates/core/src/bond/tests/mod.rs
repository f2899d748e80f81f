//! What the tests of bonds share.

mod closed_loop;
mod eql;
mod ingress;
mod modes;
mod one_way;
mod properties;

use super::*;
use crate::link::{Framing, Header, LineCoding, Payload};
use crate::time::Duration;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn bps(n: u64) -> BitRate {
    BitRate::from_bps(n)
}

fn slip(line: LineCoding) -> Framing {
    Framing { line, header: Header::Slip, payload: Payload::Zeros, ..Framing::PLAIN }
}

/// An asynchronous line whose weight is its rate.
fn line(link: u16, rate: u64) -> MemberConfig {
    MemberConfig {
        link: LinkId(link),
        rate: bps(rate),
        weight: bps(rate),
        direction: Ways::Both,
        delay: Duration::ZERO,
        queue: Limit::Packets(10),
        priority: 0,
        framing: slip(LineCoding::Async8n1),
    }
}

/// A bond with its context, and a clock to move by hand.
struct Bed {
    cx: Context,
    bond: Bond,
    now: Instant,
}

impl Bed {
    fn new(mode: Mode, lines: &[MemberConfig]) -> Bed {
        Bed::with_ingress(mode, BondConfig::new(mode, 1500).ingress, lines)
    }

    fn with_ingress(mode: Mode, ingress: IngressConfig, lines: &[MemberConfig]) -> Bed {
        let config = BondConfig { ingress, ..BondConfig::new(mode, 1500) };
        let mut bed =
            Bed { cx: Context::new(), bond: Bond::new(Instant::ZERO, config), now: Instant::ZERO };
        bed.cx.trace = trace::Trace::enabled();
        for line in lines {
            bed.enslave(*line).expect("enslaved");
        }
        bed
    }

    fn enslave(&mut self, line: MemberConfig) -> Result<(), BondError> {
        self.bond.enslave(self.now, &mut self.cx, line)
    }

    fn send(&mut self, len: u32) -> Frame {
        self.send_of(0, len)
    }

    fn send_of(&mut self, flow: u32, len: u32) -> Frame {
        let frame = self.cx.frames.insert(&[], len);
        let meta = FrameMeta { len, flow };
        self.bond.send(self.now, &mut self.cx, frame, meta);
        self.bond.check_invariants();
        frame
    }

    fn link(&mut self, link: u16, change: LinkChange) {
        self.bond.handle_link(self.now, &mut self.cx, LinkId(link), change);
        self.bond.check_invariants();
    }

    fn poll(&mut self, link: u16) -> Vec<Frame> {
        let mut burst = Burst::new();
        self.bond.poll_transmit(self.now, &mut self.cx, LinkId(link), &mut burst);
        self.bond.check_invariants();
        burst.frames
    }

    fn transmitted(&mut self, link: u16, bytes: u64) {
        self.bond.handle_transmitted(self.now, &mut self.cx, LinkId(link), bytes);
        self.bond.check_invariants();
    }

    fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.bond.handle_timeout(self.now, &mut self.cx);
        self.bond.check_invariants();
    }

    /// Packets committed so far to a link.
    fn packets(&self, link: u16) -> u64 {
        self.bond.member(LinkId(link)).expect("a member").stats().tx_packets
    }

    fn queued(&self, link: u16) -> u64 {
        self.bond.member(LinkId(link)).expect("a member").bytes_queued()
    }
}
