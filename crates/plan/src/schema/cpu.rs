//! `cpu` of a host: a ready cost table by its name, or one of the plan's own.

use super::Scope;
use crate::cpu::{self, CostTable, Item, PER_BYTE_FORM, READY, Ready, SlowHost, Unit};
use crate::diagnostic::{Problem, Problems, nearest};
use crate::model::{Bond, Link, LinkKind};
use crate::quantity;
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::{Node, Table, Value};
use trunkline_core::time::Duration;

/// The longest that anything may take.
const TIME_MAX: Duration = Duration::from_secs(1);
/// The longest for one byte, in picoseconds: a millisecond.
const PER_BYTE_MAX: u64 = 1_000_000_000;
/// The most frames in a ring.
const FRAMES_MAX: u64 = 1 << 16;
/// The largest number of bytes.
const BYTES_MAX: u64 = 1 << 20;

/// Takes note of the cost table of a host, where it has one.
pub(super) fn cpu(s: &mut Section<'_>, scope: &mut Scope, problems: &mut Problems) {
    let Some(node) = s.node("cpu") else { return };
    scope.with_cpu.extend(s.table().name().map(str::to_owned));
    let costs = match &node.value {
        Value::Text(_) => {
            s.opt(problems, "cpu", ready).map(|named| (CostTable::ready(named), Some(named)))
        }
        Value::Table(_) => s.section(problems, "cpu").and_then(|section| table(section, problems)),
        _ => {
            let form =
                "the name of a cost table such as \"sun-3/60\", or { base = \"sun-3/60\", … }";
            problems.push(reader::wrong_type(node, &s.key("cpu"), form));
            None
        }
    };
    let name = s.table().name().map(str::to_owned);
    scope.slow.extend(name.zip(costs).map(|(name, (costs, base))| SlowHost { name, costs, base }));
}

/// Whether a host is described that is an end of a bond, and plugged in nowhere.
pub(super) fn is_end(s: &Section<'_>, bonds: &[Bond]) -> bool {
    let name = s.table().name();
    let is_end = |bond: &Bond| bond.ends.iter().any(|end| Some(end.as_str()) == name);
    s.table().node("link").is_none() && bonds.iter().any(is_end)
}

/// An end of a bond that has a cost table.
pub(super) fn end(mut s: Section<'_>, scope: &mut Scope, problems: &mut Problems) {
    super::lab::name(&mut s, "host", scope, problems);
    if s.node("cpu").is_none() {
        let problem = Problem::new(s.place, s.key("cpu"), "`cpu` is missing");
        let forms = ["cpu = \"sun-3/60\" for an end of a bond", "`link` for a host of its own"];
        problems.push(problem.accepted(forms));
    }
    cpu(&mut s, scope, problems);
    s.node("count");
    s.finish(problems);
}

/// A plan's own table, and the ready one it begins with.
fn table(
    mut s: Section<'_>,
    problems: &mut Problems,
) -> Option<(CostTable, Option<&'static Ready>)> {
    let named = s.opt(problems, "base", ready);
    let base = named.map(CostTable::ready);
    let is_lost = base.is_none() && s.table().node("base").is_some();
    let lacks_many = base.is_none() && !is_lost && tell_missing(&s, problems);
    let mut values = [Some(0); Item::ALL.len()];
    for (item, value) in Item::ALL.into_iter().zip(&mut values) {
        let key = item.key();
        *value = match &base {
            Some(base) => Some(s.or(problems, key, base.value(item), taken(item))),
            None if is_lost || lacks_many => s.opt(problems, key, taken(item)),
            None => s.req(problems, key, form(item), taken(item)),
        };
    }
    s.finish(problems);
    let values: Option<Vec<u64>> = values.into_iter().collect();
    let values = values.and_then(|values| values.try_into().ok());
    values.map(|values| (CostTable::new(values), named))
}

