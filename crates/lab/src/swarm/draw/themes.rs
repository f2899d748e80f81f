//! What else a seed draws: one of several small worlds, each written as a plan.

use super::draft::Draft;
use super::{etiquette, groups, one_way, segments, slow};
use trunkline_core::rng::Rng;
use trunkline_core::time::Duration;
use trunkline_plan::Document;
use trunkline_plan::model::Plan;

/// What has to come of a plan's flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::swarm) enum Outcome {
    /// Everything that has an end gets there.
    Delivered,
    /// Hosts behave badly: nothing but what holds always.
    Bounded,
    /// Nobody sends anything but what the flows say.
    Told,
    /// Two pass on what the flows say, as often as a packet may make hops.
    Circling,
}

/// A world by the name of what it is about.
pub(in crate::swarm) struct Theme {
    pub(in crate::swarm) name: &'static str,
    pub(in crate::swarm) outcome: Outcome,
    draw: fn(&mut Draft),
}

/// All of them, each as likely as the others.
const THEMES: [Theme; 11] = [
    Theme { name: "segment", outcome: Outcome::Delivered, draw: segments::alone },
    Theme { name: "routers", outcome: Outcome::Delivered, draw: segments::routed },
    Theme { name: "links on a segment", outcome: Outcome::Delivered, draw: segments::linked },
    Theme { name: "told", outcome: Outcome::Told, draw: etiquette::told },
    Theme { name: "unruly", outcome: Outcome::Bounded, draw: etiquette::unruly },
    Theme { name: "circling", outcome: Outcome::Circling, draw: etiquette::circling },
    Theme { name: "slow at a switch", outcome: Outcome::Delivered, draw: slow::switched },
    Theme { name: "slow at a bond", outcome: Outcome::Delivered, draw: slow::bonded },
    Theme { name: "one way", outcome: Outcome::Delivered, draw: one_way::loose },
    Theme { name: "one way, strict", outcome: Outcome::Bounded, draw: one_way::strict },
    Theme { name: "trunks", outcome: Outcome::Delivered, draw: groups::trunked },
];

/// A drawn plan, and what it is written as.
pub(in crate::swarm) struct Drawn {
    pub(in crate::swarm) theme: &'static Theme,
    pub(in crate::swarm) text: String,
    pub(in crate::swarm) plan: Plan,
}

/// The small world of a seed. A plan that its own checks refuse is told.
pub(in crate::swarm) fn draw(seed: u64) -> Result<Drawn, String> {
    let mut rng = Rng::new(seed).fork("themes");
    let theme = &THEMES[rng.below(THEMES.len() as u64) as usize];
    let mut draft = Draft::new(rng.fork(theme.name));
    // Where hosts behave badly the run is as long as the plan says: a storm need not end.
    let duration = match theme.outcome {
        Outcome::Delivered => "6h".to_owned(),
        Outcome::Told => format!("{}s", draft.between(5, 60)),
        Outcome::Bounded | Outcome::Circling => format!("{}s", draft.between(2, 8)),
    };
    draft
        .line(&format!("name = \"swarm-{seed}\"\n[lab]\nseed = {seed}\nduration = \"{duration}\""));
    (theme.draw)(&mut draft);
    let text = draft.text;
    let document = Document::parse("drawn.toml", &text, &|_| Err("there is no other file".into()));
    let plan = document.and_then(|d| d.experiment()).and_then(|e| e.plan(0, None));
    let mut plan = plan.map_err(|why| format!("the plan is refused: {why}\n{text}"))?;
    for flow in &mut plan.lab.flows {
        // Cuts in a row may swallow every SYN of a program's usual patience; that is no fault to find.
        flow.tcp.syn_retries = flow.tcp.retries;
    }
    Ok(Drawn { theme, text, plan })
}

/// How long flows without an end are watched at least.
pub(in crate::swarm) const WATCHED: Duration = Duration::from_secs(12);
