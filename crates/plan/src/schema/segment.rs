//! `[[lab.segment]]`: half-duplex Ethernet cables that links share.

use super::{Scope, lab};
use crate::diagnostic::{Problem, Problems};
use crate::model::{Chip, LinkKind, Segment};
use crate::reader::{self, Section};
use trunkline_core::link::csma::SLOT_BITS;
use trunkline_core::units::BitRate;

/// A cable is as long as the slot time allows at most: half of it each way. A usual one is half as long.
const PROPAGATION_BITS: u64 = SLOT_BITS / 4;

pub(super) fn segments(
    s: &mut Section<'_>,
    scope: &mut Scope,
    chips: &[Chip],
    problems: &mut Problems,
) -> Vec<Segment> {
    let mut list: Vec<Segment> = Vec::new();
    for mut s in s.sections(problems, "segment") {
        let name = lab::name(&mut s, "segment", scope, problems);
        let key = s.key("links");
        let Some(node) = s.node("links") else {
            let problem = Problem::new(s.place, key, "`links` is missing");
            problems.push(problem.accepted(["links = [\"LINK\", …]"]));
            continue;
        };
        let links = scope.resolve_links(node, &key, problems);
        let first = links.first().and_then(|(link, _)| scope.facts[*link].rate);
        for (link, place) in &links {
            let name = &scope.links[*link];
            let facts = scope.facts[*link];
            let elsewhere =
                chips.iter().map(|chip| &chip.links).chain(list.iter().map(|s| &s.links));
            let (message, accepted) = if facts.kind.is_some_and(|kind| kind != LinkKind::Ethernet) {
                (format!("link `{name}` is no Ethernet"), "links of kind \"ethernet\"")
            } else if facts.rate != first {
                let message = format!("link `{name}` has another rate than the segment's first");
                (message, "links of one rate, the same both ways")
            } else if elsewhere.into_iter().any(|links| links.contains(link)) {
                (format!("link `{name}` shares something else too"), "each link on one segment")
            } else {
                continue;
            };
            problems.push(Problem::new(*place, &key, message).found(name).accepted([accepted]));
        }
        let rate = first.unwrap_or(BitRate::from_bps(10_000_000));
        let slot = rate.time_for_bits(SLOT_BITS) / 2;
        let usual = rate.time_for_bits(PROPAGATION_BITS);
        let propagation =
            s.or(problems, "propagation", usual, |node| match reader::duration(node)? {
                span if span <= slot => Ok(span),
                _ => {
                    let message =
                        "is longer than half the slot time: late collisions are not modelled";
                    Err(reader::Unfit::new(message, format!("at most {slot}")))
                }
            });
        s.finish(problems);
        let links = links.into_iter().map(|(link, _)| link).collect();
        list.extend(name.map(|name| Segment { name, rate, propagation, links }));
    }
    list
}
