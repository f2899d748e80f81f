//! What a serial link's bytes go through: `framing`, and `lab.modem`.

use crate::diagnostic::{Problem, Problems};
use crate::model::Modem;
use crate::reader::{self, Section, Taken, Unfit};
use crate::tree::Node;
use trunkline_core::link::framing::{Framing, Header, HeaderCompression, LineCoding, Payload};
use trunkline_core::link::modem::Blocks;
use trunkline_core::units::{BitRate, Ratio};
use trunkline_core::wire::ppp::{Agreed, Field};

const LINES: [(&str, LineCoding); 2] =
    [("async-8n1", LineCoding::Async8n1), ("sync", LineCoding::Sync)];
const HEADERS: [(&str, Kind); 3] = [("slip", Kind::Slip), ("ppp", Kind::Ppp), ("none", Kind::None)];
const FIELDS: [(&str, Field); 2] = [("compressed", Field::Compressed), ("full", Field::Full)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Slip,
    Ppp,
    None,
}

/// The framing of a serial link.
pub(super) fn framing(s: &mut Section<'_>, payload: Payload, problems: &mut Problems) -> Framing {
    let line = LineCoding::Async8n1;
    let mut framing = Framing { line, header: Header::Slip, payload, ..Framing::PLAIN };
    let Some(mut s) = s.section(problems, "framing") else {
        return framing;
    };
    framing.line = s.or(problems, "line", framing.line, reader::choice(&LINES, &[]));
    let kind = s.or(problems, "header", Kind::Slip, reader::choice(&HEADERS, &[]));
    framing.gap = s.or(problems, "gap", framing.gap, reader::size(0, 1000));
    let vj = s.or(problems, "vj", false, |node| match reader::flag(node)? {
        true if kind == Kind::None => {
            Err(Unfit::new("needs a header that tells what a packet is", "header = \"ppp\""))
        }
        vj => Ok(vj),
    });
    if vj {
        framing.compression = HeaderCompression::VanJacobson;
    }
    let accm = s.opt(problems, "accm", only(kind, reader::whole(0, u32::MAX.into())));
    let fields = s.opt(problems, "fields", only(kind, reader::choice(&FIELDS, &[])));
    framing.header = match kind {
        Kind::Slip => Header::Slip,
        Kind::None => Header::None,
        Kind::Ppp => {
            let field = fields.unwrap_or(Field::Compressed);
            Header::Ppp(Agreed { accm: accm.unwrap_or(0), address: field, protocol: field })
        }
    };
    s.later(&["mru", "auth"]);
    s.finish(problems);
    framing
}

/// A key that only PPP has.
fn only<T>(kind: Kind, take: impl Fn(&Node) -> Taken<T>) -> impl Fn(&Node) -> Taken<T> {
    move |node| match kind {
        Kind::Ppp => take(node),
        Kind::Slip | Kind::None => Err(Unfit::new("is PPP's alone", "header = \"ppp\"")),
    }
}

/// Bytes of data in a block of V.42 (N401) unless the modems agree on others.
const BLOCK: u16 = 128;
/// Flag, address, control and check sequence of such a block, with what bit stuffing adds.
const BLOCK_OVERHEAD: u16 = 7;
/// What the usual modem keeps between its port and its line, in bytes: an assumption.
const BUFFER: u32 = 2048;
/// The network in front of the computer or terminal server.
const FEED: BitRate = BitRate::from_bps(10_000_000);
/// The fastest port of a PC.
const DTE: BitRate = BitRate::from_bps(115_200);
/// No more than this is left of text by any compression of a modem.
const COMPRESSION_MAX: f64 = 100.0;

/// The modems of a serial link. The line between them is theirs to say.
pub(super) fn modem(
    s: &mut Section<'_>,
    framing: &mut Framing,
    problems: &mut Problems,
) -> Option<Modem> {
    let mut s = s.section(problems, "modem")?;
    if framing.gap > 0 {
        let problem = Problem::new(s.place, &s.path, "a modem's line has no `gap`");
        problems.push(problem.accepted(["framing without gap"]));
    }
    let dte = s.or(problems, "dte", DTE, reader::rate);
    let feed = s.or(problems, "feed", FEED, reader::rate);
    framing.line = s.or(problems, "line", LineCoding::Sync, reader::choice(&LINES, &[]));
    let corrects = framing.line == LineCoding::Sync;
    let correcting = move |node: &Node| match corrects {
        true => Ok(()),
        false => Err(Unfit::new(
            format!("= {} needs modems that correct errors", node.value),
            "line = \"sync\"",
        )),
    };
    let data = s.or(problems, "block", BLOCK, |node| {
        correcting(node).and_then(|()| reader::size(1, 4096)(node))
    });
    let overhead = s.or(problems, "block_overhead", BLOCK_OVERHEAD, |node| {
        correcting(node).and_then(|()| reader::size(0, 4096)(node))
    });
    let compressed_ppm = s.or(problems, "compression", 1_000_000, |node| {
        correcting(node).and_then(|()| compression(node))
    });
    let expansion = s.or(problems, "expansion", Ratio::ZERO, |node| {
        correcting(node).and_then(|()| reader::ratio(node))
    });
    let buffer = s.or(problems, "buffer", BUFFER, reader::size(1, 1 << 20));
    s.finish(problems);
    let blocks = corrects.then_some(Blocks { data, overhead });
    let payload_ppm = match framing.payload {
        Payload::Random => 1_000_000 + expansion.as_ppb() / 1000,
        Payload::Text | Payload::Zeros => compressed_ppm,
    };
    Some(Modem { dte, feed, blocks, payload_ppm, buffer })
}

/// How many bytes of text become one; as what is left of a million.
fn compression(node: &Node) -> Taken<u32> {
    let ratio = reader::number(node)?;
    match (1.0..=COMPRESSION_MAX).contains(&ratio) {
        true => Ok((1e6 / ratio).round() as u32),
        false => Err(Unfit::new("is no ratio", "1 to 100: bytes of text that become one")),
    }
}
