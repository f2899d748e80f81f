//! What congestion controls make of a line with a buffer of its own, in virtual time.

use std::fmt::Write as _;
use trunkline_lab::experiment::{self, Options};
use trunkline_lab::result::{FlowResult, ResultDocument};
use trunkline_plan::Document;

/// A line: what it carries in kbit/s, one-way delay in milliseconds, `queue` of the plan, MTU.
struct Line<'q> {
    kbit: f64,
    delay: u32,
    queue: &'q str,
    mtu: u16,
}

/// A modem of 28.8 kbit/s with a buffer far too deep: 18 s of it.
const MODEM: Line<'static> = Line { kbit: 28.8, delay: 50, queue: "\"64KiB\"", mtu: 576 };
/// What the headers of the tunnel, of IP and of TCP leave of a modem's rate, in bit/s.
const MODEM_CEILING: f64 = 28_800.0 * 524.0 / (576.0 + 28.0);

impl Line<'_> {
    /// Bulk transfers over it, each with its own transport. What arrives at the line comes four times as
    /// fast as it carries.
    fn run(&self, flows: &[&str]) -> ResultDocument {
        self.run_beside("", flows)
    }

    /// The same beside other flows.
    fn run_beside(&self, others: &str, flows: &[&str]) -> ResultDocument {
        let Line { kbit, delay, queue, mtu } = self;
        let arriving = 4.0 * kbit;
        let mut text = format!(
            "name = \"line\"\n\
             [[link]]\nname = \"line\"\nkind = \"udp\"\nrate = \"{arriving}kbit\"\n\
             lab = {{ rate = \"{kbit}kbit\", delay = \"{delay}ms\", queue = {queue} }}\n\
             at.home = {{ remote = \"10.77.0.2:4500\" }}\nat.isp = {{ remote = \"10.77.0.1\" }}\n\
             [bond.line0]\nends = [\"home\", \"isp\"]\nmembers = [\"line\"]\n\
             cipher = \"none\"\nmtu = {mtu}\n\
             [end.isp]\nlisten = \"0.0.0.0:4500\"\n\
             [lab]\nseed = 1\nduration = \"300s\"\nwarmup = \"10s\"\n"
        );
        for (index, tcp) in flows.iter().enumerate() {
            write!(
                text,
                "[[lab.flow]]\nname = \"up{index}\"\nfrom = \"home\"\nto = \"isp\"\n\
                 app = {{ kind = \"bulk\" }}\ntcp = {{ {tcp} }}\n"
            )
            .expect("a string takes everything");
        }
        text += others;
        let document = Document::parse("line.toml", &text, &|_| Err("no files".into()));
        let plan = document.and_then(|document| document.experiment());
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        experiment::run(&plan, Options::default(), &|_| ()).expect("a runnable plan").document
    }

    /// What each flow received after the warm-up, in bit/s.
    fn goodputs(&self, flows: &[&str]) -> Vec<f64> {
        self.run(flows).flows.iter().map(|flow| metric(flow, "goodput")).collect()
    }
}

fn metric(flow: &FlowResult, name: &str) -> f64 {
    flow.metrics[name].unwrap_or_else(|| panic!("no {name} in {:?}", flow.metrics))
}

#[test]
fn veg_1_vegas_fills_a_modem_line_without_filling_its_buffer_and_reno_overflows_it() {
    let results = ["vegas", "reno"]
        .map(|cc| MODEM.run(&[&format!("cc = \"{cc}\", receive_buffer = \"256KiB\"")]));
    let [vegas, reno] = results.each_ref().map(|result| &result.flows[0]);
    assert_eq!((metric(vegas, "retransmitted"), metric(vegas, "timeouts")), (0.0, 0.0));
    assert!(metric(vegas, "longest_gap") < 1.0);
    let share = metric(vegas, "goodput") / MODEM_CEILING;
    assert!((0.95..=1.0).contains(&share), "{share} of the ceiling");
    assert!(metric(reno, "retransmitted") > 0.0 && metric(reno, "longest_gap") > 2.0);
}

