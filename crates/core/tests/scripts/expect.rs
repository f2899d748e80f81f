//! The figures a script may expect of the connection and of the host.

use crate::parser::duration;
use crate::world::World;
use trunkline_core::tcp::Connection;
use trunkline_core::work::DropReason;

/// Compares one figure with the value written.
pub fn check(world: &mut World, what: &str, value: &str) -> Result<(), String> {
    let came = match what {
        "dropped" => return check_dropped(world, value),
        "frames" => world.host.held_frames().to_string(),
        "timer" => return check_timer(world, value),
        "forgotten" => world.connection().is_err().to_string(),
        _ => figure(world.connection()?, what, value).ok_or(format!("`{what}` is no figure"))?,
    };
    if came == value { Ok(()) } else { Err(format!("{what} is {came}, not {value}")) }
}

/// `dropped REASON N`.
fn check_dropped(world: &World, value: &str) -> Result<(), String> {
    let (name, count) = value.split_once(' ').ok_or("write `dropped REASON N`")?;
    let reason = DropReason::ALL.into_iter().find(|reason| reason.name() == name);
    let came = world.cx.work.dropped(reason.ok_or(format!("`{name}` is no reason"))?);
    if came.to_string() == count { Ok(()) } else { Err(format!("{came} were dropped")) }
}

/// `timer none`, or the name of the next deadline and how far it is.
fn check_timer(world: &World, value: &str) -> Result<(), String> {
    let next = world.connection()?.poll_timeout();
    let came = next.map_or("none".to_owned(), |(at, reason)| {
        format!("{} {}", format!("{reason:?}").to_lowercase(), at - world.now)
    });
    if came == value { Ok(()) } else { Err(format!("the next timer is {came}")) }
}

/// A size, in the unit it was asked in: bytes, or `mss` behind the number.
fn size(bytes: u32, mss: u32, value: &str) -> String {
    match bytes {
        u32::MAX => "none".to_owned(),
        _ if value.ends_with("mss") && bytes.is_multiple_of(mss) => format!("{}mss", bytes / mss),
        _ => bytes.to_string(),
    }
}

/// A time in the form it was asked for when it is the same.
fn time(came: trunkline_core::time::Duration, value: &str) -> String {
    match duration(value) {
        Ok(wanted) if wanted == came => value.to_owned(),
        _ => came.to_string(),
    }
}

fn figure(connection: &Connection, what: &str, value: &str) -> Option<String> {
    let (snapshot, stats) = (connection.snapshot(), connection.stats());
    let mss = snapshot.mss;
    Some(match what {
        "state" => state_name(connection),
        "cwnd" => size(snapshot.cwnd, mss, value),
        "ssthresh" => size(snapshot.ssthresh, mss, value),
        "flight" => size(snapshot.flight, mss, value),
        "snd_wnd" => snapshot.snd_wnd.to_string(),
        "rcv_wnd" => snapshot.rcv_wnd.to_string(),
        "mss" => mss.to_string(),
        "srtt" => snapshot.srtt.map_or("none".to_owned(), |srtt| time(srtt, value)),
        "rttvar" => time(snapshot.rttvar, value),
        "rto" => time(snapshot.rto, value),
        "phase" => format!("{:?}", snapshot.phase).to_lowercase(),
        "readable" => connection.readable().to_string(),
        "send_space" => connection.send_space().to_string(),
        "unsent" => connection.unsent().to_string(),
        "queued" => connection.queued().to_string(),
        "held" => connection.held_frames().to_string(),
        "retransmissions" => stats.retransmissions.to_string(),
        "timeouts" => stats.timeouts.to_string(),
        "fast_recoveries" => stats.fast_recoveries.to_string(),
        "undos" => stats.undos.to_string(),
        "dup_acks" => stats.dup_acks.to_string(),
        "probes" => stats.probes.to_string(),
        "challenge_acks" => stats.challenge_acks.to_string(),
        "paws_drops" => stats.paws_drops.to_string(),
        "out_of_order" => stats.out_of_order.to_string(),
        "bytes_acked" => stats.bytes_acked.to_string(),
        "bytes_received" => stats.bytes_received.to_string(),
        "rtt_samples" => stats.rtt_samples.to_string(),
        "segments_sent" => stats.segments_sent.to_string(),
        _ => return None,
    })
}

/// The state in the letters of RFC 9293.
fn state_name(connection: &Connection) -> String {
    let mut name = String::new();
    for letter in format!("{:?}", connection.state()).chars() {
        if !name.is_empty() && (letter.is_uppercase() || letter.is_ascii_digit()) {
            name.push('-');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}
