//! Broadcast storms: what a datagram to everybody does to a cable of hosts that take it for a stranger's.

use super::cable::{CAREFUL, CARELESS, Net, address};
use crate::host::{ArpReplies, Asking, Form, Forwarding, InterfaceId, NetworkConfig, Rule, Rules};
use crate::time::Duration;
use crate::wire::rip::{self, Command, Entry, PORT};
use std::net::Ipv4Addr;

const SECOND: Duration = Duration::from_secs(1);
/// What a machine of the time takes for a frame to everybody.
const SERVICE: Duration = Duration::from_millis(1);
const HOSTS: usize = 20;
const CARD: InterfaceId = InterfaceId(0);

/// A host of 4.2BSD: zeros, none of the rules but these, and it passes on.
fn faulty(rules: Rules) -> NetworkConfig {
    NetworkConfig {
        rules,
        form: Form::Zeros,
        forwarding: Forwarding::On,
        reassembly: Duration::from_secs(30),
    }
}

/// A cable of hosts of which the last `count` are faulty, but for `rules`.
fn cable(count: usize, rules: Rules) -> Net {
    let mut net = Net::new(1, SERVICE);
    for host in 0..HOSTS {
        let is_faulty = host >= HOSTS - count;
        let config = if is_faulty { faulty(rules) } else { NetworkConfig::default() };
        let asks = if rules.has(Rule::ArpRate) { Asking::RFC_1122 } else { Asking::BSD_4_2 };
        net.add_host(config);
        // Members of a cluster know each other for long: they do not speak IP.
        let healthy = if host < 2 { CARELESS } else { CAREFUL };
        net.plug(host, 0, if is_faulty { (24, asks, ArpReplies::Own) } else { healthy });
        net.hosts[host].bind(PORT).expect("is free");
    }
    net
}

/// What `routed` tells every 30 seconds on a network of so many subnets.
fn routes(count: usize) -> Vec<u8> {
    let entry = |i: usize| Entry { destination: Ipv4Addr::new(128, 8, i as u8, 0), metric: 1 };
    let told = rip::Repr { command: Command::Response, entries: (0..count).map(entry).collect() };
    let mut bytes = vec![0; told.len()];
    told.emit(&mut bytes);
    bytes
}

#[test]
fn bst_1_each_faulty_host_answers_a_broadcast_with_one_of_its_own() {
    for count in [0, 1, 7, HOSTS - 1] {
        let mut net = cable(count, Rules::BSD_4_2);
        net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
        net.pass(SECOND * 29);
        assert_eq!(net.frames_sent[0], 1 + count as u64);
        let asked: u64 = (0..HOSTS).map(|host| net.stats(host).arp_requests_sent).sum();
        assert_eq!(asked, count as u64);
        // The others have their datagram.
        assert!((1..HOSTS - count).all(|host| net.take(host, PORT).len() == 1));
    }
}

/// A cable with one host that says that everybody is everybody's.
fn cable_with_replier(count: usize, rules: Rules) -> Net {
    let mut net = cable(count, rules);
    let replier = net.add_host(NetworkConfig::default());
    net.plug(replier, 0, (24, Asking::RFC_1122, ArpReplies::Everybody));
    net
}

#[test]
fn bst_2_one_who_answers_for_everybody_melts_the_cable_down() {
    let mut net = cable_with_replier(10, Rules::BSD_4_2);
    net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
    net.pass(SECOND * 2);
    let (busy, sent) = (net.busy(0), net.frames_sent[0]);
    net.pass(SECOND * 2);
    let share = (net.busy(0).as_secs_f64() - busy.as_secs_f64()) / 2.0;
    let frames = net.frames_sent[0] - sent;
    assert!(share > 0.9 && frames > 2000, "{share} {frames}");
    // Every host is interrupted by nearly every frame.
    let heard = net.stats(0).broadcasts_received;
    assert!(heard > frames / 2, "{heard} of {frames}");
}

