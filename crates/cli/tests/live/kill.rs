//! `kill -9` of either end, whatever it is doing: `up` or `down` repairs.
//!
//! `TRUNKLINE_KILLS` says how often, `TRUNKLINE_SEED` where the random moments begin.

use crate::site::{SIDES, Site, wait};
use std::process::Command;
use std::time::Duration;
use trunkline_core::rng::Rng;

/// What an end does when it is killed.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// It comes up at the terminal.
    Up,
    /// It comes up in the background.
    UpBehind,
    /// It carries packets.
    Carrying,
    /// It carries out this command.
    Command(&'static str),
}

const DOINGS: [Doing; 9] = [
    Doing::Up,
    Doing::UpBehind,
    Doing::Carrying,
    Doing::Command("enslave tl0 b 9mbit"),
    Doing::Command("emancipate tl0 a"),
    Doing::Command("set tl0.a rate 20mbit"),
    Doing::Command("reload tl0"),
    Doing::Command("show bond tl0 --json"),
    Doing::Command("down tl0"),
];

/// The longest from the beginning of what is done to the kill.
const MICROS_MAX: u64 = 40_000;

pub fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable);
    text.map_or(default, |text| text.parse().unwrap_or_else(|e| panic!("{variable}: {e}")))
}

fn kill(pid: &str) {
    // It may have ended by itself.
    let _gone = Command::new("kill").args(["-9", pid]).output().expect("kill");
}

/// Kills one end of a bond that is up at both while it does something.
fn kill_while(site: &Site, side: &str, doing: Doing, moment: Duration) {
    let pid = site.shown(side)["pid"].to_string();
    let up = format!("up ./plan.toml --as {side}");
    match doing {
        Doing::Up | Doing::UpBehind => {
            site.expect(side, "down tl0", 0, "bond tl0 is down");
            let mode = if matches!(doing, Doing::Up) { " --foreground" } else { "" };
            let mut starting = site.spawn(side, &format!("{up}{mode}"));
            wait(moment);
            starting.kill();
            site.processes(side).iter().for_each(|pid| kill(pid));
        }
        Doing::Carrying => {
            wait(moment);
            kill(&pid);
        }
        Doing::Command(words) => {
            let mut command = site.spawn(side, words);
            wait(moment);
            kill(&pid);
            assert!(command.ends(), "{words} does not wait for the dead");
        }
    }
}

#[test]
fn a_kill_at_any_moment_is_repaired() {
    let Some(site) = Site::new("moments") else {
        return;
    };
    let kills = number("TRUNKLINE_KILLS", 9);
    let mut rng = Rng::new(number("TRUNKLINE_SEED", 1)).fork("kills");
    site.up();
    let mut left_nothing = 0;
    for round in 0..kills {
        let side = SIDES[rng.below(2) as usize];
        let doing = DOINGS[((round + rng.below(2)) % DOINGS.len() as u64) as usize];
        // Most of what is done takes less than the longest moment.
        let latest = rng.below(MICROS_MAX);
        let moment = Duration::from_micros(rng.below(latest));
        println!("{round}: {side} is killed {moment:?} into {doing:?}");
        let other = if side == "home" { "server" } else { "home" };
        let survivor = site.shown(other)["pid"].clone();
        let traffic = site.traffic();
        kill_while(&site, side, doing, moment);
        drop(traffic);
        let up = format!("up ./plan.toml --as {side}");
        if rng.below(2) == 0 {
            let ran = site.run(side, "down tl0");
            match ran.code {
                Some(0) => {}
                Some(5) if ran.stderr.contains("is not up") => left_nothing += 1,
                _ => panic!("down repairs: {ran}"),
            }
            site.expect_clean_side(side);
            site.expect(side, "down tl0", 5, "is not up");
        }
        let ran = site.run(side, &up);
        assert_eq!(ran.code, Some(0), "up repairs: {ran}");
        assert_eq!(site.shown(other)["pid"], survivor, "the other end is as it was");
        site.ping("home", "10.99.0.2:7");
    }
    for side in SIDES {
        site.expect(side, "down tl0", 0, "bond tl0 is down");
    }
    site.expect_clean();
    println!(
        "kills: {kills} kills at random moments, all repaired; {left_nothing} had left nothing"
    );
}
