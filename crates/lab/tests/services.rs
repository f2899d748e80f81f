//! What runs over datagrams: calls of a server, routes told to all, and members that hear each other.

mod plans;

use plans::{metric, run_text};
use trunkline_lab::result::ResultDocument;

/// A plan that lasts so long, with a cable `c`.
fn plan(lab: &str, rest: &str) -> String {
    format!(
        "name = \"p\"\n[lab]\n{lab}\n[[lab.segment]]\nname = \"c\"\nrate = \"10mbit\"\narp = true\n{rest}"
    )
}

/// One call after the other, of six fragments, to a server that is a station as `server` says.
fn calls(lab: &str, server: &str, app: &str) -> String {
    let rest = format!(
        "[[lab.host]]\nname = \"server\"\n{server}\n\
         [[lab.host]]\nname = \"client\"\nlink = {{ to = \"c\" }}\n\
         [[lab.flow]]\nname = \"nfs\"\nfrom = \"client\"\nto = \"server\"\n\
         app = {{ kind = \"rpc\", request = \"8300B\", {app} }}\n"
    );
    plan(lab, &rest)
}

#[test]
fn a_call_of_six_fragments_that_loses_one_is_asked_again_after_a_timeout_that_doubles() {
    // The processor has the first fragment, and the card places for four.
    let server = "link = { to = \"c\" }\n\
                  cpu = { base = \"sun-3/60\", interrupt = \"20ms\", receive_ring = \"4p\" }";
    // It begins within 0.7 s; 0.7, 2.1, 4.9 and 10.5 s later it asks again.
    for (lasts, again) in [("4800ms", 2.0), ("5700ms", 3.0), ("10400ms", 3.0), ("11300ms", 4.0)] {
        let lab = format!("duration = \"{lasts}\"");
        let result = run_text(&calls(&lab, server, "timeout = \"700ms\""), &[]);
        assert_eq!(metric(&result, "nfs.retransmitted"), again, "within {lasts}");
        // Of the first six most were lost while the server's address was asked for.
        assert_eq!(metric(&result, "server.overruns"), again, "one of each six");
        assert_eq!((metric(&result, "nfs.calls"), metric(&result, "nfs.unanswered")), (0.0, 1.0));
    }
    // With a place for each nobody asks twice.
    let roomy = server.replace("4p", "5p");
    let lab = "duration = \"6s\"\nwarmup = \"1500ms\"";
    let result = run_text(&calls(lab, &roomy, "timeout = \"700ms\""), &[]);
    assert!(metric(&result, "nfs.calls") > 10.0);
    assert_eq!(metric(&result, "nfs.retransmitted"), 0.0);
}

#[test]
fn each_call_asked_again_has_waited_for_its_timeout() {
    let server = "link = { to = \"c\", receiver = { loss = \"5%\" } }";
    let result =
        run_text(&calls("duration = \"200s\"", server, "timeout = \"700ms\", count = 40"), &[]);
    let of = |name: &str| metric(&result, &format!("nfs.{name}"));
    let [calls, again] = [of("calls"), of("retransmitted")];
    assert!(calls == 40.0 && again > 3.0, "{calls} calls, {again} again");
    // Eight milliseconds are the call and its answer; the rest is patience.
    assert!((0.005..0.010).contains(&of("time_p50")), "{}", of("time_p50"));
    let waited = calls * (of("time_mean") - of("time_p50"));
    assert!(waited > 0.7 * again - 0.1 && waited < 2.0 * 0.7 * again, "{waited} s for {again}");
}

/// So many hosts `h`, and what the first ten of them do.
fn cluster(lab: &str, hosts: u32, host: &str, flows: &str) -> String {
    let link = "link = { to = \"c\" }";
    let host = if host.contains("link") { host.to_owned() } else { format!("{link}\n{host}") };
    let rest = format!("[[lab.host]]\nname = \"h\"\ncount = {hosts}\n{host}\n{flows}");
    plan(lab, &rest)
}

const ROUTES: &str =
    "[[lab.flow]]\nname = \"rip\"\nfrom = \"h*\"\nto = \"c\"\napp = { kind = \"rip\" }\n";

#[test]
fn every_speaker_tells_its_routes_every_interval_from_its_own_time_on() {
    let told = |millis: u32| {
        let result = run_text(&cluster(&format!("duration = \"{millis}ms\""), 10, "", ROUTES), &[]);
        let [sent, heard] = ["rip.sent", "rip.heard"].map(|name| metric(&result, name));
        // Nobody hears himself.
        assert_eq!(heard, 9.0 * sent, "after {millis} ms");
        sent
    };
    assert_eq!((told(30_001), told(60_001)), (10.0, 20.0));
    let early = [7_500, 15_000, 22_500].map(told);
    let later = [37_500, 45_000, 52_500].map(told);
    assert_eq!(later, early.map(|sent| sent + 10.0));
    assert!(early.is_sorted() && (1.0..10.0).contains(&early[1]), "not at one time: {early:?}");
}

