//! What a running bond answers. A request either does all it says or changes nothing.

use crate::control::{Request, Response, parse};
use crate::driver::Driver;
use crate::error::Error;
use crate::netlink::Netlink;
use crate::networks;
use crate::report;
use crate::running::Running;
use crate::setup::{BondSetup, LinkSetup, Role};
use crate::sys::device_index;
use serde_json::{Map, Value, json};
use trunkline_core::bond::trunk::{self, Monitor};
use trunkline_core::bond::{BondConfig, BondError, MemberConfig, Mode};
use trunkline_core::time::{Duration, Instant};
use trunkline_core::units::BitRate;
use trunkline_plan::nearest;
use trunkline_plan::quantity;

/// Rates a member may be set to: a slow modem's, and far above any machine's.
const RATES: std::ops::RangeInclusive<u64> = 300..=1_000_000_000_000;
const MAX_SLAVES: std::ops::RangeInclusive<u16> = 1..=1024;
/// Times of a monitor: what timers can do, and what still is watching.
const MONITOR_TIMES: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(1)..=Duration::from_secs(3600);

/// The code of an answer to what is no request: the program's for a wrong command line.
const MALFORMED: u8 = 2;

/// What the bond does after an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// It goes on.
    GoOn,
    /// It goes down.
    End,
}

/// Answers what a client has sent.
pub(crate) fn serve(running: &mut Running, now: Instant, client: usize) -> Then {
    let mut then = Then::GoOn;
    for line in running.control.read(client) {
        let response = match parse(&line) {
            Ok(request) => {
                let (response, next) = answer(running, now, &request);
                if next == Then::End {
                    then = Then::End;
                }
                response
            }
            Err(text) => Response::refused(MALFORMED, text),
        };
        running.control.answer(client, &response);
    }
    then
}

/// Carries out a request.
fn answer(running: &mut Running, now: Instant, request: &Request) -> (Response, Then) {
    let done = match request {
        Request::Show {} => {
            serde_json::to_value(report::bond(running)).map_err(|e| Error::Refused(e.to_string()))
        }
        Request::Get { link, key } => settings(running, link.as_deref(), key.as_deref()),
        Request::Set { link: None, key, value } => set_bond(running, now, key, value),
        Request::Set { link: Some(link), key, value } => set_link(running, now, link, key, value),
        Request::Enslave { link, rate } => enslave(running, now, link, rate.as_deref()),
        Request::Emancipate { link } => emancipate(running, now, link),
        Request::Reload {} => reload(running, now),
        Request::Down {} => return (Response::done(Value::Null), Then::End),
    };
    (done.map_or_else(|error| refusal(&error), Response::done), Then::GoOn)
}

fn refusal(error: &Error) -> Response {
    Response::refused(error.code(), error.to_string())
}

fn enslave(
    running: &mut Running,
    now: Instant,
    name: &str,
    rate: Option<&str>,
) -> Result<Value, Error> {
    let setup = &running.driver.setup;
    if name == setup.name {
        return Err(Error::Refused(format!("{name} is the bond itself, not a link")));
    }
    let mut link = known(setup, name)?.clone();
    if let Some(text) = rate {
        link.member.rate = parse_rate(text)?;
        link.member.weight = link.member.rate;
    }
    let device = link.device.as_ref();
    if let Some(device) = device.filter(|device| device_index(device).is_none()) {
        return Err(Error::Refused(format!("{name}: there is no device {device}")));
    }
    running.driver.enslave(now, link).map_err(as_refusal)?;
    carriers(running, now)?;
    Ok(Value::Null)
}

/// A running bond refuses; what the machine lacks is its reason.
fn as_refusal(error: Error) -> Error {
    Error::Refused(error.to_string())
}

fn emancipate(running: &mut Running, now: Instant, name: &str) -> Result<Value, Error> {
    let link = known(&running.driver.setup, name)?.member.link;
    if running.driver.path(link).is_none() {
        let bond = &running.driver.setup.name;
        return Err(Error::Refused(format!("{name} is not a member of {bond}")));
    }
    running.driver.emancipate(now, link)?;
    Ok(Value::Null)
}

fn known<'s>(setup: &'s BondSetup, name: &str) -> Result<&'s LinkSetup, Error> {
    setup.link(name).ok_or_else(|| {
        let names: Vec<&str> = setup.links.iter().map(|link| link.name.as_str()).collect();
        let mut text = format!("the plan has no link {name} at {}", setup.end);
        if let Some(near) = nearest(name, &names) {
            text += &format!("; did you mean {near}?");
        }
        text += &format!(" (it has {})", names.join(", "));
        Error::Refused(text)
    })
}

fn member(running: &Running, name: &str) -> Result<MemberConfig, Error> {
    let link = known(&running.driver.setup, name)?.member.link;
    let path = running.driver.path(link);
    let refused = || Error::Refused(format!("{name} is not a member now"));
    Ok(path.ok_or_else(refused)?.setup.member)
}

