//! A window of packets over real transmitters, acknowledged as they arrive: what each mode makes of
//! lines whose rates are apart.

use super::*;
use crate::link::channel::Clocking;
use crate::link::{Channel, ChannelConfig, WireConfig};
use crate::rng::Rng;
use crate::trace::Direction;

const PACKET: u32 = 576;
const ACK_DELAY: Duration = Duration::from_millis(40);

struct Outcome {
    /// Of the time all lines together need at least, in thousandths.
    efficiency: u64,
    /// Of the packets, in thousandths, by link.
    shares: Vec<u64>,
    /// The most packets that any one was overtaken by.
    overtaken: usize,
}

/// Packet lengths by sequence number.
type Lengths = fn(u32) -> u32;

struct Loop {
    bed: Bed,
    lengths: Lengths,
    channels: Vec<Channel>,
    acks: VecDeque<(Instant, u64)>,
    window: u64,
    open: u64,
    next: u32,
    arrived: Vec<u32>,
}

fn channel(member: &MemberConfig) -> Channel {
    let config = ChannelConfig {
        link: member.link,
        direction: Direction::Up,
        rate: member.rate,
        framing: member.framing,
        clocking: Clocking::Own,
        wire: WireConfig { delay: member.delay, ..WireConfig::default() },
        queue: None,
    };
    Channel::new(config, Rng::new(1))
}

impl Loop {
    fn new(mode: Mode, lines: &[MemberConfig], window: u64, lengths: Lengths) -> Loop {
        let mut bed = Bed::new(mode, lines);
        bed.cx.trace = trace::Trace::default();
        Loop {
            bed,
            lengths,
            channels: lines.iter().map(channel).collect(),
            acks: VecDeque::new(),
            window,
            open: 0,
            next: 0,
            arrived: Vec::new(),
        }
    }

