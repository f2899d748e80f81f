//! Cutting an IPv4 packet into fragments that a link takes (RFC 791, 3.2).
//!
//! Deviations: options are left out of what is cut.

use crate::Context;
use crate::frame::Frame;
use crate::wire::ipv4::{self, Fragment, Packet, Repr};

/// Cuts a packet, which may be a fragment itself, so that no piece is longer than `mtu` bytes. The frame is
/// taken, its pieces are given to `out` in order. A packet that fits is passed on as it is; one that cannot
/// be cut is answered.
///
/// # Errors
/// The frame, when it must not be cut, is no IPv4 packet, or `mtu` leaves no room for eight bytes.
pub(super) fn fragment(
    cx: &mut Context,
    frame: Frame,
    mtu: u16,
    mut out: impl FnMut(&mut Context, Frame),
) -> Result<(), Frame> {
    let (bytes, elided) = (cx.frames.bytes(frame), cx.frames.elided(frame));
    let Ok(packet) = Packet::new_checked(bytes, elided) else {
        return Err(frame);
    };
    if packet.total_len() <= mtu {
        out(cx, frame);
        return Ok(());
    }
    let room = u32::from(mtu).saturating_sub(ipv4::HEADER_LEN as u32) / 8 * 8;
    let (repr, part) = match Repr::parse_fragment(&packet) {
        Ok(read) if room > 0 && !read.0.dont_fragment => read,
        _ => return Err(frame),
    };
    let (start, in_memory) = (packet.header_len(), packet.payload().len() as u32);
    let len = u32::from(repr.payload_len);
    let is_corrupt = cx.frames.is_corrupt(frame);
    let mut at = 0;
    while at < len {
        let end = len.min(at + room);
        let piece = Repr { payload_len: (end - at) as u16, ..repr };
        let offset = part.offset + at as u16;
        let mut header = [0; ipv4::HEADER_LEN];
        piece.emit_fragment(Fragment { offset, more: end < len || part.more }, &mut header);
        let held = at.min(in_memory)..end.min(in_memory);
        let zeros = (end - at) - (held.end - held.start);
        let held = start + held.start as usize..start + held.end as usize;
        let cut = cx.frames.insert_with(header.len() + held.len(), zeros, |space| {
            space[..header.len()].copy_from_slice(&header);
        });
        cx.frames.copy_within(frame, held, cut, header.len());
        if is_corrupt {
            cx.frames.mark_corrupt(cut);
        }
        out(cx, cut);
        at = end;
    }
    cx.frames.remove(frame);
    Ok(())
}
