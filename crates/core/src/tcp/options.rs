//! Which options are offered, agreed on and sent (RFC 9293 3.2, RFC 7323, RFC 2018).

use super::config::{Config, Recovery};
use crate::seq::SeqNumber;
use crate::time::{Duration, Instant};
use crate::wire::tcp::{Options, Timestamps};

/// Shift counts above this are treated as this (RFC 7323, 2.3).
pub const WINDOW_SHIFT_MAX: u8 = 14;

/// Payload of a full segment to a peer that told no MSS (RFC 9293, 3.7.1).
pub const MSS_DEFAULT: u32 = 536;

/// The same over IPv6.
pub const MSS_DEFAULT_V6: u32 = 1220;

/// The least MSS that a peer is believed; one that tells less is sent this. A peer that tells a byte or two
/// would have every byte paid for with a whole packet. Linux's `tcp_min_snd_mss`: 40 bytes of options and 8
/// of payload.
pub const MSS_MIN: u32 = 48;

/// Bytes the timestamps take in every segment, padding included.
pub(super) const TIMESTAMPS_LEN: u32 = 12;

/// TS.Recent is void after an idle time of 24 days (RFC 7323, 5.5).
const TS_RECENT_LIFE: Duration = Duration::from_secs(24 * 24 * 3600);

/// How losses of this connection are repaired, now that the peer has said what it takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Repair {
    TimeoutOnly,
    Reno,
    NewReno,
    Sack,
    Rack,
}

impl Repair {
    /// Whether SACK is offered and believed.
    pub fn uses_sack(self) -> bool {
        matches!(self, Repair::Sack | Repair::Rack)
    }
}

/// What both ends agreed on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Agreed {
    pub timestamps: bool,
    scaling: bool,
    pub repair: Repair,
    /// Shift of windows received.
    pub snd_shift: u8,
    /// Shift of windows sent.
    pub rcv_shift: u8,
    /// What a peer that tells no MSS takes.
    pub mss_untold: u32,
    /// Largest payload with no options at all.
    pub mss_bare: u32,
    /// Payload of a full segment.
    pub mss: u32,
    ts_recent: u32,
    ts_recent_at: Instant,
}

/// The shift that lets the whole receive buffer be offered.
pub(super) fn shift_for(receive_buffer: u32) -> u8 {
    (0..WINDOW_SHIFT_MAX)
        .find(|shift| receive_buffer >> shift <= u32::from(u16::MAX))
        .unwrap_or(WINDOW_SHIFT_MAX)
}

/// The payload a segment may carry by our own configuration, options aside.
pub(super) fn own_mss(config: &Config) -> u32 {
    let by_mtu = u32::from(config.mtu.saturating_sub(config.header_allowance));
    config.mss.map_or(by_mtu, |mss| by_mtu.min(u32::from(mss))).max(1)
}

impl Agreed {
    /// What holds before the peer has spoken.
    pub fn before(config: &Config) -> Self {
        Agreed {
            timestamps: config.timestamps,
            scaling: config.window_scale,
            repair: match config.recovery {
                Recovery::TimeoutOnly => Repair::TimeoutOnly,
                Recovery::Reno => Repair::Reno,
                Recovery::NewReno => Repair::NewReno,
                Recovery::Sack => Repair::Sack,
                Recovery::Rack => Repair::Rack,
            },
            snd_shift: 0,
            rcv_shift: match config.window_scale {
                true => shift_for(config.receive_buffer),
                false => 0,
            },
            mss_untold: MSS_DEFAULT,
            mss_bare: own_mss(config),
            mss: own_mss(config),
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
        }
    }

    /// Settles on what both the configuration and the peer's SYN have.
    pub fn settle(&mut self, now: Instant, config: &Config, peer: &Options) {
        match (config.window_scale, peer.window_scale) {
            (true, Some(shift)) => self.snd_shift = shift.min(WINDOW_SHIFT_MAX),
            _ => (self.scaling, self.snd_shift, self.rcv_shift) = (false, 0, 0),
        }
        if self.repair.uses_sack() && !peer.sack_permitted {
            self.repair = Repair::NewReno;
        }
        self.timestamps = config.timestamps && peer.timestamps.is_some();
        if let (true, Some(stamps)) = (self.timestamps, peer.timestamps) {
            self.remember(now, stamps.value);
        }
        let told = peer.mss.map_or(self.mss_untold, u32::from).max(MSS_MIN);
        self.mss_bare = own_mss(config).min(told);
        let stamps = if self.timestamps { TIMESTAMPS_LEN } else { 0 };
        self.mss = self.mss_bare.saturating_sub(stamps).max(1);
    }

    /// The options of our SYN or SYN-ACK.
    pub fn for_syn(&self, now: Instant, config: &Config) -> Options {
        Options {
            mss: Some(own_mss(config).min(u32::from(u16::MAX)) as u16),
            window_scale: self.scaling.then_some(self.rcv_shift),
            sack_permitted: self.repair.uses_sack(),
            timestamps: self.stamps(now),
            ..Options::default()
        }
    }

    /// The timestamps of a segment sent now.
    pub fn stamps(&self, now: Instant) -> Option<Timestamps> {
        self.timestamps.then(|| Timestamps { value: stamp(now), echo: self.ts_recent })
    }

    /// Whether a segment's timestamp is older than what was seen (RFC 7323, 5.3).
    pub fn is_old(&self, now: Instant, value: u32) -> bool {
        SeqNumber(value).lt(SeqNumber(self.ts_recent)) && now - self.ts_recent_at < TS_RECENT_LIFE
    }

    /// TS.Recent: the newest timestamp of the peer's in order.
    pub fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// TS.Recent becomes `value`.
    pub fn remember(&mut self, now: Instant, value: u32) {
        self.ts_recent = value;
        self.ts_recent_at = now;
    }
}

/// The timestamp clock: milliseconds, never 0 at the origin so that an echo of 0 means none.
pub(crate) fn stamp(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::config::Profile;

    #[test]
    fn tcp_3_a_shift_of_15_is_treated_as_14() {
        let config = Config::new(Profile::Modern, 1500);
        let mut agreed = Agreed::before(&config);
        let peer = Options { window_scale: Some(15), ..Options::default() };
        agreed.settle(Instant::ZERO, &config, &peer);
        assert_eq!(agreed.snd_shift, 14);
    }

    #[test]
    fn what_one_end_lacks_is_not_used() {
        let config = Config::new(Profile::Modern, 1500);
        let mut agreed = Agreed::before(&config);
        assert_eq!(agreed.rcv_shift, 7);
        agreed.settle(Instant::ZERO, &config, &Options::default());
        assert_eq!((agreed.snd_shift, agreed.rcv_shift), (0, 0));
        assert_eq!(agreed.repair, Repair::NewReno);
        assert!(!agreed.timestamps);
        assert_eq!(agreed.mss, 536);
    }

    #[test]
    fn timestamps_shrink_the_payload() {
        let config = Config::new(Profile::Modern, 1500);
        let mut agreed = Agreed::before(&config);
        let mine = agreed.for_syn(Instant::ZERO, &config);
        assert_eq!(mine.mss, Some(1460));
        agreed.settle(Instant::ZERO, &config, &mine);
        assert_eq!((agreed.mss_bare, agreed.mss), (1460, 1448));
    }
}
