//! Text to script. Whatever is wrong is an error with its line; nothing here panics.

use crate::language::{Action, Number, Opening, Script, Segment, Step};
use crate::packet::{Damage, FLAG_LETTERS, Opt};
use crate::settings;
use trunkline_core::tcp::config::{Config, Profile};
use trunkline_core::time::Duration;

/// No step may wait longer, no application write or read more at once.
const WAIT_MAX: Duration = Duration::from_secs(100 * 24 * 3600);
const BYTES_MAX: usize = 1 << 24;

/// What cannot be read, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    pub line: usize,
    pub what: String,
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

pub fn parse(path: &str, text: &str) -> Result<Script, Wrong> {
    let mut script = Script {
        path: path.to_owned(),
        title: String::new(),
        sections: Vec::new(),
        musts: Vec::new(),
        steps: Vec::new(),
    };
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        if let Some(comment) = raw.strip_prefix('#')
            && script.title.is_empty()
        {
            script.title = comment.trim().to_owned();
        }
        let code = raw.split('#').next().unwrap_or("").trim();
        if !code.is_empty() {
            take_line(&mut script, line, code).map_err(|what| Wrong { line, what })?;
        }
    }
    let wrong = |what: &str| Wrong { line: 1, what: what.to_owned() };
    if script.title.is_empty() {
        return Err(wrong("a script begins with a title: `# What it proves.`"));
    }
    if script.sections.is_empty() {
        return Err(wrong("say what it is about: `rfc NUMBER SECTION`"));
    }
    Ok(script)
}

