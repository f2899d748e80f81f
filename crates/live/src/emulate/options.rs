//! What the emulator is told: on its command line, and while it runs on its control pipe.

use super::direction::DirectionConfig;
use std::path::PathBuf;
use trunkline_plan::quantity;

/// How the program is called.
pub const USAGE: &str = "\
usage: trunkline-emulate A B [OPTION VALUE]...

Carries frames between the interfaces A and B as a link would. An option holds for both directions;
with -up behind it for A to B only, with -down for B to A only.
  --rate RATE            bits per second of packets without Ethernet header (none: no limit)
  --overhead BYTES       what every packet costs beside its own bytes (0)
  --queue LIMIT          in front of the transmitter: 50ms, 30KB or 20p (50ms)
  --mark LIMIT           from where on arriving packets are marked CE (none: never)
  --delay TIME           propagation, after the last bit is out (0ms)
  --jitter TIME          up to this much more
  --loss RATIO           such as 1%; so too --duplication, --reorder, --corruption
  --reorder-delay TIME   by how much a reordered frame is late
Once:
  --seed N               of all random draws (1)
  --report FILE          where the report is written at SIGUSR1 and at the end (stdout)
  --control PIPE         a named pipe that takes lines: cut, restore, report, reset, set OPTION VALUE...
SIGINT and SIGTERM end it.";

/// Everything the emulator is told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The two interfaces.
    pub devices: [String; 2],
    /// From the first to the second, and back.
    pub directions: [DirectionConfig; 2],
    /// Of all random draws.
    pub seed: u64,
    /// Where reports go; standard output when none.
    pub report: Option<PathBuf>,
    /// A named pipe to read commands from.
    pub control: Option<PathBuf>,
}

/// What is wrong with what the emulator was told.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionError {
    /// There must be two interfaces.
    #[error("two interfaces are needed, and nothing else without an option")]
    Devices,
    /// No such option.
    #[error("there is no option {0}")]
    Unknown(String),
    /// An option stands last.
    #[error("{0} needs a value")]
    NoValue(String),
    /// A value cannot be read.
    #[error("{option} {value}: {why}")]
    Value {
        /// The option.
        option: String,
        /// What it was given.
        value: String,
        /// What is wrong with that.
        why: String,
    },
}

impl Options {
    /// Reads the arguments behind the program's name.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, OptionError> {
        let mut options = Options {
            devices: Default::default(),
            directions: Default::default(),
            seed: 1,
            report: None,
            control: None,
        };
        let mut devices = Vec::new();
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            if !argument.starts_with("--") {
                devices.push(argument);
                continue;
            }
            let value = arguments.next().ok_or_else(|| OptionError::NoValue(argument.clone()))?;
            match &*argument {
                "--seed" => options.seed = whole(&argument, &value)?,
                "--report" => options.report = Some(value.into()),
                "--control" => options.control = Some(value.into()),
                _ => set(&mut options.directions, &argument, &value)?,
            }
        }
        options.devices = devices.try_into().map_err(|_| OptionError::Devices)?;
        Ok(options)
    }
}

/// Applies `--option value` pairs to the directions: all of them or, when one is wrong, none.
pub fn apply<'a>(
    directions: &mut [DirectionConfig; 2],
    mut words: impl Iterator<Item = &'a str>,
) -> Result<(), OptionError> {
    let mut changed = *directions;
    while let Some(option) = words.next() {
        let value = words.next().ok_or_else(|| OptionError::NoValue(option.to_owned()))?;
        set(&mut changed, option, value)?;
    }
    *directions = changed;
    Ok(())
}

fn set(
    directions: &mut [DirectionConfig; 2],
    option: &str,
    value: &str,
) -> Result<(), OptionError> {
    let (key, meant) = match (option.strip_suffix("-up"), option.strip_suffix("-down")) {
        (Some(key), _) => (key, &mut directions[..1]),
        (_, Some(key)) => (key, &mut directions[1..]),
        _ => (option, &mut directions[..]),
    };
    for direction in meant {
        set_one(direction, option, key, value)?;
    }
    Ok(())
}

