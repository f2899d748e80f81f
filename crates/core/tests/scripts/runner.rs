//! Plays a script: each step in its turn, every packet that leaves accounted for.

use crate::expect;
use crate::language::{Action, Number, Opening, Script, Segment, Step};
use crate::packet::{self, ACK, Damage, FLAG_LETTERS, Opt, Packet, SYN};
use crate::settings;
use crate::world::{Sent, Variant, World, host_byte, peer_byte};
use trunkline_core::tcp::Chunk;
use trunkline_core::tcp::Data;

/// The step that did not go as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    pub line: usize,
    pub what: String,
}

/// The first sequence number of the peer: one that wraps soon, and one that does not.
const PEER_ISS: [u32; 2] = [0xffff_fe00, 1_000_000];

/// Every way a script is played: what it says has to hold in all of them.
pub fn variants() -> Vec<Variant> {
    let mut all = Vec::new();
    for header_prediction in [true, false] {
        for (peer_iss, seed) in PEER_ISS.into_iter().zip([1, 2]) {
            all.push(Variant { header_prediction, peer_iss, seed });
        }
    }
    all
}

/// Plays a script in all variants.
pub fn play_all(script: &Script) -> Result<(), Failure> {
    for variant in variants() {
        play(script, variant).map_err(|failure| {
            let prediction = if variant.header_prediction { "with" } else { "without" };
            let iss = variant.peer_iss;
            let what =
                format!("{}\n  {prediction} header prediction, peer_iss {iss}", failure.what);
            Failure { what, ..failure }
        })?;
    }
    Ok(())
}

pub fn play(script: &Script, variant: Variant) -> Result<(), Failure> {
    let mut world = World::new(variant);
    for step in &script.steps {
        let told = |what: String| {
            let text = &step.text;
            Failure { line: step.line, what: format!("{what}\n  step: {text}") }
        };
        take_step(&mut world, step).map_err(told)?;
    }
    let line = script.steps.last().map_or(1, |step| step.line);
    no_packet(&mut world).map_err(|what| Failure { line, what: format!("at the end: {what}") })
}

/// Takes every step whatever comes of it, for the sake of what must always hold.
pub fn play_on(script: &Script, variant: Variant) {
    let mut world = World::new(variant);
    for step in &script.steps {
        world.sent.clear();
        if let Err(what) = take_step(&mut world, step) {
            assert!(!what.contains("without end") && !what.contains("a leak"), "{what}");
        }
    }
}

fn take_step(world: &mut World, step: &Step) -> Result<(), String> {
    if !step.after.is_zero() {
        no_packet(world)?;
        world.run_until(world.now + step.after)?;
    }
    if let Action::Out(expected) = &step.action {
        return take_out(world, expected);
    }
    if !matches!(step.action, Action::Expect { .. } | Action::Events(_)) {
        no_packet(world)?;
    }
    match &step.action {
        Action::Config(pairs) => {
            for (key, value) in pairs {
                settings::set(&mut world.config, key, value)?;
                // A profile starts anew; what the run varies stays.
                world.config.header_prediction = world.variant.header_prediction;
            }
            Ok(())
        }
        Action::Ipv6 => {
            world.speak_v6();
            Ok(())
        }
        Action::Listen => {
            let config = world.config.clone();
            world.host.listen(crate::world::PORT, config);
            Ok(())
        }
        Action::Connect => world.connect(),
        Action::Established(opening) => establish(world, opening),
        Action::Accepted(opening) => accept(world, opening),
        Action::Flow { number, iss } => {
            world.choose_flow(*number, *iss);
            Ok(())
        }
        Action::In(segment) => take_in(world, segment),
        Action::Icmp { kind, code, rest } => {
            let about = world.last.clone();
            let [host, peer] = world.ends;
            world.arrive(&packet::icmp(peer, host, *kind, *code, *rest, &about))
        }
        Action::Events(names) => {
            let events = std::mem::take(&mut world.flow().events);
            if events == *names { Ok(()) } else { Err(format!("the events are {events:?}")) }
        }
        Action::Expect { what, value } => expect::check(world, what, value),
        Action::Nothing | Action::Out(_) => Ok(()),
        call => take_call(world, call),
    }
}

