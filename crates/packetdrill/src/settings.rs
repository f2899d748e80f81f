//! What the library is told in packetdrill's `--so_flags`: `local=192.168.0.1,mtu=1500,cc=reno,sack=off`.
//!
//! Scripts set such things with `sysctl` and `ip`, which reach the kernel only. The defaults are those that scripts
//! for Linux expect: an initial window of 10, CUBIC, and a window of 65535 with a scale of 8.

use std::net::{IpAddr, Ipv4Addr};
use trunkline_core::tcp::config::Recovery;
use trunkline_core::tcp::{Config, Profile};
use trunkline_core::time::Duration;

/// Everything that can be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The address of this side; packetdrill's `--local_ip`.
    pub local: IpAddr,
    /// Every connection starts from it.
    pub config: Config,
}

/// The receive buffer that gives a window scale of 8, as scripts for Linux expect (65535 << 7 is less).
const RECEIVE_BUFFER_BYTES: u32 = 65_535 << 8;

impl Default for Settings {
    fn default() -> Self {
        let config = Config {
            algorithm: trunkline_core::cc::Algorithm::Cubic,
            receive_buffer: RECEIVE_BUFFER_BYTES,
            ..Config::new(Profile::Modern, 1500)
        };
        Settings { local: Ipv4Addr::new(192, 168, 0, 1).into(), config }
    }
}

impl Settings {
    /// Reads settings separated by commas or blanks.
    ///
    /// # Errors
    /// The first one that is not understood.
    pub fn parse(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::default();
        for word in text.split([',', ' ']).filter(|word| !word.is_empty()) {
            let known = word.split_once('=').and_then(|(key, value)| settings.set(key, value));
            known.ok_or_else(|| word.to_owned())?;
        }
        Ok(settings)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let config = &mut self.config;
        match key {
            "local" => self.local = value.parse().ok()?,
            "mtu" => config.mtu = value.parse().ok().filter(|mtu| *mtu >= 68)?,
            "cc" => config.algorithm = algorithm(value)?,
            "sack" => {
                config.recovery = if on(value)? { Recovery::Sack } else { Recovery::NewReno };
            }
            "timestamps" => config.timestamps = on(value)?,
            "window_scale" => config.window_scale = on(value)?,
            "nagle" => config.nagle = on(value)?,
            "initial_window" => config.initial_window = value.parse().ok().filter(|n| *n > 0)?,
            "receive_buffer" => config.receive_buffer = value.parse().ok()?,
            "send_buffer" => config.send_buffer = value.parse().ok()?,
            "rto_min_ms" => config.rto_min = Duration::from_millis(value.parse().ok()?),
            "delayed_ack_ms" => config.delayed_ack = Duration::from_millis(value.parse().ok()?),
            "quick_acks" => config.quick_acks = value.parse().ok()?,
            _ => return None,
        }
        Some(())
    }
}

/// An algorithm by its name.
pub(crate) fn algorithm(name: &str) -> Option<trunkline_core::cc::Algorithm> {
    trunkline_core::cc::Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}

fn on(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused_by_name() {
        let settings =
            Settings::parse("local=10.0.0.1,mtu=1400 cc=reno,sack=off,nagle=on").unwrap();
        assert_eq!(settings.local, Ipv4Addr::new(10, 0, 0, 1));
        assert_eq!(Settings::parse("local=fd3d::1").map(|s| s.local.is_ipv6()), Ok(true));
        assert_eq!((settings.config.mtu, settings.config.recovery), (1400, Recovery::NewReno));
        assert_eq!(Settings::parse(""), Ok(Settings::default()));
        for wrong in ["cc=bbr", "mtu=1", "sack", "sack=yes", "colour=red", "local=::g", "=", "mtu="]
        {
            assert_eq!(Settings::parse(wrong), Err(wrong.to_owned()));
        }
    }
}