#[test]
fn bst_2_few_hosts_burn_out_when_the_hops_are_used_up() {
    // Two pass it on, each what the other sent: one copy a hop, and no growth.
    let mut net = cable_with_replier(2, Rules::BSD_4_2);
    net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
    net.pass(SECOND * 29);
    let forwarded: u64 = (0..HOSTS).map(|host| net.stats(host).forwarded).sum();
    assert_eq!(forwarded, 2 * 63);
}

#[test]
fn bst_3_with_the_rules_of_rfc_1122_there_is_no_frame_more() {
    let mut net = cable_with_replier(10, Rules::RFC_1122);
    net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
    net.pass(SECOND * 29);
    assert_eq!(net.frames_sent[0], 1);
    // And each of these alone is enough.
    for rule in [Rule::BothForms, Rule::NoForwarding, Rule::Discard] {
        let mut net = cable_with_replier(10, Rules::BSD_4_2.with(rule));
        net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
        net.pass(SECOND * 29);
        assert_eq!(net.frames_sent[0], 1, "{rule:?}");
    }
}

#[test]
fn bst_3_who_doubts_such_an_answer_does_not_repeat_the_packet() {
    let mut net = cable_with_replier(10, Rules::BSD_4_2.with(Rule::ArpDoubt));
    net.send_all(0, CARD, PORT, &routes(rip::ENTRIES_MAX));
    net.pass(SECOND * 29);
    // The datagram, ten questions, ten answers nobody believes.
    assert_eq!(net.frames_sent[0], 21);
}

/// Port of the members' hellos.
const HELLO: u16 = 6007;

/// The longest time, in seconds, that a member of a cluster hears nothing from another. Hosts 0 and 1 are
/// the members and tell each other that they are there every three seconds; those before `speakers` tell their routes in turn.
fn longest_silence(net: &mut Net, speakers: std::ops::Range<usize>, seconds: u64) -> u64 {
    let mut last = [0; 2];
    let mut longest = 0;
    for host in [0, 1] {
        net.hosts[host].bind(HELLO).expect("is free");
    }
    for second in 0..seconds {
        for (host, heard) in last.iter_mut().enumerate() {
            if second % 3 == 0 {
                let peer = address(0, 2 - host as u8);
                net.send(host, HELLO, peer, HELLO, 100);
            }
            if !net.take(host, HELLO).is_empty() {
                *heard = second;
            }
            longest = longest.max(second - *heard);
        }
        if second % 3 == 1 {
            let speaker = speakers.start + (second / 3) as usize % speakers.len();
            net.send_all(speaker, CARD, PORT, &routes(5));
        }
        net.pass(SECOND);
    }
    longest
}

#[test]
fn bst_4_a_cluster_loses_contact_in_a_storm_and_not_behind_a_router() {
    // All on one cable, with one who answers for everybody.
    let mut storm = cable_with_replier(10, Rules::BSD_4_2);
    let silence = longest_silence(&mut storm, 0..10, 180);
    assert!((21..120).contains(&silence), "{silence} s: over 20, and not over 120");
    // The same hosts, who keep the rules.
    let mut calm = cable_with_replier(10, Rules::RFC_1122);
    let silence = longest_silence(&mut calm, 0..10, 60);
    assert!(silence <= 4, "{silence} s");
    // The members on a cable of their own, and a router between it and the storm.
    let mut apart = Net::new(2, SERVICE);
    for host in 0..HOSTS {
        let is_faulty = host >= HOSTS - 10;
        apart.add_host(if is_faulty { faulty(Rules::BSD_4_2) } else { NetworkConfig::default() });
        let (prefix, asking, own) = if is_faulty { CARELESS } else { CAREFUL };
        let replies = if host == 5 { ArpReplies::Everybody } else { own };
        apart.plug(host, usize::from(host > 1), (prefix, asking, replies));
        apart.hosts[host].bind(PORT).expect("is free");
    }
    let forwarding = Forwarding::On;
    let router = apart.add_host(NetworkConfig { forwarding, ..NetworkConfig::default() });
    apart.plug(router, 0, CAREFUL);
    apart.plug(router, 1, CAREFUL);
    let silence = longest_silence(&mut apart, 2..10, 60);
    assert!(silence <= 4, "{silence} s");
    assert!(apart.frames_sent[1] > 10 * apart.frames_sent[0], "there was a storm all the same");
}
