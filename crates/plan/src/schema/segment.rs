//! `[[lab.segment]]`: half-duplex Ethernet that links and hosts share.

use super::{Scope, lab};
use crate::diagnostic::{Problem, Problems};
use crate::model::{Chip, LinkKind, Segment};
use crate::network::Resolution;
use crate::reader::{self, Section, Unfit};
use crate::source::Place;
use trunkline_core::link::Layout;
use trunkline_core::link::csma::SLOT_BITS;
use trunkline_core::time::Duration;
use trunkline_core::units::BitRate;

/// A cable is as long as the slot time allows at most: half of it each way. A usual one is half as long.
const PROPAGATION_BITS: u64 = SLOT_BITS / 4;
/// A layout, but for its length.
type Shape = fn(Duration) -> Layout;
const LAYOUTS: [(&str, Shape); 2] = [("star", Layout::Star), ("bus", Layout::Bus)];
/// What a segment is taken for when its rate is wrong.
const RATE: BitRate = BitRate::from_bps(10_000_000);

/// The segments of a plan; one that is wrong keeps its place.
pub(super) fn segments(
    s: &mut Section<'_>,
    scope: &mut Scope,
    chips: &[Chip],
    problems: &mut Problems,
) -> Vec<Segment> {
    let mut list: Vec<Segment> = Vec::new();
    for mut s in s.sections(problems, "segment") {
        let name = lab::name(&mut s, "segment", scope, problems);
        let rate = s.opt(problems, "rate", reader::rate);
        let key = s.key("links");
        let links = match s.node("links") {
            Some(node) => scope.resolve_links(node, &key, problems),
            None => Vec::new(),
        };
        let of_links = links.first().and_then(|(link, _)| scope.facts[*link].rate);
        check_links(&links, rate.or(of_links), &key, scope, (chips, &list), problems);
        if s.node("links").is_none() && s.node("rate").is_none() {
            let problem = Problem::new(s.place, s.key("rate"), "`rate` is missing");
            let forms = ["rate = \"10mbit\" for hosts", "links = [\"LINK\", …], which have one"];
            problems.push(problem.accepted(forms));
        }
        let rate = rate.or(of_links).unwrap_or(RATE);
        let layout = layout(&mut s, rate, problems);
        let resolution = resolution(&mut s, problems);
        s.node("count");
        let written = s.table().name().unwrap_or_default();
        s.finish(problems);
        let links = links.into_iter().map(|(link, _)| link).collect();
        let name = name.unwrap_or_else(|| written.to_owned());
        list.push(Segment { name, rate, layout, links, resolution });
    }
    list
}

/// `arp`: whether machines ask each other for their addresses. Links know nobody else.
fn resolution(s: &mut Section<'_>, problems: &mut Problems) -> Resolution {
    match s.node("arp") {
        None => return Resolution::Known,
        // Whoever writes something wanted it.
        Some(_) if !s.opt(problems, "arp", reader::flag).unwrap_or(true) => {
            return Resolution::Known;
        }
        Some(_) => (),
    }
    if let (Some(node), Some(_)) = (s.node("arp"), s.node("links")) {
        let message = "a segment of `links` has nobody to ask: each link knows its other end";
        let problem = Problem::new(node.place, s.key("arp"), message);
        problems.push(problem.accepted(["`arp` at a segment of hosts alone"]));
    }
    Resolution::Arp
}

/// Links on a segment are Ethernet, share nothing else, and have its rate.
fn check_links(
    links: &[(usize, Place)],
    rate: Option<BitRate>,
    key: &str,
    scope: &Scope,
    (chips, segments): (&[Chip], &[Segment]),
    problems: &mut Problems,
) {
    for (link, place) in links {
        let name = &scope.links[*link];
        let facts = scope.facts[*link];
        let elsewhere =
            chips.iter().map(|chip| &chip.links).chain(segments.iter().map(|s| &s.links));
        let (message, accepted) = if facts.kind.is_some_and(|kind| kind != LinkKind::Ethernet) {
            (format!("link `{name}` is no Ethernet"), "links of kind \"ethernet\"")
        } else if facts.rate != rate {
            let message = format!("link `{name}` has another rate than the segment");
            (message, "links of one rate, the same both ways")
        } else if elsewhere.into_iter().any(|links| links.contains(link)) {
            (format!("link `{name}` shares something else too"), "each link on one segment")
        } else {
            continue;
        };
        problems.push(Problem::new(*place, key, message).found(name).accepted([accepted]));
    }
}

/// `layout` and `propagation`.
fn layout(s: &mut Section<'_>, rate: BitRate, problems: &mut Problems) -> Layout {
    let half_a_slot = rate.time_for_bits(SLOT_BITS) / 2;
    let usual = rate.time_for_bits(PROPAGATION_BITS);
    let propagation = s.or(problems, "propagation", usual, |node| match reader::duration(node)? {
        span if span <= half_a_slot => Ok(span),
        _ => {
            let message = "is longer than half the slot time: late collisions are not modelled";
            Err(Unfit::new(message, format!("at most {half_a_slot}")))
        }
    });
    let of: Shape = s.or(problems, "layout", Layout::Star, reader::choice(&LAYOUTS, &[]));
    of(propagation)
}
