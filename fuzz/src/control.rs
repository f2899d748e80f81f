//! The control socket: any line is a request or is refused in words, and a request survives the way.

use trunkline_live::control::parse;

/// Reads the input as the lines of a client.
pub fn control(input: &[u8]) {
    for line in input.split(|byte| *byte == b'\n') {
        match parse(line) {
            Ok(request) => {
                let again = serde_json::to_vec(&request).expect("requests are JSON");
                assert!(!again.contains(&b'\n'), "a request is one line");
                assert_eq!(parse(&again), Ok(request));
            }
            Err(reason) => assert!(reason.starts_with("not a request: "), "{reason}"),
        }
    }
}
