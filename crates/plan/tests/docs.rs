//! The plans printed in the documentation are in order.

use trunkline_plan::Document;

#[test]
fn every_plan_in_the_documentation_checks() {
    let text = include_str!("../../../docs/plan.md");
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let plans: Vec<&str> = blocks.collect();
    assert_eq!(plans.len(), 2);
    for plan in plans {
        let document =
            Document::parse("docs/plan.md", plan, &|_| Err("no files".into())).expect("TOML");
        assert_eq!(document.check().to_string(), "");
    }
}

#[test]
fn the_example_means_what_it_says() {
    use trunkline_core::bond::Mode;
    use trunkline_core::queue::Limit;
    use trunkline_core::tcp::config::{Algorithm, Profile};
    use trunkline_core::time::Duration;
    use trunkline_plan::model::{App, Direction, FlowControl};

    let text = include_str!("../../../plans/eql-two-modems.toml");
    let document = Document::parse("eql-two-modems.toml", text, &|_| Err("no files".into()));
    let document = document.expect("TOML");
    assert_eq!(document.check().to_string(), "");
    let plan = document.experiment().and_then(|e| e.plan(0, None)).expect("a plan");
    let rates: Vec<u64> = plan.links.iter().map(|l| l.rate.up.as_bps()).collect();
    let weights: Vec<u64> = plan.links.iter().map(|l| l.weight.as_bps()).collect();
    assert_eq!((rates, weights), (vec![28_800, 14_400], vec![28_800, 14_400]));
    let modem = &plan.links[0];
    assert_eq!(modem.lab.delay, Duration::from_millis(50));
    assert_eq!(modem.lab.queue, Limit::Packets(20));
    assert_eq!(modem.at[1].tty.as_deref(), Some("/dev/ttyS4"));
    assert_eq!((modem.at[0].baud, modem.at[0].flow), (Some(115_200), Some(FlowControl::RtsCts)));
    let bond = &plan.bonds[0];
    assert_eq!((bond.mtu, bond.mode, &bond.members[..]), (576, [Mode::Eql; 2], &[0, 1][..]));
    assert_eq!(plan.ends[1].address[0].ip.to_string(), "10.1.1.2");
    assert_eq!((plan.lab.seed, plan.lab.duration), (1995, Duration::from_secs(300)));
    let flow = &plan.lab.flows[0];
    assert_eq!(flow.bond(), Some((0, Direction::Up)));
    assert_eq!((flow.tcp.profile, flow.tcp.algorithm), (Profile::Linux11, Algorithm::Reno));
    assert!(matches!(flow.app, App::Bulk(bulk) if bulk.bytes == Some(262_144)));
    let expect = &plan.lab.expects[0];
    assert_eq!((expect.min, expect.max), (Some(0.7), Some(1.3)));
    assert_eq!(expect.of.as_deref(), Some("modem0.rate"));
}