/// Names the entries that a table without `base` lacks, where that is more than one.
fn tell_missing(s: &Section<'_>, problems: &mut Problems) -> bool {
    let missing = Item::ALL.into_iter().filter(|item| s.table().node(item.key()).is_none());
    let missing: Vec<String> = missing.map(|item| format!("`{}`", item.key())).collect();
    let Some((last, others)) = missing.split_last().filter(|(_, others)| !others.is_empty()) else {
        return false;
    };
    let message = format!("{} and {last} are missing", others.join(", "));
    let form = "each of them, or base = \"sun-3/60\", which has them all";
    problems.push(Problem::new(s.place, s.key("base"), message).accepted([form]));
    true
}

/// A ready table by its name.
fn ready(node: &Node) -> Taken<&'static Ready> {
    let name = reader::text(node)?;
    READY.iter().find(|ready| ready.name == name).ok_or_else(|| {
        let names: Vec<&str> = READY.iter().map(|ready| ready.name).collect();
        Unfit {
            message: format!("\"{name}\" is no cost table"),
            accepted: names.iter().map(|name| format!("\"{name}\"")).collect(),
            nearest: nearest(&name, &names),
        }
    })
}

/// An item's value: switches are true and false, the others text with a unit.
fn taken(item: Item) -> impl Fn(&Node) -> Taken<u64> {
    move |node| {
        let accepted = form(item);
        let value = match (&node.value, item.unit()) {
            (Value::Bool(on), Unit::Switch) => return Ok(u64::from(*on)),
            (Value::Text(text), unit) if unit != Unit::Switch => cpu::read(item, text)
                .map_err(|refusal| Unfit::new(refusal.to_string(), accepted))?,
            (Value::Integer(_) | Value::Float { .. }, unit) if unit != Unit::Switch => {
                return Err(Unfit::new("has no unit", accepted));
            }
            _ => return Err(Unfit::new(format!("is {}", node.type_name()), accepted)),
        };
        let (low, high, range) = match item.unit() {
            Unit::Time => (0, TIME_MAX.as_nanos(), "from \"0us\" to \"1s\""),
            Unit::PerByte => (0, PER_BYTE_MAX, "from \"0ns/B\" to \"1ms/B\""),
            Unit::Bytes if item == Item::Chunk => (1, BYTES_MAX, "from \"1B\" to \"1MiB\""),
            Unit::Bytes => (0, BYTES_MAX, "from \"0B\" to \"1MiB\""),
            Unit::Frames => (1, FRAMES_MAX, "from \"1p\" to \"65536p\""),
            Unit::Switch => (0, 1, "true or false"),
        };
        match (low..=high).contains(&value) {
            true => Ok(value),
            false => Err(Unfit::new("is out of range", range)),
        }
    }
}

/// The accepted form of an item's value.
const fn form(item: Item) -> &'static str {
    match item.unit() {
        Unit::Time => quantity::DURATION_FORM,
        Unit::PerByte => PER_BYTE_FORM,
        Unit::Bytes => quantity::SIZE_FORM,
        Unit::Frames => "a number of frames such as \"32p\"",
        Unit::Switch => "true or false",
    }
}

/// A slow host's cards are Ethernet cards whose own rate is the wire's.
pub(super) fn check(
    slow: &[SlowHost],
    links: &[Link],
    bonds: &[Bond],
    root: &Table,
    problems: &mut Problems,
) {
    let hosts = root.table("lab").and_then(|lab| lab.node("host")).and_then(Node::as_array);
    for host in slow {
        let mut nodes = hosts.into_iter().flatten();
        let named = |node: &&Node| node.as_table().and_then(Table::name) == Some(&host.name);
        let Some(place) = nodes.find(named).map(|node| node.place) else { continue };
        let own = bonds.iter().filter(|bond| bond.ends.contains(&host.name));
        for link in own.flat_map(|bond| &bond.members).map(|member| &links[*member]) {
            if link.kind != LinkKind::Ethernet || link.lab.rate.is_some() {
                let message = format!(
                    "link `{}` of `{}` has no card: a host with `cpu` is at Ethernet links",
                    link.name, host.name
                );
                let problem = Problem::new(place, format!("lab.host.{}.cpu", host.name), message);
                let accepted = ["links of kind \"ethernet\" without lab.rate"];
                problems.push(problem.found(&link.name).accepted(accepted));
            }
        }
    }
}