/// What the application does.
fn take_call(world: &mut World, call: &Action) -> Result<(), String> {
    let id = world.id()?;
    let now = world.now;
    match call {
        Action::Write { len, takes } => {
            let from = world.flow().written;
            let bytes: Vec<u8> = (from..from + len).map(host_byte).collect();
            let taken = world.host.write(now, &mut world.cx, id, Data::Bytes(&bytes));
            world.flow().written += taken;
            if taken != *takes {
                return Err(format!("{taken} bytes were taken, not {takes}"));
            }
        }
        Action::Read(max) => {
            let mut bytes = Vec::new();
            world.host.read(now, &mut world.cx, id, *max, |chunk| match chunk {
                Chunk::Bytes(real) => bytes.extend_from_slice(real),
                Chunk::Elided(n) => bytes.resize(bytes.len() + n, 0),
            });
            let from = world.flow().read;
            world.flow().read += bytes.len();
            if let Some(at) = (0..bytes.len()).find(|at| bytes[*at] != peer_byte(from + at)) {
                return Err(format!("the byte read at {} is not the one sent", from + at));
            }
            if *max < 1 << 24 && bytes.len() != *max {
                return Err(format!("{} bytes could be read", bytes.len()));
            }
        }
        Action::Close => world.host.close(now, &mut world.cx, id),
        Action::Abort => world.host.abort(now, &mut world.cx, id),
        Action::Forget => {
            world.host.forget(&mut world.cx, id);
            world.flow().id = None;
        }
        _ => {}
    }
    world.settle()
}

/// No packet has left that no step tells of.
fn no_packet(world: &mut World) -> Result<(), String> {
    match world.sent.front().cloned() {
        None => Ok(()),
        Some(sent) => Err(format!("a packet left that nobody expects: {}", told(world, &sent))),
    }
}

fn take_in(world: &mut World, segment: &Segment) -> Result<(), String> {
    let now = world.now;
    let flow = world.flow();
    let (iss, peer_iss) = (flow.iss.unwrap_or(0), flow.peer_iss);
    let absolute = |number: Number, base: u32| match number {
        Number::Relative(n) => n.wrapping_add(base),
        Number::Absolute(n) => n,
    };
    let seq = absolute(segment.seq, peer_iss);
    flow.window = segment.window.unwrap_or(flow.window);
    let due = Opt::Stamps(Some(now.as_millis() as u32 + 1000), Some(flow.stamp));
    let is_stamp = |option: &Opt| matches!(option, Opt::Stamps(..) | Opt::NoStamps);
    let mut options = segment.options.clone().unwrap_or_default();
    if segment.flags & SYN != 0 {
        flow.stamped[1] = options.iter().any(|o| matches!(o, Opt::Stamps(..)));
    } else if flow.stamped == [true; 2] && !options.iter().any(is_stamp) {
        options.splice(0..0, [Opt::Nop, Opt::Nop, due.clone()]);
    }
    for option in &mut options {
        if let (Opt::Stamps(value, echo), Opt::Stamps(due_value, due_echo)) = (option, &due) {
            *value = value.or(*due_value);
            *echo = echo.or(*due_echo);
        }
    }
    let syn = u32::from(segment.flags & SYN != 0);
    let first = seq.wrapping_add(syn).wrapping_sub(peer_iss).wrapping_sub(1) as usize;
    let junk = if segment.damage.contains(&Damage::Junk) { 0xff } else { 0 };
    let packet = Packet {
        src_port: flow.peer_port,
        dst_port: flow.local_port,
        seq,
        ack: segment.ack.map_or(0, |ack| absolute(ack, iss)),
        flags: segment.flags,
        window: flow.window,
        urgent: segment.urgent,
        ecn: segment.ecn,
        ttl: 64,
        options: packet::write_options(&options, iss),
        payload: (first..first + segment.len).map(|place| peer_byte(place) ^ junk).collect(),
    };
    if packet.options.len() > 40 {
        return Err("more than 40 bytes of options".to_owned());
    }
    let [host, peer] = world.ends;
    world.arrive(&packet.encode(peer, host, &segment.damage))
}