    /// Everything that can happen without time passing.
    fn turn(&mut self) {
        let now = self.bed.now;
        while self.acks.front().is_some_and(|(at, _)| *at <= now) {
            self.open -= self.acks.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        loop {
            let len = (self.lengths)(self.next);
            if self.open + u64::from(len) > self.window || !self.bed.bond.has_room() {
                break;
            }
            let bytes = self.next.to_be_bytes();
            let frame = self.bed.cx.frames.insert(&bytes, len - 4);
            let meta = FrameMeta { len, flow: 0 };
            self.bed.bond.send(now, &mut self.bed.cx, frame, meta);
            self.open += u64::from(len);
            self.next += 1;
        }
        for (link, channel) in self.channels.iter_mut().enumerate() {
            if !channel.idle() {
                continue;
            }
            if let Some(frame) = self.bed.poll(link as u16).first() {
                channel.start(now, &mut self.bed.cx, *frame);
            }
        }
    }

    fn step(&mut self) {
        self.turn();
        let timers = self.channels.iter().filter_map(Channel::next_timeout);
        let timers = timers.chain(self.acks.front().map(|(at, _)| *at));
        let decay = self.bed.bond.poll_timeout().map(|(at, _)| at);
        self.bed.now = timers.chain(decay).min().expect("something is under way");
        self.bed.wait(0);
        let now = self.bed.now;
        for link in 0..self.channels.len() {
            let channel = &mut self.channels[link];
            if channel.finishes() == Some(now) {
                let bytes = channel.finish(now, &mut self.bed.cx);
                self.bed.transmitted(link as u16, bytes);
            }
            while let Some(frame) = self.channels[link].poll_arrival(now) {
                let bytes = self.bed.cx.frames.bytes(frame);
                let seq = u32::from_be_bytes(bytes.try_into().expect("four bytes"));
                self.arrived.push(seq);
                self.bed.cx.frames.remove(frame);
                let len = u64::from((self.lengths)(seq));
                self.acks.push_back((now + ACK_DELAY, len));
            }
        }
    }

    fn run(mut self, packets: usize) -> Outcome {
        while self.arrived.len() < packets {
            self.step();
        }
        let elapsed = self.bed.now - Instant::ZERO;
        let rates: u64 = self.channels.iter().map(|c| c.config().rate.as_bps()).sum();
        let framing = self.channels[0].config().framing;
        let lengths = self.arrived.iter().map(|seq| u64::from((self.lengths)(*seq)));
        let bits = lengths.map(|len| framing.mean_wire_millibits(len)).sum::<u64>() / 1000;
        let ideal = bps(rates).time_for_bits(bits);
        let sent: Vec<u64> = self.channels.iter().map(|c| c.stats().frames).collect();
        let all: u64 = sent.iter().sum();
        Outcome {
            efficiency: ideal.as_nanos() * 1000 / elapsed.as_nanos(),
            shares: sent.iter().map(|n| n * 1000 / all).collect(),
            overtaken: overtaken(&self.arrived),
        }
    }
}

/// The most later packets that arrived before any one packet.
fn overtaken(arrived: &[u32]) -> usize {
    let before = |i: usize| arrived[..i].iter().filter(|s| **s > arrived[i]).count();
    (0..arrived.len()).map(before).max().unwrap_or(0)
}

fn pair(fast: u64, slow: u64, coding: LineCoding) -> [MemberConfig; 2] {
    [(0, fast), (1, slow)].map(|(link, rate)| MemberConfig {
        framing: slip(coding),
        queue: Limit::Packets(64),
        ..line(link, rate)
    })
}

fn run(mode: Mode, lines: &[MemberConfig], window: u64) -> Outcome {
    Loop::new(mode, lines, window, |_| PACKET).run(2000)
}

#[test]
fn earliest_fills_unequal_lines_in_order() {
    for (fast, slow) in [(28_800, 14_400), (57_600, 14_400), (115_200, 9_600)] {
        for coding in [LineCoding::Async8n1, LineCoding::Sync] {
            let got = run(Mode::Earliest, &pair(fast, slow, coding), 16_384);
            let shown = format!("{fast}+{slow} {coding:?}: {} {}", got.efficiency, got.overtaken);
            assert!(got.efficiency >= 990, "{shown}");
            assert!(got.overtaken <= 2, "{shown}");
        }
    }
}

#[test]
fn earliest_keeps_order_over_lines_of_different_delay() {
    let mut lines = pair(57_600, 57_600, LineCoding::Sync);
    lines[1].delay = Duration::from_millis(150);
    let got = run(Mode::Earliest, &lines, 32_768);
    assert!(got.efficiency >= 980 && got.overtaken <= 2, "{} {}", got.efficiency, got.overtaken);
}

/// Equal lines run in step: an escaped byte in one frame lets those beside it pass, and no others.
#[test]
fn earliest_fills_equal_lines_nearly_in_order() {
    for count in 2..=4 {
        let lines: Vec<MemberConfig> = (0..count).map(|link| line(link, 9_600)).collect();
        let got = run(Mode::Earliest, &lines, 16_384);
        let shown = format!("{count}: {} {}", got.efficiency, got.overtaken);
        assert!(got.efficiency >= 990, "{shown}");
        assert!(got.overtaken < usize::from(count), "{shown}");
    }
}

#[test]
fn short_packets_do_not_pass_long_ones_on_the_slow_line() {
    let mixed: Lengths = |seq| match seq.wrapping_mul(0x9e37_79b9) >> 30 {
        0 => 40,
        _ => PACKET,
    };
    for (fast, slow) in [(57_600, 14_400), (115_200, 9_600)] {
        let lines = pair(fast, slow, LineCoding::Async8n1);
        let got = Loop::new(Mode::Earliest, &lines, 16_384, mixed).run(2000);
        let shown = format!("{fast}+{slow}: {} {}", got.efficiency, got.overtaken);
        assert!(got.efficiency >= 900 && got.overtaken <= 2, "{shown}");
    }
}

#[test]
fn eql_is_worse_the_further_the_rates_are_apart() {
    let near = run(Mode::Eql, &pair(28_800, 14_400, LineCoding::Async8n1), 16_384);
    let far = run(Mode::Eql, &pair(57_600, 14_400, LineCoding::Async8n1), 16_384);
    assert!((680..=800).contains(&near.efficiency), "{}", near.efficiency);
    assert!((500..=750).contains(&far.efficiency), "{}", far.efficiency);
    assert!(far.shares[1] > 200, "{:?}", far.shares);
}

#[test]
fn eql_early_fills_both_lines_when_rates_are_near() {
    for window in [8_192, 12_000, 16_384] {
        let lines = pair(28_800, 14_400, LineCoding::Sync);
        let got = run(Mode::EqlEarly, &lines, window);
        let shown = format!("{window}: {} {:?}", got.efficiency, got.shares);
        assert!(got.efficiency >= 920 && got.shares[1] >= 280, "{shown}");
    }
}

#[test]
fn eql_early_starves_the_slow_line_when_rates_are_apart() {
    for coding in [LineCoding::Async8n1, LineCoding::Sync] {
        for window in [8_192, 12_000, 16_384] {
            let got = run(Mode::EqlEarly, &pair(57_600, 14_400, coding), window);
            assert!(got.shares[1] <= 15, "{coding:?} {window}: {:?}", got.shares);
        }
    }
}

#[test]
fn round_robin_is_twice_the_slowest_line() {
    let got = run(Mode::BalanceRr, &pair(57_600, 14_400, LineCoding::Async8n1), 16_384);
    assert!((380..=410).contains(&got.efficiency), "{}", got.efficiency);
}

#[test]
fn a_rate_that_was_too_low_is_forgotten_when_it_is_told_anew() {
    let mut bed = Bed::new(Mode::Earliest, &[line(0, 300)]);
    bed.send(576);
    assert_eq!(bed.poll(0).len(), 1);
    bed.wait(100);
    bed.enslave(line(0, 57_600)).expect("told anew");
    let arrival = bed.bond.member(LinkId(0)).expect("a member").arrival(bed.now, 576);
    let two = bed.bond.member(LinkId(0)).expect("a member").wire_time(576) * 2;
    assert_eq!(arrival, bed.now + two);
}
