//! Quantities written as text: a decimal number with a unit that must be there.
//!
//! The suffixes are those of `tc(8)`, with two differences: k is always 1000 and Ki always 1024, and
//! `bps`, which is bytes per second to tc and bits per second to everybody else, is refused. Decimals
//! are read with integers, so `28.8kbit` is 28800 exactly and never 28799.999.

use trunkline_core::queue::Limit;
use trunkline_core::time::Duration;
use trunkline_core::units::{BitRate, Ratio};

/// Why a text is not the quantity that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// It does not start with a decimal number.
    #[error("is not a number with a unit")]
    NotANumber,
    /// The number has no unit.
    #[error("has no unit")]
    NoUnit,
    /// The unit is not one of this quantity's.
    #[error("has an unknown unit `{0}`")]
    UnknownUnit(String),
    /// `bps` could mean two things.
    #[error("says `bps`, which tc reads as bytes per second: write `bit`, `kbit` or `mbit`")]
    Bps,
    /// It is below zero.
    #[error("is negative")]
    Negative,
    /// It is zero where nothing works with zero.
    #[error("is zero")]
    Zero,
    /// It does not fit.
    #[error("is too large")]
    TooLarge,
    /// It is finer than the smallest unit there is, or a fraction of something indivisible.
    #[error("is not a whole number of {0}")]
    NotWhole(&'static str),
}

/// The accepted form of a rate.
pub const RATE_FORM: &str =
    "a rate such as \"28.8kbit\" or \"10mbit\" (bit, kbit, mbit, gbit, tbit, Kibit, Mibit, Gibit)";
/// The accepted form of a duration.
pub const DURATION_FORM: &str = "a duration such as \"50ms\" or \"1.5s\" (ns, us, ms, s, min, h)";
/// The accepted form of a size.
pub const SIZE_FORM: &str =
    "a size such as \"576B\", \"30KB\" or \"256KiB\" (B, KB, MB, GB, KiB, MiB, GiB)";
/// The accepted form of a queue limit.
pub const LIMIT_FORM: &str =
    "a limit in packets, bytes or time such as \"20p\", \"30KB\" or \"50ms\"";
/// The accepted form of a ratio.
pub const RATIO_FORM: &str = "a percentage from \"0%\" to \"100%\" such as \"0.2%\"";