fn take_out(world: &mut World, expected: &Segment) -> Result<(), String> {
    let Some(sent) = world.sent.pop_front() else {
        let next = world.host.poll_timeout();
        let next =
            next.map_or("no deadline".to_owned(), |(at, why)| format!("next {why:?} at {at}"));
        return Err(format!("no packet left at {} ({next})", world.now));
    };
    let came = told(world, &sent);
    if sent.at != world.now {
        return Err(format!("expected at {}\n  came: {came}", world.now));
    }
    let wrong = differences(world, &sent, expected);
    if wrong.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n  came: {came}", wrong.join(", ")))
}

/// Everything in which a packet is not the expected one.
fn differences(world: &mut World, sent: &Sent, expected: &Segment) -> Vec<String> {
    let packet = &sent.packet;
    let mut wrong = Vec::new();
    let mut compare = |name: &str, came: String, wanted: String| {
        if came != wanted {
            wrong.push(format!("{name} is {came}, not {wanted}"));
        }
    };
    let flow = world.flows[sent.flow].clone();
    compare("the port", flow.peer_port.to_string(), world.flow().peer_port.to_string());
    compare("the flags", flag_letters(packet.flags), flag_letters(expected.flags));
    let (seq, base) = match expected.seq {
        Number::Relative(n) => (n, flow.iss.unwrap_or(0)),
        Number::Absolute(n) => (n, 0),
    };
    compare("seq", signed(packet.seq.wrapping_sub(base)), signed(seq));
    compare("the length", packet.payload.len().to_string(), expected.len.to_string());
    match expected.ack {
        Some(Number::Relative(n)) => {
            compare("ack", signed(packet.ack.wrapping_sub(flow.peer_iss)), signed(n));
        }
        Some(Number::Absolute(n)) => compare("ack", packet.ack.to_string(), n.to_string()),
        None => compare("the ACK bit", (packet.flags & ACK).to_string(), "0".to_owned()),
    }
    if let Some(window) = expected.window {
        compare("win", packet.window.to_string(), window.to_string());
    }
    compare("urg", packet.urgent.to_string(), expected.urgent.to_string());
    compare("the ECN field", packet.ecn.to_string(), expected.ecn.to_string());
    compare("the TTL", packet.ttl.to_string(), "64".to_owned());
    let first = packet.seq.wrapping_sub(flow.iss.unwrap_or(0)).wrapping_sub(1) as usize;
    let differs = |at: &usize| packet.payload[*at] != host_byte(first.wrapping_add(*at));
    if let Some(at) = (0..packet.payload.len()).find(differs) {
        wrong.push(format!("byte {at} of the payload is not the one written"));
    }
    wrong.extend(option_differences(&flow, packet, expected));
    wrong
}

