use super::*;
use proptest::prelude::*;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Splits a capture into block types and bodies, checking both lengths.
fn blocks(mut bytes: &[u8]) -> Vec<(u32, &[u8])> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        let len = u32_at(bytes, 4) as usize;
        assert_eq!(len % 4, 0);
        assert_eq!(u32_at(bytes, len - 4) as usize, len);
        blocks.push((u32_at(bytes, 0), &bytes[8..len - 4]));
        bytes = &bytes[len..];
    }
    blocks
}

/// Splits options into codes and values, up to the end of options.
fn options(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut options = Vec::new();
    loop {
        let (code, len) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
        if code == 0 {
            assert_eq!(bytes.len(), 4);
            return options;
        }
        options.push((code, &bytes[4..4 + len]));
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
}

#[test]
fn a_capture_reads_back() {
    let mut out = Vec::new();
    section_header(&mut out);
    interface_description(&mut out, "line0 up", LinkType::RAW_IP);
    interface_description(&mut out, "line1", LinkType::ETHERNET);
    enhanced_packet(&mut out, 1, Instant::from_nanos(0x1_2345_6789_abcd), b"12345", 1500);

    let blocks = blocks(&out);
    let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
    assert_eq!(kinds, [0x0a0d_0d0a, 1, 1, 6]);

    let section = blocks[0].1;
    assert_eq!(u32_at(section, 0), 0x1a2b_3c4d);
    assert_eq!((u16_at(section, 4), u16_at(section, 6)), (1, 0));
    assert_eq!(section[8..16], [0xff; 8]);
    assert_eq!(options(&section[16..]), [(4, &b"trunkline"[..])]);

    let line0 = blocks[1].1;
    assert_eq!((u16_at(line0, 0), u16_at(line0, 2), u32_at(line0, 4)), (101, 0, 0));
    assert_eq!(options(&line0[8..]), [(2, &b"line0 up"[..]), (9, &[9])]);
    assert_eq!(u16_at(blocks[2].1, 0), 1);

    let packet = blocks[3].1;
    let words: Vec<u32> = (0..5).map(|n| u32_at(packet, n * 4)).collect();
    assert_eq!(words, [1, 0x1_2345, 0x6789_abcd, 5, 1500]);
    assert_eq!(&packet[20..], b"12345\0\0\0");
}

#[test]
fn a_name_the_format_cannot_hold_is_left_out() {
    let mut out = Vec::new();
    interface_description(&mut out, &"x".repeat(65_536), LinkType::RAW_IP);
    assert_eq!(options(&blocks(&out)[0].1[8..]), [(9, &[9u8][..])]);
}

proptest! {
    #[test]
    fn packets_read_back(
        packets in prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 0..70)), 0..5),
        more in 0u32..2000,
    ) {
        let mut out = Vec::new();
        for (nanos, bytes) in &packets {
            enhanced_packet(&mut out, 3, Instant::from_nanos(*nanos), bytes, bytes.len() as u32 + more);
        }
        let blocks = blocks(&out);
        prop_assert_eq!(blocks.len(), packets.len());
        for ((kind, body), (nanos, bytes)) in blocks.into_iter().zip(&packets) {
            prop_assert_eq!(kind, 6);
            prop_assert_eq!(u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8)), *nanos);
            prop_assert_eq!(u32_at(body, 12) as usize, bytes.len());
            prop_assert_eq!(u32_at(body, 16), bytes.len() as u32 + more);
            prop_assert_eq!(&body[20..20 + bytes.len()], &bytes[..]);
            prop_assert_eq!(body.len(), 20 + bytes.len().next_multiple_of(4));
        }
    }
}