#[test]
fn vegas_keeps_within_a_modems_buffer_from_a_start_of_the_period() {
    let period = "receive_buffer = \"16KB\", initial_window = 2";
    for slow_start in ["every-rtt", "every-other-rtt"] {
        let line = Line { queue: "\"8KB\"", ..MODEM };
        let vegas =
            format!("cc = \"vegas\", vegas = {{ slow_start = \"{slow_start}\" }}, {period}");
        let result = line.run(&[&vegas]);
        let vegas = &result.flows[0];
        assert!(metric(vegas, "longest_gap") < 1.0, "{vegas:?}");
        assert_eq!(metric(vegas, "retransmitted"), 0.0);
        assert!(metric(vegas, "goodput") > 0.95 * MODEM_CEILING);
        let reno = line.run(&[&format!("cc = \"reno\", {period}")]);
        assert!(metric(&reno.flows[0], "retransmitted") > 0.0);
    }
}

/// 2 Mbit/s, 50 ms each way: 25 kB are on their way.
const PATH: Line<'static> = Line { kbit: 2000.0, delay: 50, queue: "\"25KB\"", mtu: 1472 };

#[test]
fn veg_5_beside_reno_vegas_starves_the_more_the_larger_the_buffer() {
    for (queue, share_max) in [("\"25KB\"", 0.5), ("\"100KB\"", 0.3)] {
        let goodputs = Line { queue, ..PATH }.goodputs(&["cc = \"vegas\"", "cc = \"reno\""]);
        let share = goodputs[0] / goodputs.iter().sum::<f64>();
        assert!(share < share_max, "{queue}: {share}");
    }
}

/// Jain's index of two Vegas flows on a path of this rate.
fn jain_of_two(kbit: f64, slow_start: &str) -> f64 {
    let vegas =
        format!("cc = \"vegas\", initial_window = 2, vegas = {{ slow_start = \"{slow_start}\" }}");
    let goodputs = Line { kbit, queue: "\"400KB\"", ..PATH }.goodputs(&[&*vegas; 2]);
    let (sum, squares): (f64, f64) =
        (goodputs.iter().sum(), goodputs.iter().map(|goodput| goodput * goodput).sum());
    sum * sum / (goodputs.len() as f64 * squares)
}

/// They start together: one that comes while the other fills the queue takes that for the path and gets
/// more, as Vegas does.
#[test]
fn veg_6_two_vegas_flows_share() {
    for kbit in [1000.0, 2000.0, 5000.0, 10_000.0] {
        for slow_start in ["every-rtt", "every-other-rtt"] {
            let jain = jain_of_two(kbit, slow_start);
            assert!(jain >= 0.8, "{kbit} kbit/s, {slow_start}: {jain}");
        }
    }
}

#[test]
fn dct_5_dctcp_without_ecn_runs_as_reno_and_the_result_says_so() {
    let dctcp = PATH.run(&["cc = \"dctcp\", ecn = \"off\""]);
    let reno = PATH.run(&["cc = \"reno\""]);
    assert_eq!(dctcp.flows[0].metrics, reno.flows[0].metrics);
    let note = dctcp.flows[0].note.as_deref().expect("a note");
    assert!(note.contains("dctcp-reno"), "{note}");
    assert_eq!(reno.flows[0].note, None);
    let tokens = [&dctcp, &reno].map(|result| result.flows[0].cc.as_deref());
    assert_eq!(tokens[0], Some("ts sack dctcp-reno dctcp:fallback_mode"));
    assert_eq!(tokens[1], Some("ts sack reno"));
}