fn option_differences(
    flow: &crate::world::Flow,
    packet: &Packet,
    expected: &Segment,
) -> Option<String> {
    let came = packet::read_options(&packet.options, flow.peer_iss).unwrap_or_default();
    let came_stamps = came.iter().find_map(|option| match option {
        Opt::Stamps(value, echo) => Some((*value, *echo)),
        _ => None,
    });
    let is_syn = packet.flags & SYN != 0;
    let Some(wanted) = &expected.options else {
        let rest = came.iter().filter(|option| !matches!(option, Opt::Stamps(..)));
        let stamps_fit =
            came_stamps.is_some() == (flow.stamped == [true; 2]) || packet.flags & packet::RST != 0;
        if is_syn || rest.count() == 0 && stamps_fit {
            return None;
        }
        return Some(format!("the options are {came:?}"));
    };
    let plain = |options: &[Opt]| -> Vec<Opt> {
        let stays = |o: &&Opt| !matches!(o, Opt::Stamps(..) | Opt::NoStamps | Opt::Nop | Opt::End);
        options.iter().filter(stays).cloned().collect()
    };
    let mut stamps_fit = is_syn || came_stamps.is_some() == (flow.stamped == [true; 2]);
    for option in wanted {
        match option {
            Opt::NoStamps => stamps_fit = came_stamps.is_none(),
            Opt::Stamps(value, echo) => {
                stamps_fit = came_stamps.is_some_and(|(v, e)| {
                    (value.is_none() || *value == v) && (echo.is_none() || *echo == e)
                });
            }
            _ => {}
        }
    }
    if is_syn && !wanted.iter().any(|o| matches!(o, Opt::Stamps(..))) {
        stamps_fit = came_stamps.is_none();
    }
    let same = plain(&came) == plain(wanted) && stamps_fit;
    (!same).then(|| format!("the options are {came:?}, not {wanted:?}"))
}

fn signed(n: u32) -> String {
    (n as i32).to_string()
}

fn flag_letters(flags: u8) -> String {
    let set = FLAG_LETTERS.chars().enumerate().filter(|(bit, _)| flags & 1 << bit != 0);
    let letters: String = set.map(|(_, letter)| letter).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

/// A packet in the notation of scripts.
fn told(world: &World, sent: &Sent) -> String {
    let (flow, packet) = (&world.flows[sent.flow], &sent.packet);
    let mut text = format!(
        "{} {}({}) ack {} win {}",
        flag_letters(packet.flags),
        signed(packet.seq.wrapping_sub(flow.iss.unwrap_or(0))),
        packet.payload.len(),
        signed(packet.ack.wrapping_sub(flow.peer_iss)),
        packet.window,
    );
    if packet.ecn != 0 {
        text += [" ect1", " ect0", " ce"][usize::from(packet.ecn - 1)];
    }
    match packet::read_options(&packet.options, flow.peer_iss) {
        Ok(options) if options.is_empty() => {}
        Ok(options) => text += &format!(" {options:?}"),
        Err(wrong) => text += &format!(" <{wrong}>"),
    }
    format!("{text} at {} (flow {})", sent.at, sent.flow)
}

fn segment(flags: u8, seq: u32, ack: Option<u32>) -> Segment {
    Segment {
        flags,
        seq: Number::Relative(seq),
        len: 0,
        ack: ack.map(Number::Relative),
        window: None,
        urgent: 0,
        ecn: 0,
        options: None,
        damage: Vec::new(),
    }
}

/// The host connects, and its peer answers after a round trip.
fn establish(world: &mut World, opening: &Opening) -> Result<(), String> {
    world.connect()?;
    take_out(world, &segment(SYN, 0, None))?;
    world.run_until(world.now + opening.rtt)?;
    no_packet(world)?;
    let mut answer = segment(SYN | ACK, 0, Some(1));
    (answer.window, answer.options) = (Some(opening.window), Some(opening.options.clone()));
    take_in(world, &answer)?;
    take_out(world, &segment(ACK, 1, Some(1)))?;
    world.flow().events.clear();
    Ok(())
}

/// The peer connects, and answers after a round trip.
fn accept(world: &mut World, opening: &Opening) -> Result<(), String> {
    let config = world.config.clone();
    world.host.listen(crate::world::PORT, config);
    let mut syn = segment(SYN, 0, None);
    (syn.window, syn.options) = (Some(opening.window), Some(opening.options.clone()));
    take_in(world, &syn)?;
    take_out(world, &segment(SYN | ACK, 0, Some(1)))?;
    world.run_until(world.now + opening.rtt)?;
    no_packet(world)?;
    take_in(world, &segment(ACK, 1, Some(1)))?;
    no_packet(world)?;
    world.flow().events.clear();
    Ok(())
}
