//! The keys of `config`: fields of the connection's configuration by their names.

use crate::parser::duration;
use trunkline_core::tcp::config::{
    Algorithm, Config, EcnMode, EcnSyn, Keepalive, Profile, Recovery,
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
        "recovery" => {
            let name = |recovery| match recovery {
                Recovery::TimeoutOnly => "timeout-only",
                Recovery::Reno => "reno",
                Recovery::NewReno => "newreno",
                Recovery::Sack => "sack",
                Recovery::Rack => "rack",
            };
            let all = [
                Recovery::TimeoutOnly,
                Recovery::Reno,
                Recovery::NewReno,
                Recovery::Sack,
                Recovery::Rack,
            ];
            config.recovery = named(value, &all, name)?;
        }
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
        "ecn" => {
            let name = |mode| match mode {
                EcnMode::Off => "off",
                EcnMode::OnRequest => "on-request",
                EcnMode::Request => "request",
            };
            let all = [EcnMode::Off, EcnMode::OnRequest, EcnMode::Request];
            config.ecn = named(value, &all, name)?;
        }
        "ecn_syn" => {
            let name = |mode| match mode {
                EcnSyn::WithAlgorithm => "with-algorithm",
                EcnSyn::Capable => "capable",
                EcnSyn::NotCapable => "not-capable",
            };
            let all = [EcnSyn::WithAlgorithm, EcnSyn::Capable, EcnSyn::NotCapable];
            config.ecn_syn = named(value, &all, name)?;
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