/// 20 Mbit/s, 5 ms each way: 25 kB are on their way. K by the rule of thumb is 3.6 kB; here it is more,
/// because segments are large in such a window.
#[test]
fn dctcp_fills_a_marking_line_without_a_loss_and_with_a_short_queue() {
    let queue = "{ kind = \"step-ecn\", limit = \"200p\", mark = \"8p\" }";
    let line = Line { kbit: 20_000.0, delay: 5, queue, mtu: 1472 };
    let ping = "[[lab.flow]]\nname = \"ping\"\nfrom = \"home\"\nto = \"isp\"\n\
                app = { kind = \"ping\", interval = \"100ms\" }\n";
    let result = line.run_beside(ping, &["cc = \"dctcp\""; 2]);
    let flow = |name: &str| result.flows.iter().find(|flow| flow.flow == name).expect("a flow");
    let goodputs = ["up0", "up1"].map(|name| metric(flow(name), "goodput"));
    let ceiling = metric(flow("up0"), "ceiling") / 4.0;
    let share = goodputs.iter().sum::<f64>() / ceiling;
    assert!(share > 0.97, "{share} of the ceiling");
    assert!(goodputs[0] / goodputs[1] > 0.8 && goodputs[1] / goodputs[0] > 0.8, "{goodputs:?}");
    for name in ["up0", "up1"] {
        let flow = flow(name);
        assert_eq!((metric(flow, "retransmitted"), metric(flow, "timeouts")), (0.0, 0.0));
        assert_eq!(flow.note, None);
        let tokens = flow.cc.as_deref().expect("tokens");
        assert!(tokens.starts_with("ts sack ecn dctcp dctcp:(ce_state:0,alpha:"), "{tokens}");
    }
    // The queue, not the path: at most K and what two windows add to it, 0.6 ms for a packet.
    let wait = metric(flow("ping"), "rtt_mean") - 0.010;
    assert!((0.001..0.010).contains(&wait), "{wait} s");
}

/// Classic ECN: a queue that marks in place of dropping, and a sender that asks for it.
#[test]
fn marks_take_the_place_of_losses_for_every_congestion_control() {
    let queue = "{ kind = \"step-ecn\", limit = \"200p\", mark = \"20p\" }";
    for cc in ["reno", "cubic"] {
        let line = Line { queue, ..PATH };
        let lost = |ecn: &str| {
            let result = line.run(&[&format!("cc = \"{cc}\", ecn = \"{ecn}\"")]);
            assert!(metric(&result.flows[0], "goodput") > 1.5e6, "{cc} {ecn}");
            metric(&result.flows[0], "retransmitted")
        };
        assert_eq!(lost("request"), 0.0, "{cc}");
        assert!(lost("on-request") > 0.0, "{cc}");
    }
}

/// The mean round trip of a ping beside a Reno transfer, in seconds.
fn ping_beside_reno(kind: &str, more: &str) -> f64 {
    let queue = format!("{{ kind = \"{kind}\", limit = \"100p\"{more} }}");
    let ping = "[[lab.flow]]\nname = \"ping\"\nfrom = \"home\"\nto = \"isp\"\n\
                app = { kind = \"ping\", interval = \"200ms\" }\n";
    let result = Line { queue: &queue, ..PATH }.run_beside(ping, &["cc = \"reno\""]);
    let flow = |name: &str| result.flows.iter().find(|flow| flow.flow == name).expect("a flow");
    assert!(metric(flow("up0"), "goodput") > 1.5e6, "{kind}");
    metric(flow("ping"), "rtt_mean")
}

#[test]
fn red_and_fq_codel_keep_the_wait_short_where_drop_tail_fills() {
    let drop_tail = ping_beside_reno("drop-tail", "");
    let red = ping_beside_reno("red", ", min = \"5p\", max = \"15p\"");
    let fq_codel = ping_beside_reno("fq-codel", "");
    let waits = [drop_tail, red, fq_codel].map(|rtt| rtt - 0.1);
    assert!(waits[1] < waits[0] / 3.0 && waits[2] < waits[1], "{waits:?} s");
}