type Units = [(&'static str, u64)];

const RATES: &Units = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("kibit", 1 << 10),
    ("mibit", 1 << 20),
    ("gibit", 1 << 30),
];
const DURATIONS: &Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const SIZES: &Units = &[
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];

/// Reads a rate above zero.
pub fn rate(text: &str) -> Result<BitRate, Refusal> {
    let (number, unit) = split(text)?;
    if unit.to_ascii_lowercase().ends_with("bps") {
        return Err(Refusal::Bps);
    }
    match number.scaled(scale_of(unit, RATES)?, "bits per second")? {
        0 => Err(Refusal::Zero),
        bits => Ok(BitRate::from_bps(bits)),
    }
}

/// Reads a span of time, zero included.
pub fn duration(text: &str) -> Result<Duration, Refusal> {
    let (number, unit) = split(text)?;
    let nanos = number.scaled(scale_of(unit, DURATIONS)?, "nanoseconds")?;
    Ok(Duration::from_nanos(nanos))
}

/// Reads a number of bytes, zero included.
pub fn size(text: &str) -> Result<u64, Refusal> {
    let (number, unit) = split(text)?;
    number.scaled(scale_of(unit, SIZES)?, "bytes")
}

/// Reads a time for each byte, such as `130us/KiB`, in picoseconds; what is finer is lost.
pub fn per_byte(text: &str) -> Result<u64, Refusal> {
    let (time, unit) = text.split_once('/').ok_or(Refusal::NoUnit)?;
    let picos = split(time).and_then(|(number, unit)| {
        let scale = scale_of(unit, DURATIONS)?.checked_mul(1000).ok_or(Refusal::TooLarge)?;
        number.scaled(scale, "picoseconds")
    })?;
    Ok(picos / scale_of(unit.trim(), SIZES)?)
}

/// Reads a queue limit: packets, bytes or time, above zero.
pub fn limit(text: &str) -> Result<Limit, Refusal> {
    let (number, unit) = split(text)?;
    let limit = match unit {
        "p" => {
            let packets = number.scaled(1, "packets")?;
            Limit::Packets(u32::try_from(packets).map_err(|_| Refusal::TooLarge)?)
        }
        _ if scale_of(unit, DURATIONS).is_ok() => Limit::Time(duration(text)?),
        _ => Limit::Bytes(size(text)?),
    };
    let empty = matches!(limit, Limit::Packets(0) | Limit::Bytes(0) | Limit::Time(Duration::ZERO));
    if empty { Err(Refusal::Zero) } else { Ok(limit) }
}

/// Reads a percentage from 0 to 100 as a ratio.
pub fn ratio(text: &str) -> Result<Ratio, Refusal> {
    let (number, unit) = split(text)?;
    if unit != "%" {
        return Err(unknown(unit));
    }
    match number.scaled(10_000_000, "parts per thousand million")? {
        ppb @ 0..=1_000_000_000 => Ok(Ratio::from_ppb(ppb as u32)),
        _ => Err(Refusal::TooLarge),
    }
}

fn scale_of(unit: &str, units: &Units) -> Result<u64, Refusal> {
    let lower = unit.to_ascii_lowercase();
    let found = units.iter().find(|(name, _)| *name == lower);
    found.map(|(_, scale)| *scale).ok_or_else(|| unknown(unit))
}

fn unknown(unit: &str) -> Refusal {
    match unit {
        "" => Refusal::NoUnit,
        _ => Refusal::UnknownUnit(unit.to_owned()),
    }
}

/// A decimal number as written: `digits` without its last `fraction` places behind the point.
struct Decimal {
    digits: u128,
    fraction: u32,
}

impl Decimal {
    /// The number times `scale`, which must come out whole.
    fn scaled(&self, scale: u64, whole: &'static str) -> Result<u64, Refusal> {
        let product = self.digits.checked_mul(u128::from(scale)).ok_or(Refusal::TooLarge)?;
        let divisor = 10u128.pow(self.fraction);
        if product % divisor != 0 {
            return Err(Refusal::NotWhole(whole));
        }
        u64::try_from(product / divisor).map_err(|_| Refusal::TooLarge)
    }
}

/// Splits a text into its number and its unit; one space may stand between them.
fn split(text: &str) -> Result<(Decimal, &str), Refusal> {
    let unsigned = text.strip_prefix('-');
    let body = unsigned.unwrap_or(text);
    let end = body.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(body.len());
    let (number, unit) = body.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(Refusal::NotANumber);
    }
    if unsigned.is_some() {
        return Err(Refusal::Negative);
    }
    let fraction = fraction.trim_end_matches('0');
    let places = fraction.len() as u32;
    let mut digits = 0u128;
    for c in whole.bytes().chain(fraction.bytes()) {
        digits = digits
            .checked_mul(10)
            .and_then(|n| n.checked_add(u128::from(c - b'0')))
            .ok_or(Refusal::TooLarge)?;
    }
    if places > 30 {
        return Err(Refusal::NotWhole("the smallest unit"));
    }
    let decimal = Decimal { digits, fraction: places };
    Ok((decimal, unit.strip_prefix(' ').unwrap_or(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_exact() {
        let bps = |t| rate(t).map(BitRate::as_bps);
        assert_eq!(bps("28.8kbit"), Ok(28_800));
        assert_eq!(bps("14.4kbit"), Ok(14_400));
        assert_eq!(bps("10mbit"), Ok(10_000_000));
        assert_eq!(bps("1gbit"), Ok(1_000_000_000));
        assert_eq!(bps("300bit"), Ok(300));
        assert_eq!(bps("1Mibit"), Ok(1_048_576));
        assert_eq!(bps("0.000001mbit"), Ok(1));
    }

    #[test]
    fn rates_that_are_none_say_why() {
        assert_eq!(rate("28800"), Err(Refusal::NoUnit));
        assert_eq!(rate("28.8kbps"), Err(Refusal::Bps));
        assert_eq!(rate("0kbit"), Err(Refusal::Zero));
        assert_eq!(rate("-1kbit"), Err(Refusal::Negative));
        assert_eq!(rate("NaN"), Err(Refusal::NotANumber));
        assert_eq!(rate("1.2.3kbit"), Err(Refusal::NotANumber));
        assert_eq!(rate(".5kbit"), Err(Refusal::NotANumber));
        assert_eq!(rate("10m"), Err(Refusal::UnknownUnit("m".into())));
        assert_eq!(rate("99999999999gbit"), Err(Refusal::TooLarge));
        assert_eq!(rate("0.5bit"), Err(Refusal::NotWhole("bits per second")));
        let digits = "9".repeat(400);
        assert_eq!(rate(&digits), Err(Refusal::TooLarge));
    }

    #[test]
    fn durations_sizes_limits_and_ratios() {
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("2min"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("-50ms"), Err(Refusal::Negative));
        assert_eq!(size("256KiB"), Ok(262_144));
        assert_eq!(size("30KB"), Ok(30_000));
        assert_eq!(limit("20p"), Ok(Limit::Packets(20)));
        assert_eq!(limit("30KB"), Ok(Limit::Bytes(30_000)));
        assert_eq!(limit("50ms"), Ok(Limit::Time(Duration::from_millis(50))));
        assert_eq!(limit("0p"), Err(Refusal::Zero));
        assert_eq!(limit("2.5p"), Err(Refusal::NotWhole("packets")));
        assert_eq!(ratio("0.2%"), Ok(Ratio::from_ppb(2_000_000)));
        assert_eq!(ratio("100%"), Ok(Ratio::ONE));
        assert_eq!(ratio("100.1%"), Err(Refusal::TooLarge));
        assert_eq!(ratio("0.2"), Err(Refusal::NoUnit));
    }

    proptest! {
        #[test]
        fn any_decimal_of_kbit_is_exact(whole in 0u64..1_000_000, milli in 0u64..1000) {
            prop_assume!(whole + milli > 0);
            let text = format!("{whole}.{milli:03}kbit");
            prop_assert_eq!(rate(&text).map(BitRate::as_bps), Ok(whole * 1000 + milli));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = (rate(&text), duration(&text), size(&text), limit(&text), ratio(&text));
        }
    }
}