const SIGNS: &str =
    "[[lab.flow]]\nname = \"scs\"\nfrom = \"h*\"\nto = \"c\"\napp = { kind = \"heartbeat\" }\n";

#[test]
fn members_hear_each_other_and_stay() {
    let result = run_text(&cluster("duration = \"61s\"\nwarmup = \"10s\"", 4, "", SIGNS), &[]);
    let of = |name: &str| metric(&result, &format!("scs.{name}"));
    // Each to three, at 0, 0.75, 1.5 and 2.25 s and every 3 s from then on.
    assert_eq!((of("sent"), of("heard")), (240.0 + 6.0, 240.0 + 6.0));
    assert_eq!((of("crashes"), of("members")), (0.0, 4.0));
    assert!((of("silence_max") - 3.0).abs() < 0.01, "{}", of("silence_max"));
}

#[test]
fn a_member_leaves_exactly_when_its_patience_is_over() {
    // Whoever hears something less than 10 s after the last does not take it: nobody hears a second sign.
    let deaf = "link = { to = \"c\", receiver = { recovery = \"10s\", loss = \"100%\" } }";
    // Silence counts from the end of the warm-up on.
    for (millis, crashes) in [(29_999, 0.0), (30_001, 1.0)] {
        let lab = format!("duration = \"{millis}ms\"\nwarmup = \"10s\"");
        let result = run_text(&cluster(&lab, 2, deaf, SIGNS), &[]);
        assert_eq!(metric(&result, "scs.crashes"), crashes, "after {millis} ms");
        let silence = metric(&result, "scs.silence_max");
        assert!((silence - 20.0).abs() < 0.002, "{silence}");
    }
}

/// A host that tells everybody something every 1.9 ms, and two members of a cluster that need longer for it.
/// One of them is a little quicker, so that they do not fall into step.
fn flooded(more: &str) -> ResultDocument {
    let member = |nth: u32, packet: &str| {
        format!(
            "[[lab.host]]\nname = \"h{nth}\"\nlink = {{ to = \"c\" }}\ncpu = {{ base = \"sun-3/60\", \
             interrupt = \"0us\", packet = \"{packet}\", receive_ring = \"7p\", {more} }}\n"
        )
    };
    let flood = "[[lab.host]]\nname = \"loud\"\nlink = { to = \"c\" }\n[[lab.flow]]\nname = \"rip\"\n\
                 from = \"loud\"\nto = \"c\"\napp = { kind = \"rip\", interval = \"1900us\" }\n";
    let members = member(0, "4ms") + &member(1, "3700us");
    run_text(&plan("duration = \"30s\"", &format!("{members}{flood}{PATIENT}")), &[])
}

/// Signs of members that never leave.
const PATIENT: &str = "[[lab.flow]]\nname = \"scs\"\nfrom = \"h*\"\nto = \"c\"\n\
                       app = { kind = \"heartbeat\", timeout = \"60s\" }\n";

#[test]
fn a_processor_that_serves_its_card_all_the_time_runs_no_process_and_its_drivers_go_on() {
    let result = flooded("driver_queue = \"1p\"");
    assert!(metric(&result, "h0.cpu") > 0.99);
    // Half of what comes finds no place, and routes are heard by nobody.
    let share = metric(&result, "h0.overruns") / metric(&result, "rip.sent");
    assert!((0.4..0.6).contains(&share), "{share}");
    assert!(metric(&result, "h0.wakeups") < 10.0, "{}", metric(&result, "h0.wakeups"));
    // Signs leave, a frame at a time, and those that were taken are heard.
    let [sent, heard] = ["scs.sent", "scs.heard"].map(|name| metric(&result, name));
    assert!(sent == 21.0 && (4.0..16.0).contains(&heard), "{heard} of {sent}");
}

#[test]
fn what_finds_no_place_takes_nothing_of_the_memory_bus() {
    let result = flooded("bus = \"500us/KiB\"");
    let taken = metric(&result, "rip.sent") - metric(&result, "h0.overruns");
    // A route in 24 bytes behind 28 of headers and 14 of Ethernet.
    let need = taken * 66.0 * 0.0005 / 1024.0 / 30.0;
    let bus = metric(&result, "h0.bus");
    assert!((bus / need - 1.0).abs() < 0.03, "{bus} of the bus, {need} for what was taken");
}
