//! `tcp = { … }` of a flow: a profile, and single features changed from it.

use super::cc;
use crate::diagnostic::Problems;
use crate::model::App;
use crate::reader::{self, Section, Taken, Unfit};
use crate::source::Place;
use crate::tree::{Node, Table};
use trunkline_core::tcp::MSS_MIN;
use trunkline_core::tcp::config::{
    AfterTimeout, Algorithm, Config, EcnMode, EctOnSyn, Keepalive, PmtuProbing, Profile, Recovery,
};

const PMTU_PROBINGS: [(&str, PmtuProbing); 3] =
    [("off", PmtuProbing::Off), ("blackhole", PmtuProbing::Blackhole), ("on", PmtuProbing::On)];
const ALGORITHMS_LATER: [&str; 3] = ["dctcp-reno", "bbr", "prague"];

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
    tcp.nagle &= !matches!(app, Some(App::Requests(_) | App::Web(_)));
    tcp.algorithm = s.or(problems, "cc", tcp.algorithm, algorithm);
    cc::tuning(&mut tcp.tuning, &mut s, problems);
    ecn(&mut tcp, &mut s, problems);
    recovery(&mut tcp, &mut s, problems);
    tcp.mss = s.opt(problems, "mss", reader::whole(MSS_MIN.into(), 65_495)).or(tcp.mss);
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
    timers(&mut tcp, &mut s, problems);
    tcp.pacing = s.or(problems, "pacing", tcp.pacing, reader::flag);
    tcp.keepalive = keepalive(&mut s, problems);
    let probing = pmtu_probing(tcp.after_timeout);
    tcp.pmtu_probing = s.or(problems, "pmtu_probing", tcp.pmtu_probing, probing);
    tcp.backlog = s.or(problems, "backlog", tcp.backlog, reader::whole(1, 65_535));
    tcp.syn_cookies = s.or(problems, "syn_cookies", tcp.syn_cookies, reader::flag);
    s.finish(problems);
    tcp
}

fn recovery(tcp: &mut Config, s: &mut Section<'_>, problems: &mut Problems) {
    let recoveries = Recovery::ALL.map(|recovery| (recovery.name(), recovery));
    tcp.recovery = s.or(problems, "recovery", tcp.recovery, reader::choice(&recoveries, &[]));
    let sack = tcp.recovery.uses_sack();
    let switches: [(&str, &mut bool); 4] = [
        ("tlp", &mut tcp.tlp),
        ("prr", &mut tcp.prr),
        ("frto", &mut tcp.frto),
        ("dsack", &mut tcp.dsack),
    ];
    for (key, switch) in switches {
        *switch = s.or(problems, key, *switch && sack, needing_sack(sack));
    }
    tcp.limited_transmit = s.or(problems, "limited_transmit", tcp.limited_transmit, reader::flag);
}

/// ECN, and where in a network's queues the packets wait.
fn ecn(tcp: &mut Config, s: &mut Section<'_>, problems: &mut Problems) {
    let modes = EcnMode::ALL.map(|mode| (mode.name(), mode));
    tcp.ecn = s.or(problems, "ecn", tcp.ecn, reader::choice(&modes, &[]));
    tcp.ect_on_syn = match s.opt(problems, "ect_on_syn", reader::flag) {
        Some(true) => EctOnSyn::Capable,
        Some(false) => EctOnSyn::NotCapable,
        None => tcp.ect_on_syn,
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

/// What is sent again as a list of old packets cannot change its size.
fn pmtu_probing(after_timeout: AfterTimeout) -> impl Fn(&Node) -> Taken<PmtuProbing> {
    move |node| match reader::choice(&PMTU_PROBINGS, &[])(node)? {
        PmtuProbing::Off => Ok(PmtuProbing::Off),
        _ if after_timeout == AfterTimeout::ResendListByCwnd => {
            Err(Unfit::new("does not go with this profile", "\"off\""))
        }
        probing => Ok(probing),
    }
}

fn keepalive(s: &mut Section<'_>, problems: &mut Problems) -> Option<Keepalive> {
    let mut s = s.section(problems, "keepalive")?;
    let default = Keepalive::default();
    let keepalive = Keepalive {
        idle: s.or(problems, "idle", default.idle, reader::some_time),
        interval: s.or(problems, "interval", default.interval, reader::some_time),
        count: s.or(problems, "count", default.count, reader::whole(1, 255)),
    };
    s.finish(problems);
    Some(keepalive)
}

fn profile(node: &Node) -> Taken<Profile> {
    let list = Profile::ALL.map(|p| (p.name(), p));
    reader::choice(&list, &[])(node)
}

fn algorithm(node: &Node) -> Taken<Algorithm> {
    let list = Algorithm::ALL.map(|a| (a.name(), a));
    reader::choice(&list, &ALGORITHMS_LATER)(node)
}

fn needing_sack(sack: bool) -> impl Fn(&Node) -> Taken<bool> {
    move |node| match reader::flag(node)? {
        true if !sack => Err(Unfit::new("needs SACK", "recovery = \"rack\" or \"sack\"")),
        value => Ok(value),
    }
}

fn eifel(timestamps: bool) -> impl Fn(&Node) -> Taken<bool> {
    move |node| match reader::flag(node)? {
        true if !timestamps => Err(Unfit::new("needs timestamps", "timestamps = true")),
        value => Ok(value),
    }
}