fn settings(running: &Running, link: Option<&str>, key: Option<&str>) -> Result<Value, Error> {
    let all = match link {
        Some(name) => {
            let member = member(running, name)?;
            json!({
                "rate": member.rate.to_string(),
                "weight": member.weight.to_string(),
                "priority": member.priority,
            })
        }
        None => {
            let config = running.driver.bond.config();
            let mut all = json!({
                "mode": config.mode.name(),
                "mtu": config.mtu,
                "max_slaves": config.max_slaves,
            });
            if let Some(Monitor { probe, down_after, up_after }) = config.trunk.map(|t| t.monitor) {
                all["probe"] = probe.to_string().into();
                all["down_after"] = down_after.to_string().into();
                all["up_after"] = up_after.to_string().into();
            }
            all
        }
    };
    let Some(key) = key else {
        return Ok(all);
    };
    let map = all.as_object().cloned().unwrap_or_default();
    map.get(key).cloned().ok_or_else(|| no_key(key, &map))
}

fn no_key(key: &str, map: &Map<String, Value>) -> Error {
    let names: Vec<&String> = map.keys().collect();
    let list = names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
    let near = nearest(key, &names).map_or(String::new(), |n| format!("; did you mean {n}?"));
    Error::Refused(format!("there is no setting {key}{near} (there are {list})"))
}

fn set_bond(running: &mut Running, now: Instant, key: &str, value: &str) -> Result<Value, Error> {
    settings(running, None, Some(key))?;
    let driver = &mut running.driver;
    let monitor = driver.bond.config().trunk.map(|trunk| trunk.monitor);
    let done = match (key, monitor) {
        ("mode", _) => driver.bond.set_mode(now, &mut driver.cx, parse_mode(value)?),
        ("max_slaves", _) => driver.bond.set_config(parse_max_slaves(value)?),
        ("probe" | "down_after" | "up_after", Some(mut monitor)) => {
            *monitor_value(&mut monitor, key) = parse_time(key, value)?;
            driver.bond.set_monitor(now, monitor)
        }
        _ => {
            let text =
                format!("{key} is fixed while the bond is up: change the plan, then down and up");
            return Err(Error::Refused(text));
        }
    };
    done.map_err(|error| Error::Refused(format!("{key} = {value}: {error}")))?;
    Ok(Value::Null)
}

fn monitor_value<'m>(monitor: &'m mut Monitor, key: &str) -> &'m mut Duration {
    match key {
        "probe" => &mut monitor.probe,
        "down_after" => &mut monitor.down_after,
        _ => &mut monitor.up_after,
    }
}

fn parse_mode(text: &str) -> Result<Mode, Error> {
    Mode::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
        let names = Mode::ALL.map(Mode::name);
        let near = nearest(text, &names).map_or(String::new(), |n| format!("; did you mean {n}?"));
        Error::Refused(format!("there is no mode {text}{near} (there are {})", names.join(", ")))
    })
}

fn parse_max_slaves(text: &str) -> Result<u16, Error> {
    text.parse().ok().filter(|n| MAX_SLAVES.contains(n)).ok_or_else(|| {
        let (low, high) = (MAX_SLAVES.start(), MAX_SLAVES.end());
        Error::Refused(format!("max_slaves = {text} is out of range: {low} to {high}"))
    })
}

fn parse_time(key: &str, text: &str) -> Result<Duration, Error> {
    let time = quantity::duration(text)
        .map_err(|refusal| Error::Refused(format!("{key} `{text}` {refusal}")))?;
    match MONITOR_TIMES.contains(&time) || key == "up_after" && time.is_zero() {
        true => Ok(time),
        false => {
            let (low, high) = (MONITOR_TIMES.start(), MONITOR_TIMES.end());
            Err(Error::Refused(format!("{key} = {time} is out of range: {low} to {high}")))
        }
    }
}

fn set_link(
    running: &mut Running,
    now: Instant,
    name: &str,
    key: &str,
    value: &str,
) -> Result<Value, Error> {
    settings(running, Some(name), Some(key))?;
    let mut config = member(running, name)?;
    match key {
        "rate" => config.rate = parse_rate(value)?,
        "weight" => config.weight = parse_rate(value)?,
        _ => {
            let refused = |_| Error::Refused(format!("{key} = {value} is not a whole number"));
            config.priority = value.parse().map_err(refused)?;
        }
    }
    running.driver.reconfigure(now, config)?;
    Ok(Value::Null)
}

