//! The runner itself: a script that must fail does, and says where and why; and no text at all makes
//! the parser, the runner or the core panic.

use crate::runner::{play_on, variants};
use crate::{parser, texts, verdict};
use trunkline_core::rng::Rng;

const HEADER: &str = "# A title.\nrfc 9293 3.5\n";

#[track_caller]
fn fails(lines: &str, message: &str) {
    let error = verdict("made/up.script", &format!("{HEADER}{lines}")).expect_err("it must fail");
    let told = error.split("\n  with").next().unwrap_or(&error);
    assert_eq!(told, message);
}

#[test]
fn a_packet_that_nobody_expects_fails() {
    fails(
        "connect",
        "made/up.script:3: at the end: a packet left that nobody expects: \
         S 0(0) ack 512 win 65535 [Mss(1460), SackPermitted, Stamps(Some(1), Some(0)), Scale(7)] \
         at 0.000000s (flow 0)",
    );
    fails(
        "established\nwrite 10\n+10ms close",
        "made/up.script:5: a packet left that nobody expects: \
         P. 1(10) ack 1 win 65535 at 0.100000s (flow 0)\n  step: +10ms close",
    );
}

#[test]
fn a_packet_that_does_not_come_fails() {
    fails(
        "established\nwrite 10\n> P. 1(10) ack 1\n+100ms > . 1 ack 1",
        "made/up.script:6: no packet left at 0.200000s (next Retransmit at 0.400000s)\
         \n  step: +100ms > . 1 ack 1",
    );
}

#[test]
fn a_packet_that_is_another_fails() {
    fails(
        "established\nwrite 10\n> . 2(11) ack 3 win 7 urg 1 ect0",
        "made/up.script:5: the flags is P., not ., seq is 1, not 2, the length is 10, not 11, \
         ack is 1, not 3, win is 65535, not 7, urg is 0, not 1, the ECN field is 0, not 2\
         \n  came: P. 1(10) ack 1 win 65535 at 0.100000s (flow 0)\
         \n  step: > . 2(11) ack 3 win 7 urg 1 ect0",
    );
}

#[test]
fn a_packet_at_another_time_fails() {
    fails(
        "established\nwrite 10\n> P. 1(10) ack 1\n+301ms > P. 1(10) ack 1",
        "made/up.script:6: expected at 0.401000s\
         \n  came: P. 1(10) ack 1 win 65535 at 0.400000s (flow 0)\
         \n  step: +301ms > P. 1(10) ack 1",
    );
}

#[test]
fn options_that_are_others_fail() {
    let syn = "made/up.script:3: the options are [Mss(1460), SackPermitted, \
               Stamps(Some(1), Some(0)), Scale(7)], not [Mss(1460)]\
               \n  came: S 0(0) ack 512 win 65535 [Mss(1460), SackPermitted, \
               Stamps(Some(1), Some(0)), Scale(7)] at 0.000000s (flow 0)\
               \n  step: > S 0 <mss 1460>";
    fails("connect\n> S 0 <mss 1460>", &syn.replace(":3:", ":4:"));
}

#[test]
fn a_figure_that_is_another_fails() {
    fails(
        "established\nexpect cwnd 9mss",
        "made/up.script:4: cwnd is 10mss, not 9mss\n  step: expect cwnd 9mss",
    );
    fails(
        "established\nexpect speed 9",
        "made/up.script:4: `speed` is no figure\n  step: expect speed 9",
    );
    fails(
        "established\nexpect timer retransmit 1s",
        "made/up.script:4: the next timer is none\n  step: expect timer retransmit 1s",
    );
}

#[test]
fn what_the_application_sees_is_compared() {
    fails(
        "established\n< P. 1(4) ack 1\n> . 1 ack 5\nevent readable readable",
        "made/up.script:6: the events are [\"readable\"]\n  step: event readable readable",
    );
    fails(
        "established\n< P. 1(4) ack 1 junk\n> . 1 ack 5\nread all",
        "made/up.script:6: the byte read at 0 is not the one sent\n  step: read all",
    );
    fails("established\nread 4", "made/up.script:4: 0 bytes could be read\n  step: read 4");
    fails("write 4", "made/up.script:3: there is no connection\n  step: write 4");
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let wrong = |text: &str| parser::parse("x", text).expect_err("it must fail");
    let told = |lines: &str| wrong(&format!("{HEADER}{lines}"));
    assert_eq!(wrong("rfc 1 2").what, "a script begins with a title: `# What it proves.`");
    assert_eq!(wrong("# A title").what, "say what it is about: `rfc NUMBER SECTION`");
    for (line, what) in [
        ("dance", "`dance` is no step"),
        ("+5 nothing", "`5` is no time: write 1.5s, 40ms, 10us or 1ns"),
        ("config nagle=perhaps", "`perhaps`: expected on or off"),
        ("config nagel=on", "`nagel` is no setting"),
        ("< X 1", "`X` is no flag of FSRP.UEW"),
        ("< S", "then comes its sequence number"),
        ("< S 0 win 70000", "`70000` is no number that fits here"),
        ("< S 0 <mss>", "a number is missing"),
        ("< S 0 <mss 1460", "options end with `>`"),
        ("< . 1(5 ack 1", "a length ends with `)`"),
        ("< . 1 ack 1 sideways", "`sideways` says nothing about a packet"),
        ("close now", "`now` is too much"),
        ("+900000000s nothing", "900000000s is too long"),
    ] {
        let error = told(line);
        assert_eq!((error.line, error.what.as_str()), (3, what), "{line}");
    }
}

#[test]
fn no_text_makes_the_parser_panic() {
    let corpus: Vec<u8> = texts().into_iter().flat_map(|(_, text)| text.into_bytes()).collect();
    let mut rng = Rng::new(7);
    for _ in 0..2_000 {
        let from = rng.below(corpus.len() as u64) as usize;
        let len = rng.below(200) as usize;
        let mut bytes = corpus[from..(from + len).min(corpus.len())].to_vec();
        for _ in 0..rng.below(8) {
            if !bytes.is_empty() {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.below(256) as u8;
            }
        }
        let _ = parser::parse("x", &String::from_utf8_lossy(&bytes));
    }
}

/// Lines of many scripts in any order: whatever is said to it, the core keeps what must always hold.
#[test]
fn no_order_of_lines_makes_the_core_panic() {
    let texts = texts();
    let lines: Vec<&str> = texts.iter().flat_map(|(_, text)| text.lines()).collect();
    let starts = ["established", "accepted <mss 1000, sackOK, ts, wscale 3>", "listen"];
    let mut rng = Rng::new(11);
    for round in 0..400 {
        let mut text = format!("{HEADER}{}\n", starts[round % starts.len()]);
        for _ in 0..60 {
            text += lines[rng.below(lines.len() as u64) as usize];
            text.push('\n');
        }
        let script = parser::parse("x", &text).unwrap_or_else(|wrong| panic!("{wrong:?}\n{text}"));
        play_on(&script, variants()[round % 4]);
    }
}
