//! `app = { kind = "datagrams" }`: sizes at a rate.

use crate::diagnostic::Problems;
use crate::model::{Datagrams, Spacing};
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::Node;
use trunkline_core::wire::{ipv4, udp};

const SPACINGS: [(&str, Spacing); 2] =
    [("poisson", Spacing::Poisson), ("constant", Spacing::Constant)];
/// What a datagram says of itself.
const SIZE_MIN: u64 = 14;
/// What fits a packet of IPv4.
const SIZE_MAX: u64 = (u16::MAX as usize - ipv4::HEADER_LEN - udp::HEADER_LEN) as u64;
/// Sizes of one mix.
const SIZES_MAX: usize = 64;

pub(super) fn datagrams(s: &mut Section<'_>, problems: &mut Problems) -> Option<Datagrams> {
    let sizes = s.req(problems, "sizes", "\"1472B\" or [\"18B\", \"1472B\"]", sizes);
    let rate = s.req(problems, "rate", "\"4mbit\"", reader::rate);
    let spacing = s.or(problems, "spacing", Spacing::Poisson, reader::choice(&SPACINGS, &[]));
    Some(Datagrams { sizes: sizes?, rate: rate?, spacing })
}

/// One size, or several, each as likely as the others.
fn sizes(node: &Node) -> Taken<Vec<u32>> {
    let one = reader::size::<u32>(SIZE_MIN, SIZE_MAX);
    match node.as_array() {
        None => one(node).map(|size| vec![size]),
        Some(nodes) if (1..=SIZES_MAX).contains(&nodes.len()) => nodes.iter().map(one).collect(),
        Some(_) => Err(Unfit::new("is no list of sizes", format!("from 1 to {SIZES_MAX} sizes"))),
    }
}