fn set_one(
    direction: &mut DirectionConfig,
    option: &str,
    key: &str,
    value: &str,
) -> Result<(), OptionError> {
    let bad = |refusal: quantity::Refusal| refused(option, value, refusal.to_string());
    let wire = &mut direction.wire;
    match key {
        "--rate" if value == "none" => direction.rate = None,
        "--rate" => direction.rate = Some(quantity::rate(value).map_err(bad)?),
        "--overhead" => direction.overhead = whole(option, value)?,
        "--queue" => direction.queue = quantity::limit(value).map_err(bad)?,
        "--mark" if value == "none" => direction.mark = None,
        "--mark" => direction.mark = Some(quantity::limit(value).map_err(bad)?),
        "--delay" => wire.delay = quantity::duration(value).map_err(bad)?,
        "--jitter" => wire.jitter = quantity::duration(value).map_err(bad)?,
        "--reorder-delay" => wire.reorder_delay = quantity::duration(value).map_err(bad)?,
        "--loss" => wire.loss = quantity::ratio(value).map_err(bad)?,
        "--duplication" => wire.duplication = quantity::ratio(value).map_err(bad)?,
        "--reorder" => wire.reorder = quantity::ratio(value).map_err(bad)?,
        "--corruption" => wire.corruption = quantity::ratio(value).map_err(bad)?,
        _ => return Err(OptionError::Unknown(option.to_owned())),
    }
    Ok(())
}

fn whole<T: std::str::FromStr<Err = std::num::ParseIntError>>(
    option: &str,
    value: &str,
) -> Result<T, OptionError> {
    value
        .parse()
        .map_err(|error: std::num::ParseIntError| refused(option, value, error.to_string()))
}

fn refused(option: &str, value: &str, why: String) -> OptionError {
    OptionError::Value { option: option.to_owned(), value: value.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_core::queue::Limit;
    use trunkline_core::time::Duration;
    use trunkline_core::units::{BitRate, Ratio};

    fn parse(line: &str) -> Result<Options, OptionError> {
        Options::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn options_hold_for_both_directions_or_for_one() {
        let options = parse(
            "a b --rate-up 50mbit --rate-down 10mbit --delay 10ms --queue 20p --loss-down 1%",
        )
        .unwrap();
        assert_eq!(options.devices, ["a", "b"]);
        let [up, down] = options.directions;
        assert_eq!(up.rate, Some(BitRate::from_bps(50_000_000)));
        assert_eq!(down.rate, Some(BitRate::from_bps(10_000_000)));
        assert_eq!([up.wire.delay, down.wire.delay], [Duration::from_millis(10); 2]);
        assert_eq!([up.queue, down.queue], [Limit::Packets(20); 2]);
        assert_eq!([up.wire.loss, down.wire.loss], [Ratio::ZERO, Ratio::from_ppb(10_000_000)]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, words) in [
            ("a", "two interfaces"),
            ("a b c", "two interfaces"),
            ("a b --speed 1mbit", "no option --speed"),
            ("a b --seed-up 1", "no option --seed-up"),
            ("a b --rate", "--rate needs a value"),
            ("a b --rate 10", "--rate 10: has no unit"),
            ("a b --overhead -1", "--overhead -1: invalid digit"),
        ] {
            let error = parse(line).unwrap_err().to_string();
            assert!(error.contains(words), "{line}: {error}");
        }
    }

    #[test]
    fn a_change_holds_as_a_whole_or_not_at_all() {
        let before: [DirectionConfig; 2] = Default::default();
        let mut directions = before;
        let wrong = "--delay 5ms --loss much".split(' ');
        assert!(apply(&mut directions, wrong).is_err());
        assert_eq!(directions, before);
        apply(&mut directions, "--delay 5ms --rate none".split(' ')).unwrap();
        assert_eq!(directions[1].wire.delay, Duration::from_millis(5));
    }
}
