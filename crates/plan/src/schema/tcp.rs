//! `tcp = { … }` of a flow: a profile, and single features changed from it.

use super::cc;
use crate::diagnostic::Problems;
use crate::model::App;
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::{Node, Table};
use trunkline_core::tcp::config::{Algorithm, Config, EcnMode, EcnSyn, Profile, Recovery};

const RECOVERIES: [(&str, Recovery); 3] =
    [("timeout", Recovery::TimeoutOnly), ("newreno", Recovery::NewReno), ("sack", Recovery::Sack)];
const ECN_MODES: [(&str, EcnMode); 3] =
    [("off", EcnMode::Off), ("on-request", EcnMode::OnRequest), ("on", EcnMode::Request)];
const ALGORITHMS_LATER: [&str; 3] = ["dctcp-reno", "bbr", "prague"];
const PROFILES_LATER: [&str; 4] = ["bsd-4.3", "linux-2.2", "linux-2.4", "linux-3.18"];
const LATER: [&str; 2] = ["pacing", "keepalive"];

/// Buffers and windows in bytes: the largest a scaled window can tell (RFC 7323).
const WINDOW_MAX: u64 = 1 << 30;

/// The transport of a flow over a bond of this MTU.
pub(super) fn tcp(
    section: Option<Section<'_>>,
    mtu: u16,
    app: Option<&App>,
    problems: &mut Problems,
) -> Config {
    let empty = Table::default();
    let mut s = section.unwrap_or_else(|| Section::new(&empty, Place::default(), "tcp"));
    let profile = s.or(problems, "profile", Profile::Modern, profile);
    let mut tcp = Config::new(profile, mtu);
    // A program that answers sends the end of its answer at once, as with TCP_NODELAY.
    tcp.nagle &= !matches!(app, Some(App::Requests(_)));
    tcp.algorithm = s.or(problems, "cc", tcp.algorithm, algorithm);
    cc::tuning(&mut tcp.tuning, &mut s, problems);
    tcp.recovery = s.or(problems, "recovery", tcp.recovery, reader::choice(&RECOVERIES, &[]));
    tcp.mss = s.opt(problems, "mss", reader::whole(1, 65_495)).or(tcp.mss);
    buffers(&mut tcp, &mut s, problems);
    tcp.dup_ack_threshold =
        s.or(problems, "dup_ack_threshold", tcp.dup_ack_threshold, reader::whole(1, 255));
    tcp.window_scale = s.or(problems, "window_scale", tcp.window_scale, reader::flag);
    tcp.timestamps = s.or(problems, "timestamps", tcp.timestamps, reader::flag);
    tcp.eifel = s.or(problems, "eifel", tcp.eifel && tcp.timestamps, eifel(tcp.timestamps));
    tcp.nagle = s.or(problems, "nagle", tcp.nagle, reader::flag);
    tcp.idle_restart = s.or(problems, "idle_restart", tcp.idle_restart, reader::flag);
    tcp.header_prediction =
        s.or(problems, "header_prediction", tcp.header_prediction, reader::flag);
    ecn(&mut tcp, &mut s, problems);
    timers(&mut tcp, &mut s, problems);
    s.later(&LATER);
    s.finish(problems);
    tcp
}

/// ECN, and where in a network's queues the packets wait.
fn ecn(tcp: &mut Config, s: &mut Section<'_>, problems: &mut Problems) {
    tcp.ecn = s.or(problems, "ecn", tcp.ecn, reader::choice(&ECN_MODES, &[]));
    tcp.ecn_syn = match s.opt(problems, "ect_on_syn", reader::flag) {
        Some(true) => EcnSyn::Capable,
        Some(false) => EcnSyn::NotCapable,
        None => tcp.ecn_syn,
    };
    tcp.dscp = s.or(problems, "dscp", tcp.dscp, reader::whole(0, 63));
}

fn buffers(tcp: &mut Config, s: &mut Section<'_>, problems: &mut Problems) {
    let allowance = tcp.header_allowance;
    tcp.header_allowance = s.or(problems, "header_allowance", allowance, reader::whole(40, 67));
    tcp.receive_buffer =
        s.or(problems, "receive_buffer", tcp.receive_buffer, reader::size(256, WINDOW_MAX));
    tcp.send_buffer = s.or(problems, "send_buffer", tcp.send_buffer, reader::size(256, WINDOW_MAX));
    tcp.initial_window =
        s.or(problems, "initial_window", tcp.initial_window, reader::whole(1, 1024));
    let ssthresh = s.opt(problems, "initial_ssthresh", reader::whole(0, 1 << 20));
    tcp.initial_ssthresh = ssthresh.or(tcp.initial_ssthresh);
    tcp.cwnd_max = s.or(problems, "cwnd_max", tcp.cwnd_max, reader::whole(1, 1 << 30));
}

fn timers(tcp: &mut Config, s: &mut Section<'_>, problems: &mut Problems) {
    tcp.ack_every = s.or(problems, "delayed_ack", tcp.ack_every, reader::whole(1, 255));
    tcp.quick_acks = s.or(problems, "quick_acks", tcp.quick_acks, reader::whole(0, 255));
    tcp.rto_initial = s.or(problems, "rto_initial", tcp.rto_initial, reader::some_time);
    tcp.rto_min = s.or(problems, "rto_min", tcp.rto_min, reader::some_time);
    // An acknowledgment held back for longer than the peer waits would make it send again for nothing.
    let ack_delay = tcp.delayed_ack.min(tcp.rto_min / 2);
    tcp.delayed_ack = s.or(problems, "ack_delay", ack_delay, reader::duration);
    let min = tcp.rto_min;
    tcp.rto_max = s.or(problems, "rto_max", tcp.rto_max, |node| match reader::some_time(node)? {
        max if max < min => Err(Unfit::new("is below rto_min", format!("at least {min}"))),
        max => Ok(max),
    });
    tcp.retries = s.or(problems, "retries", tcp.retries, reader::whole(1, 255));
    tcp.time_wait = s.or(problems, "time_wait", tcp.time_wait, reader::duration);
}

fn profile(node: &Node) -> Taken<Profile> {
    let list = Profile::ALL.map(|p| (p.name(), p));
    reader::choice(&list, &PROFILES_LATER)(node)
}

fn algorithm(node: &Node) -> Taken<Algorithm> {
    let list = Algorithm::ALL.map(|a| (a.name(), a));
    reader::choice(&list, &ALGORITHMS_LATER)(node)
}

fn eifel(timestamps: bool) -> impl Fn(&Node) -> Taken<bool> {
    move |node| match reader::flag(node)? {
        true if !timestamps => Err(Unfit::new("needs timestamps", "timestamps = true")),
        value => Ok(value),
    }
}
