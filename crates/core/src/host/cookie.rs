//! SYN cookies (Bernstein, 1996; RFC 4987, 3.6): a listener that has no room for another half-open
//! connection keeps nothing of a SYN, and reads what it has to know from the acknowledgment of its
//! answer.
//!
//! The first sequence number of the answer is the cookie: five bits of a clock of 64 s, three bits of a
//! table of segment sizes, and 24 bits of a keyed hash over the ends, the peer's first sequence number, the
//! clock and the size. Where both ends have timestamps, the lowest six bits of ours say what else the SYN
//! offered: four of the window scale, one of SACK, one of ECN. Without timestamps nothing else is agreed.

use super::siphash::{ENDS_LEN, ends, siphash};
use crate::rng::Rng;
use crate::seq::SeqNumber;
use crate::tcp::config::{Config, EcnMode, Recovery};
use crate::tcp::{self, Segment, Tuple};
use crate::time::{Duration, Instant};
use crate::wire::ipv4::Ecn;
use crate::wire::tcp::{Flags, Options, Repr, Timestamps};
use std::net::SocketAddr;

/// A step of the cookies' clock.
const PERIOD: Duration = Duration::from_secs(64);
/// How long a cookie is good at most: the step it was made in and the next.
pub(super) const LIFE: Duration = Duration::from_secs(128);

/// Segment sizes that can be told, in bytes; the largest that the peer takes is. The least is what any
/// peer is believed to take, then the default, and what Ethernet leaves behind various tunnels.
const SIZES: [u16; 8] = [tcp::MSS_MIN as u16, 536, 1220, 1360, 1400, 1440, 1460, 8960];

const HASH_BITS: u32 = 24;
const STAMP_BITS: u32 = 6;
const STAMP_MASK: u32 = (1 << STAMP_BITS) - 1;
const NO_SCALE: u32 = 15;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;

/// What cookies are made and proven with.
pub(super) struct Jar {
    key: [u64; 2],
}

/// How a SYN is answered with a cookie: the configuration with what the cookie can carry, and the time
/// that makes its timestamp.
pub(super) struct Answer {
    pub config: Config,
    pub stamped_at: Instant,
}

impl Jar {
    /// The key comes from `rng` and never leaves.
    pub fn new(rng: &Rng) -> Self {
        let mut rng = rng.fork("syn-cookies");
        Jar { key: [rng.next_u64(), rng.next_u64()] }
    }

    /// The cookie for a SYN.
    pub fn cookie(&self, now: Instant, tuple: &Tuple, syn: &Segment) -> SeqNumber {
        let told = syn.repr.options.mss.unwrap_or(default_size(tuple));
        let size = SIZES.iter().rposition(|size| *size <= told).unwrap_or(0);
        self.seal(period(now), size as u32, tuple, syn.repr.seq)
    }

    fn seal(&self, period: u64, size: u32, tuple: &Tuple, irs: SeqNumber) -> SeqNumber {
        let mut bytes = [0; ENDS_LEN + 16];
        bytes[..ENDS_LEN].copy_from_slice(&ends(tuple));
        bytes[36..40].copy_from_slice(&irs.0.to_be_bytes());
        bytes[40..48].copy_from_slice(&period.to_be_bytes());
        bytes[48..52].copy_from_slice(&size.to_be_bytes());
        let hash = siphash(self.key, &bytes) as u32 >> (u32::BITS - HASH_BITS);
        let lead = (period as u32 & 31) << 3 | size;
        SeqNumber(lead << HASH_BITS | hash)
    }

    /// The SYN that a segment proves to follow, as far as its cookie tells; none when it proves nothing.
    pub fn open(
        &self,
        now: Instant,
        tuple: &Tuple,
        config: &Config,
        segment: &Segment,
    ) -> Option<Segment> {
        let (cookie, irs) = (segment.repr.ack - 1, segment.repr.seq - 1);
        let size = cookie.0 >> HASH_BITS & 7;
        let this = period(now);
        let is_ours = |period| self.seal(period, size, tuple, irs) == cookie;
        if !is_ours(this) && !this.checked_sub(1).is_some_and(is_ours) {
            return None;
        }
        let stamps = segment.repr.options.timestamps.filter(|_| config.timestamps);
        let carried = stamps.map_or(NO_SCALE, |stamps| stamps.echo & STAMP_MASK);
        let scale = (carried & 15) as u8;
        let asks_ecn = if carried & ECN != 0 { Flags::ECE | Flags::CWR } else { Flags::NONE };
        let repr = Repr {
            seq: irs,
            ack: SeqNumber(0),
            flags: Flags::SYN | asks_ecn,
            options: Options {
                mss: Some(SIZES[size as usize]),
                window_scale: (u32::from(scale) != NO_SCALE).then_some(scale),
                sack_permitted: carried & SACK != 0,
                timestamps: stamps.map(|stamps| Timestamps { value: stamps.value, echo: 0 }),
                ..Options::default()
            },
            ..segment.repr
        };
        Some(Segment { repr, ecn: Ecn::NotEct, payload_offset: 0, payload_len: 0 })
    }
}

/// How to answer a SYN so that the cookie carries all that is agreed on.
pub(super) fn answer(now: Instant, config: &Config, syn: &Segment) -> Answer {
    let options = &syn.repr.options;
    // The stamp is set back by less than this, which the first moments of the time line cannot do.
    let can_set_back = now.as_millis() > u64::from(STAMP_MASK);
    if !config.timestamps || options.timestamps.is_none() || !can_set_back {
        return Answer { config: unstamped(config), stamped_at: now };
    }
    let scale = options.window_scale.map_or(NO_SCALE, |n| u32::from(n.min(tcp::WINDOW_SHIFT_MAX)));
    let sack = if options.sack_permitted { SACK } else { 0 };
    let ecn = if syn.repr.flags.contains(Flags::ECE | Flags::CWR) { ECN } else { 0 };
    let back = tcp::stamp(now).wrapping_sub(scale | sack | ecn) & STAMP_MASK;
    let nanos = now.as_nanos() - Duration::from_millis(u64::from(back)).as_nanos();
    Answer { config: config.clone(), stamped_at: Instant::from_nanos(nanos) }
}

/// The configuration where a cookie carries nothing but the segment size.
pub(super) fn unstamped(config: &Config) -> Config {
    let recovery = if config.recovery.uses_sack() { Recovery::NewReno } else { config.recovery };
    Config {
        timestamps: false,
        window_scale: false,
        eifel: false,
        ecn: EcnMode::Off,
        recovery,
        ..config.clone()
    }
}

fn period(now: Instant) -> u64 {
    now.as_nanos() / PERIOD.as_nanos()
}

fn default_size(tuple: &Tuple) -> u16 {
    match tuple.remote {
        SocketAddr::V4(_) => tcp::MSS_DEFAULT as u16,
        SocketAddr::V6(_) => tcp::MSS_DEFAULT_V6 as u16,
    }
}