fn take_line(script: &mut Script, line: usize, code: &str) -> Result<(), String> {
    let mut words = code.split_whitespace().peekable();
    match words.peek().copied() {
        Some("rfc") => {
            words.next();
            let number = number(words.next())?;
            let mut sections = words.map(|s| s.trim_end_matches(',').to_owned()).peekable();
            sections.peek().ok_or("which section?")?;
            script.sections.extend(sections.map(|section| (number, section)));
            return Ok(());
        }
        Some("must") => {
            words.next();
            for word in words {
                script.musts.push(number(Some(word))?);
            }
            return Ok(());
        }
        _ => {}
    }
    let (after, rest) = match code.strip_prefix('+') {
        Some(rest) => {
            let (time, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (duration(time)?, rest.trim())
        }
        None => (Duration::ZERO, code),
    };
    let action = parse_action(rest)?;
    script.steps.push(Step { line, text: code.to_owned(), after, action });
    Ok(())
}

fn parse_action(text: &str) -> Result<Action, String> {
    let (verb, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mut words = rest.split_whitespace().peekable();
    let action = match verb {
        "config" => return parse_config(words),
        "ipv6" => Action::Ipv6,
        "listen" => Action::Listen,
        "connect" => Action::Connect,
        "close" => Action::Close,
        "abort" => Action::Abort,
        "forget" => Action::Forget,
        "nothing" => Action::Nothing,
        "established" => return parse_opening(rest).map(Action::Established),
        "accepted" => return parse_opening(rest).map(Action::Accepted),
        "write" => {
            let len = bytes(words.next())?;
            let takes = match words.next() {
                Some("takes") => bytes(words.next())?,
                Some(other) => return Err(format!("`{other}`: expected `takes`")),
                None => len,
            };
            Action::Write { len, takes }
        }
        "read" => match words.next() {
            Some("all") => Action::Read(BYTES_MAX),
            word => Action::Read(bytes(word)?),
        },
        "flow" => {
            let number = number(words.next())?;
            let iss = match words.next() {
                Some("iss") => Some(offset(words.next().unwrap_or(""))?),
                Some(other) => return Err(format!("`{other}`: expected `iss`")),
                None => None,
            };
            Action::Flow { number, iss }
        }
        "icmp" => {
            let (kind, code) = (number(words.next())?, number(words.next())?);
            let rest = words.next().map_or(Ok(0), |word| number(Some(word)))?;
            Action::Icmp { kind, code, rest }
        }
        "event" => return Ok(Action::Events(words.map(str::to_owned).collect())),
        "expect" => {
            let what = words.next().ok_or("expect what?")?.to_owned();
            let value = words.collect::<Vec<_>>().join(" ");
            return Ok(Action::Expect { what, value });
        }
        "<" => return parse_segment(rest).map(Action::In),
        ">" => return parse_segment(rest).map(Action::Out),
        _ => return Err(format!("`{verb}` is no step")),
    };
    no_more(words)?;
    Ok(action)
}

fn no_more(mut words: Words<'_>) -> Result<(), String> {
    words.next().map_or(Ok(()), |word| Err(format!("`{word}` is too much")))
}

fn parse_config(words: Words<'_>) -> Result<Action, String> {
    let mut pairs = Vec::new();
    let mut scratch = Config::new(Profile::Modern, 1500);
    for word in words {
        let (key, value) = word.split_once('=').ok_or(format!("`{word}`: expected key=value"))?;
        settings::set(&mut scratch, key, value)?;
        pairs.push((key.to_owned(), value.to_owned()));
    }
    Ok(Action::Config(pairs))
}

fn parse_opening(text: &str) -> Result<Opening, String> {
    let (rest, options) = split_options(text)?;
    let mut words = rest.split_whitespace().peekable();
    let mut opening = Opening {
        window: u16::MAX,
        rtt: Duration::from_millis(100),
        options: options.unwrap_or_else(|| vec![Opt::Mss(1460)]),
    };
    while let Some(word) = words.next() {
        match word {
            "win" => opening.window = number(words.next())?,
            "rtt" => opening.rtt = duration(words.next().unwrap_or(""))?,
            _ => return Err(format!("`{word}`: expected `win` or `rtt`")),
        }
    }
    Ok(opening)
}

/// What stands before `<…>`, and the options in it.
fn split_options(text: &str) -> Result<(String, Option<Vec<Opt>>), String> {
    let Some((before, rest)) = text.split_once('<') else {
        return Ok((text.to_owned(), None));
    };
    let (inside, after) = rest.split_once('>').ok_or("options end with `>`")?;
    let mut options = Vec::new();
    for option in inside.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        options.push(parse_option(option)?);
    }
    Ok((format!("{before} {after}"), Some(options)))
}

fn parse_option(text: &str) -> Result<Opt, String> {
    let mut words = text.split_whitespace().peekable();
    let option = match words.next().unwrap_or("") {
        "mss" => Opt::Mss(number(words.next())?),
        "wscale" => Opt::Scale(number(words.next())?),
        "sackOK" => Opt::SackPermitted,
        "nop" => Opt::Nop,
        "eol" => Opt::End,
        "nots" => Opt::NoStamps,
        "ts" => {
            let mut stamp = || match words.next() {
                None | Some("*") => Ok(None),
                word => number(word).map(Some),
            };
            Opt::Stamps(stamp()?, stamp()?)
        }
        "sack" => {
            let mut blocks = Vec::new();
            for word in words.by_ref() {
                let (left, right) =
                    word.split_once(':').ok_or(format!("`{word}`: expected A:B"))?;
                blocks.push((offset(left)?, offset(right)?));
            }
            if blocks.is_empty() || blocks.len() > 4 {
                return Err("SACK has one to four blocks".to_owned());
            }
            Opt::Sack(blocks)
        }
        "raw" => {
            let byte =
                |word| u8::from_str_radix(word, 16).map_err(|_| format!("`{word}`: no byte"));
            Opt::Raw(words.by_ref().map(byte).collect::<Result<_, _>>()?)
        }
        other => return Err(format!("`{other}` is no option")),
    };
    no_more(words)?;
    Ok(option)
}

fn parse_segment(text: &str) -> Result<Segment, String> {
    let (rest, options) = split_options(text)?;
    let mut words = rest.split_whitespace().peekable();
    let flags = parse_flags(words.next().ok_or("a packet begins with its flags")?)?;
    let (seq, len) = parse_place(words.next().ok_or("then comes its sequence number")?)?;
    let mut segment = Segment {
        flags,
        seq,
        len,
        ack: None,
        window: None,
        urgent: 0,
        ecn: 0,
        options,
        damage: Vec::new(),
    };
    while let Some(word) = words.next() {
        let damage = match word {
            "ack" => {
                segment.ack = Some(sequence(words.next().unwrap_or(""))?);
                continue;
            }
            "win" => {
                segment.window = Some(number(words.next())?);
                continue;
            }
            "urg" => {
                segment.urgent = number(words.next())?;
                continue;
            }
            "ect1" | "ect0" | "ce" => {
                segment.ecn = [("ect1", 1), ("ect0", 2), ("ce", 3)]
                    .iter()
                    .find_map(|(name, bits)| (*name == word).then_some(*bits))
                    .unwrap_or(0);
                continue;
            }
            "badsum" => Damage::Checksum,
            "badipsum" => Damage::IpChecksum,
            "offset" => Damage::Offset(number(words.next())?),
            "cut" => Damage::Cut(bytes(words.next())?),
            "lost" => Damage::Lost(bytes(words.next())?),
            "reserved" => Damage::Reserved(number(words.next())?),
            "ipoptions" => Damage::IpOptions,
            "fragment" => Damage::Fragment,
            "junk" => Damage::Junk,
            "from" => Damage::From(number(words.next())?),
            "to" => Damage::To(number(words.next())?),
            _ => return Err(format!("`{word}` says nothing about a packet")),
        };
        segment.damage.push(damage);
    }
    Ok(segment)
}

fn parse_flags(word: &str) -> Result<u8, String> {
    if word == "-" {
        return Ok(0);
    }
    let bit = |letter| {
        let place = FLAG_LETTERS.find(letter);
        place.map(|bit| 1 << bit).ok_or(format!("`{letter}` is no flag of {FLAG_LETTERS}"))
    };
    word.chars().try_fold(0, |flags, letter| Ok(flags | bit(letter)?))
}

/// `SEQ` or `SEQ(LEN)`.
fn parse_place(word: &str) -> Result<(Number, usize), String> {
    match word.split_once('(') {
        None => Ok((sequence(word)?, 0)),
        Some((seq, len)) => {
            let len = bytes(Some(len.strip_suffix(')').ok_or("a length ends with `)`")?))?;
            Ok((sequence(seq)?, len.min(60_000)))
        }
    }
}

fn sequence(word: &str) -> Result<Number, String> {
    match word.strip_prefix('=') {
        Some(absolute) => number(Some(absolute)).map(Number::Absolute),
        None => offset(word).map(Number::Relative),
    }
}

/// A relative sequence number, which may be negative.
fn offset(word: &str) -> Result<u32, String> {
    let n: i64 = number(Some(word))?;
    Ok(n as u32)
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T, String> {
    let word = word.ok_or("a number is missing")?;
    word.parse().map_err(|_| format!("`{word}` is no number that fits here"))
}

fn bytes(word: Option<&str>) -> Result<usize, String> {
    let n: usize = number(word)?;
    if n <= BYTES_MAX { Ok(n) } else { Err(format!("{n} bytes are too many")) }
}

/// A time with its unit: `1.5s`, `40ms`, `250us`, `1ns`.
pub fn duration(word: &str) -> Result<Duration, String> {
    let wrong = || format!("`{word}` is no time: write 1.5s, 40ms, 10us or 1ns");
    let unit_at = word.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (digits, unit) = word.split_at(unit_at);
    let unit: u64 = match unit {
        "s" => 1_000_000_000,
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let mut nanos = whole.checked_mul(unit).ok_or_else(wrong)?;
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        nanos += place * u64::from(digit.to_digit(10).ok_or_else(wrong)?);
    }
    let time = Duration::from_nanos(nanos);
    if time <= WAIT_MAX { Ok(time) } else { Err(format!("{word} is too long")) }
}