fn parse_rate(text: &str) -> Result<BitRate, Error> {
    let rate = quantity::rate(text)
        .map_err(|refusal| Error::Refused(format!("rate `{text}` {refusal}")))?;
    match RATES.contains(&rate.as_bps()) {
        true => Ok(rate),
        false => {
            let (low, high) = (BitRate::from_bps(*RATES.start()), BitRate::from_bps(*RATES.end()));
            Err(Error::Refused(format!("rate {rate} is out of range: {low} to {high}")))
        }
    }
}

/// Reads the plan again and changes what is different.
pub(crate) fn reload(running: &mut Running, now: Instant) -> Result<Value, Error> {
    let fresh = (running.read_plan)()?;
    check_fixed(&running.driver.setup, &fresh)?;
    let mut opened = Vec::new();
    for link in fresh.links.iter().filter(|link| link.role == Role::Member) {
        let path = running.driver.path(link.member.link);
        if path.is_some_and(|path| is_same_path(&path.setup, link)) {
            continue;
        }
        match running.driver.open_path(link.clone()) {
            Ok(path) => opened.push(path),
            Err(error) => {
                opened.into_iter().for_each(|path| running.driver.close_path(path));
                return Err(error);
            }
        }
    }
    if let Err(error) = change_networks(&running.driver.setup, &fresh) {
        opened.into_iter().for_each(|path| running.driver.close_path(path));
        return Err(error);
    }
    let stays = |link: &LinkSetup| {
        let new = fresh.links.iter().find(|new| new.member.link == link.member.link);
        new.filter(|new| new.role == Role::Member && is_same_path(link, new)).cloned()
    };
    let old: Vec<LinkSetup> = running.driver.paths().iter().map(|p| p.setup.clone()).collect();
    for link in old {
        match stays(&link) {
            Some(new) if new.member != link.member => {
                running.driver.reconfigure(now, new.member)?
            }
            Some(_) => {}
            None => running.driver.emancipate(now, link.member.link)?,
        }
    }
    follow(&mut running.driver, now, &fresh.bond)?;
    for path in opened {
        running.driver.join(now, path)?;
    }
    let bond = *running.driver.bond.config();
    running.driver.setup = BondSetup { bond, ..fresh };
    carriers(running, now)?;
    running.run_dir.write(&running.state())?;
    Ok(Value::Null)
}

/// Takes over what can change of a bond while it is up.
fn follow(driver: &mut Driver, now: Instant, wanted: &BondConfig) -> Result<(), Error> {
    let refused = |error: BondError| Error::Refused(error.to_string());
    driver.bond.set_config(wanted.max_slaves).map_err(refused)?;
    if driver.bond.config().mode != wanted.mode {
        driver.bond.set_mode(now, &mut driver.cx, wanted.mode).map_err(refused)?;
    }
    match wanted.trunk {
        Some(trunk) => driver.bond.set_monitor(now, trunk.monitor).map_err(refused),
        None => Ok(()),
    }
}

fn is_same_path(old: &LinkSetup, new: &LinkSetup) -> bool {
    (&old.name, &old.device, old.remote) == (&new.name, &new.device, new.remote)
}

/// What cannot change while the bond is up.
fn check_fixed(old: &BondSetup, new: &BondSetup) -> Result<(), Error> {
    let same = [
        ("device", old.device == new.device),
        ("listen", old.listen == new.listen),
        ("mtu, trunk and reorder", is_same_bond(&old.bond, &new.bond)),
    ];
    match same.iter().find(|(_, same)| !same) {
        Some((what, _)) => {
            let text = format!("{what} cannot change while {} is up: down, then up", old.name);
            Err(Error::Refused(text))
        }
        None => Ok(()),
    }
}

/// Brings the device's addresses and routes to what the plan says now.
fn change_networks(old: &BondSetup, new: &BondSetup) -> Result<(), Error> {
    let gone = || Error::Environment(format!("device {} is gone", old.device));
    let index = device_index(&old.device).ok_or_else(gone)?;
    let mut netlink = Netlink::open().map_err(|error| Error::while_doing("netlink", &error))?;
    networks::change(&mut netlink, index, Some(old), new)
}

/// Tells new paths whether their device has a carrier.
fn carriers(running: &mut Running, now: Instant) -> Result<(), Error> {
    let told = |error| Error::while_doing("netlink", &error);
    for link in Netlink::open().and_then(|mut netlink| netlink.links()).map_err(told)? {
        running.driver.handle_carrier(now, &link);
    }
    Ok(())
}

/// Whether two configurations differ in nothing but what can change while the bond is up, and the number
/// drawn at the start.
fn is_same_bond(old: &BondConfig, new: &BondConfig) -> bool {
    let trunk = match (old.trunk, new.trunk) {
        (Some(old), Some(new)) => {
            Some(trunk::Config { epoch: old.epoch, monitor: old.monitor, ..new })
        }
        (_, new) => new,
    };
    *old == BondConfig { mode: old.mode, max_slaves: old.max_slaves, trunk, ..*new }
}
