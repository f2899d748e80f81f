//! IPv4 and TCP headers: any bytes are survived, and what is read and written again reads the same.

use std::net::Ipv4Addr;
use trunkline_core::wire::{Integrity, ipv4, tcp};

/// Reads the input as an IPv4 packet with TCP inside, and once as a bare segment, so that a wrong
/// checksum in front does not keep mutations away from the options.
pub fn tcp(input: &[u8]) {
    if let Some((&tail, bytes)) = input.split_last() {
        packet(bytes, u32::from(tail));
    }
    packet(input, 0);
    segment(input, 0, Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
}

fn packet(bytes: &[u8], elided: u32) {
    let Ok(view) = ipv4::Packet::new_checked(bytes, elided) else {
        return;
    };
    segment(view.payload(), view.payload_elided(), view.src(), view.dst());
    let Ok(repr) = ipv4::Repr::parse(&view) else {
        return;
    };
    let mut again = vec![0; ipv4::HEADER_LEN];
    repr.emit(&mut again);
    again.extend_from_slice(view.payload());
    let view = ipv4::Packet::new_checked(&again, view.payload_elided()).expect("written by us");
    assert_eq!(ipv4::Repr::parse(&view), Ok(repr));
}

fn segment(bytes: &[u8], elided: u32, src: Ipv4Addr, dst: Ipv4Addr) {
    let Ok(view) = tcp::Packet::new_checked(bytes, elided) else {
        return;
    };
    assert_eq!(view.payload_len(), view.payload().len() + elided as usize);
    let read = tcp::Repr::parse(&view, src, dst, Integrity::Offloaded);
    match tcp::Repr::parse(&view, src, dst, Integrity::Intact) {
        Err(trunkline_core::wire::Error::Checksum) => {}
        verified => assert_eq!(verified, read, "a checksum changes nothing else"),
    }
    let Ok(first) = read else { return };

    // SACK blocks that find no room beside the other options are left out, the first ones stay.
    let second = write_and_read(&first, view.payload(), elided, src, dst);
    let kept = second.options.sack.iter().zip(first.options.sack.iter());
    assert!(second.options.sack.len() <= first.options.sack.len());
    assert!(kept.into_iter().all(|(kept, sent)| kept == sent));
    let mut but_sack = first;
    but_sack.options.sack = second.options.sack;
    assert_eq!(second, but_sack);
    assert_eq!(write_and_read(&second, view.payload(), elided, src, dst), second);
}

fn write_and_read(
    repr: &tcp::Repr,
    payload: &[u8],
    elided: u32,
    src: Ipv4Addr,
    dst: Ipv4Addr,
) -> tcp::Repr {
    let mut bytes = vec![0; repr.header_len()];
    repr.emit(&mut bytes, payload, elided, src, dst);
    bytes.extend_from_slice(payload);
    let view = tcp::Packet::new_checked(&bytes, elided).expect("written by us");
    assert_eq!(view.payload(), payload);
    tcp::Repr::parse(&view, src, dst, Integrity::Intact).expect("our checksum verifies")
}
