//! Members that carry one way.

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// A member that only receives, as a cable modem does, and a telephone line that only sends.
fn cable_and_phone() -> [MemberConfig; 2] {
    [
        MemberConfig { direction: Ways::ReceiveOnly, priority: 1, ..line(0, 10_000_000) },
        MemberConfig { direction: Ways::SendOnly, ..line(1, 28_800) },
    ]
}

fn bed_with_traffic(mode: Mode) -> Bed {
    let mut bed = Bed::new(mode, &[]);
    let config = BondConfig { traffic: Some(PATIENCE), ..*bed.bond.config() };
    bed.bond = Bond::new(Instant::ZERO, config);
    for line in cable_and_phone() {
        bed.enslave(line).expect("enslaved");
    }
    bed
}

#[test]
fn every_mode_sends_over_what_has_a_transmitter() {
    for mode in Mode::ALL {
        let mut bed = Bed::new(mode, &cable_and_phone());
        let sent: Vec<Frame> = (0..3).map(|_| bed.send(100)).collect();
        let mut out = Vec::new();
        while out.len() < sent.len() {
            out.extend(bed.poll(1));
            bed.transmitted(1, 100);
        }
        assert_eq!(out, sent, "{}", mode.name());
        assert_eq!(bed.poll(0), [], "{}", mode.name());
    }
}

/// Its carrier is the receiver's affair: it is neither buried nor a reason to hold anything back.
#[test]
fn the_carrier_of_a_member_that_only_receives_says_nothing_of_sending() {
    for mode in Mode::ALL {
        let mut bed = Bed::new(mode, &cable_and_phone());
        bed.link(0, LinkChange::Down);
        let frame = bed.send(100);
        assert_eq!(bed.poll(1), [frame], "{}", mode.name());
        bed.wait(1500);
        assert!(bed.bond.member(LinkId(0)).is_some(), "{} buries it", mode.name());
        // Up it does not help a line that is down.
        bed.link(0, LinkChange::Up);
        bed.link(1, LinkChange::Down);
        bed.send(100);
        assert_eq!(bed.poll(0), [], "{}", mode.name());
    }
}

#[test]
fn a_host_that_can_only_receive_drops_what_it_would_send() {
    for mode in Mode::ALL {
        let mut bed = Bed::new(mode, &cable_and_phone()[..1]);
        bed.send(100);
        assert_eq!(bed.cx.work.dropped(DropReason::NoMember), 1, "{}", mode.name());
    }
}

/// What waits for a member when it loses its transmitter goes over the others.
#[test]
fn a_member_that_stops_sending_gives_back_what_it_holds() {
    let mut bed = Bed::new(Mode::ActiveBackup, &[line(0, 9_600), line(1, 9_600)]);
    let sent: Vec<Frame> = (0..3).map(|_| bed.send(100)).collect();
    let deaf = MemberConfig { direction: Ways::ReceiveOnly, ..line(0, 9_600) };
    bed.enslave(deaf).expect("enslaved");
    for frame in &sent {
        assert_eq!(bed.poll(1), [*frame]);
        bed.transmitted(1, 100);
    }
}

#[test]
fn sb_5_a_one_way_path_is_up_while_traffic_comes_though_it_cannot_transmit() {
    for mode in Mode::ALL {
        let mut bed = bed_with_traffic(mode);
        let is_up = |bed: &Bed| bed.bond.member(LinkId(0)).expect("a member").is_up();
        for _ in 0..5 {
            bed.wait(9_000);
            let frame = bed.cx.frames.insert(&[0x45; 40], 0);
            bed.bond.handle_frame(bed.now, &mut bed.cx, LinkId(0), frame);
            assert!(is_up(&bed), "{}: it is heard", mode.name());
            assert_eq!(bed.bond.silent_at(), Some(bed.now + PATIENCE));
        }
        let member = bed.bond.member(LinkId(0)).expect("a member");
        assert!(!member.can_send() && member.silences() == 0);
        bed.wait(9_999);
        assert!(is_up(&bed));
        bed.wait(1);
        assert!(!is_up(&bed), "{}: ten seconds of silence", mode.name());
        assert_eq!(bed.bond.silent_at(), None, "judged once");
        bed.wait(5_000);
        let frame = bed.cx.frames.insert(&[0x45; 40], 0);
        bed.bond.handle_frame(bed.now, &mut bed.cx, LinkId(0), frame);
        let member = bed.bond.member(LinkId(0)).expect("a member");
        assert!(member.is_up(), "{}: heard again", mode.name());
        assert_eq!(member.silence(bed.now), Duration::from_secs(5));
        // The line that sends is not listened to, and all the while it carried.
        assert!(bed.bond.member(LinkId(1)).expect("a member").can_send());
    }
}
