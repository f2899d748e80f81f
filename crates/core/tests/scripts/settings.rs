//! The keys of `config`: fields of the connection's configuration by their names.

use crate::parser::duration;
use trunkline_core::tcp::config::{
    Algorithm, Config, EcnMode, EctOnSyn, Keepalive, Profile, Recovery,
};

fn number<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("`{value}` is no number that fits here"))
}

fn on_off(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("`{value}`: expected on or off")),
    }
}

fn named<T: Copy>(value: &str, all: &[T], name: impl Fn(T) -> &'static str) -> Result<T, String> {
    let found = all.iter().copied().find(|one| name(*one) == value);
    found.ok_or_else(|| {
        format!(
            "`{value}` is none of {}",
            all.iter().map(|o| name(*o)).collect::<Vec<_>>().join(", ")
        )
    })
}

fn keepalive(value: &str) -> Result<Keepalive, String> {
    if value == "default" {
        return Ok(Keepalive::default());
    }
    let parts: Vec<_> = value.split(',').collect();
    let [idle, interval, count] = parts[..] else {
        return Err(format!("`{value}`: expected default or IDLE,INTERVAL,COUNT"));
    };
    Ok(Keepalive { idle: duration(idle)?, interval: duration(interval)?, count: number(count)? })
}

/// Changes one field.
pub fn set(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    match key {
        // Starts anew: it comes first.
        "profile" => {
            let profile = named(value, &Profile::ALL, Profile::name)?;
            *config = Config::new(profile, config.mtu);
        }
        "mtu" => config.mtu = number(value)?,
        "cc" => config.algorithm = named(value, &Algorithm::ALL, Algorithm::name)?,
        "mss" => config.mss = Some(number(value)?),
        "receive_buffer" => config.receive_buffer = number(value)?,
        "send_buffer" => config.send_buffer = number(value)?,
        "initial_window" => config.initial_window = number(value)?,
        "initial_ssthresh" => config.initial_ssthresh = Some(number(value)?),
        "idle_restart" => config.idle_restart = on_off(value)?,
        "window_scale" => config.window_scale = on_off(value)?,
        "timestamps" => config.timestamps = on_off(value)?,
        "recovery" => config.recovery = named(value, &Recovery::ALL, Recovery::name)?,
        "dup_ack_threshold" => config.dup_ack_threshold = number(value)?,
        "tlp" => config.tlp = on_off(value)?,
        "prr" => config.prr = on_off(value)?,
        "frto" => config.frto = on_off(value)?,
        "dsack" => config.dsack = on_off(value)?,
        "limited_transmit" => config.limited_transmit = on_off(value)?,
        // After how long, how long between two, how many.
        "keepalive" => config.keepalive = Some(keepalive(value)?),
        "pacing" => config.pacing = on_off(value)?,
        "backlog" => config.backlog = number(value)?,
        "syn_cookies" => config.syn_cookies = on_off(value)?,
        "eifel" => config.eifel = on_off(value)?,
        "abe" => config.tuning.abe = on_off(value)?,
        "ecn" => config.ecn = named(value, &EcnMode::ALL, EcnMode::name)?,
        "ect_on_syn" => {
            let name = |mode| match mode {
                EctOnSyn::WithAlgorithm => "with-algorithm",
                EctOnSyn::Capable => "capable",
                EctOnSyn::NotCapable => "not-capable",
            };
            let all = [EctOnSyn::WithAlgorithm, EctOnSyn::Capable, EctOnSyn::NotCapable];
            config.ect_on_syn = named(value, &all, name)?;
        }
        "nagle" => config.nagle = on_off(value)?,
        "ack_every" => config.ack_every = number(value)?,
        "delayed_ack" => config.delayed_ack = duration(value)?,
        "quick_acks" => config.quick_acks = number(value)?,
        "rto_initial" => config.rto_initial = duration(value)?,
        "rto_min" => config.rto_min = duration(value)?,
        "rto_max" => config.rto_max = duration(value)?,
        "retries" => config.retries = number(value)?,
        "syn_retries" => config.syn_retries = number(value)?,
        "time_wait" => config.time_wait = duration(value)?,
        _ => return Err(format!("`{key}` is no setting")),
    }
    Ok(())
}
