//! What features do alone and together: every feature alone, left out, and in pairs.
//!
//! A feature's effect alone is against the plan without any of those asked for, its effect left out against
//! the plan with all of them. Two features interact by as much as both together bring more than the sum of
//! what each brings alone. So a feature that looks bad alone and good in company is seen for what it is.

use crate::experiment::{Options, SHARES_PER_RUN, Step, values_of};
use serde::Serialize;
use std::collections::BTreeMap;
use trunkline_plan::model::{App, Plan};
use trunkline_plan::{Diagnostics, Experiment, Setting};

/// The version of the document.
pub const TOGGLE_SCHEMA: &str = "trunkline.toggle/1";

/// Features at most: pairs are run, which are 1225 of 50.
pub const TOGGLES_MAX: usize = 50;

/// A feature, alone and left out.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// The feature.
    pub toggle: String,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The value with this feature only.
    pub alone: Option<f64>,
    /// What it adds then to the value without any.
    pub alone_adds: Option<f64>,
    /// What it adds in the mean of all settings that were run with it and without: its main effect.
    pub mean_adds: Option<f64>,
    /// The value with all features but this.
    pub left_out: Option<f64>,
    /// What it adds to that.
    pub last_adds: Option<f64>,
}

/// Two features.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Interaction {
    /// The two.
    pub toggles: [String; 2],
    /// The value with the first only, and with the second only.
    pub alone: [Option<f64>; 2],
    /// The value with both.
    pub both: Option<f64>,
    /// What both bring beyond the sum of what each brings alone.
    pub interaction: Option<f64>,
    /// Whether one of the two lowers the value in one company and raises it in the other.
    pub turns: bool,
}

/// What the features of a plan do.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ToggleDocument {
    /// [`TOGGLE_SCHEMA`].
    pub schema: &'static str,
    /// The plan's name.
    pub plan: String,
    /// The row it is about, and the variant.
    pub run: String,
    /// The metric.
    pub what: String,
    /// The unit of all values.
    pub unit: String,
    /// The version of trunkline.
    pub version: &'static str,
    /// The value without any of the features.
    pub none: Option<f64>,
    /// The value with all of them.
    pub all: Option<f64>,
    /// Each feature.
    pub effects: Vec<Effect>,
    /// Each pair.
    pub interactions: Vec<Interaction>,
    /// How many settings were simulated.
    pub settings: usize,
}

/// What is measured, and where.
struct Response {
    row: usize,
    variant: Option<String>,
    what: String,
    unit: String,
    scale: f64,
}

/// Runs a plan with its features on and off. `chosen` are positions among the plan's toggles; the others
/// stay as the plan has them.
///
/// # Errors
/// What is wrong with the plan in some setting.
pub fn run(
    experiment: &Experiment,
    chosen: &[usize],
    options: Options,
    progress: &(dyn Fn(Step) + Sync),
) -> Result<ToggleDocument, Diagnostics> {
    let response = response(experiment)?;
    let (row, variant) = (response.row, response.variant.as_deref());
    let settings = settings(chosen.len());
    let plan_of = |on: &Vec<usize>| {
        let setting = |at: usize| if on.contains(&at) { Setting::On } else { Setting::Off };
        let chosen = chosen.iter().enumerate();
        let settings: Vec<_> = chosen.map(|(at, toggle)| (*toggle, setting(at))).collect();
        experiment.plan_with(row, variant, &settings)
    };
    let plans = settings.iter().map(plan_of).collect::<Result<Vec<Plan>, Diagnostics>>()?;
    let name = plans.first().map_or(String::new(), |plan| plan.name.clone());
    let total = plans.len() as u64 * SHARES_PER_RUN * runs(&plans, options);
    let values = values_of(plans, &response.what, options, &|done| progress(Step { done, total }));
    let scaled = values.into_iter().map(|value| value.map(|v| v * response.scale));
    let values: BTreeMap<Vec<usize>, Option<f64>> = settings.into_iter().zip(scaled).collect();
    let names: Vec<&str> =
        chosen.iter().map(|toggle| experiment.toggles()[*toggle].name.as_str()).collect();
    let run = [experiment.rows()[row].label(), variant.unwrap_or_default().to_owned()];
    let run: Vec<String> = run.into_iter().filter(|part| !part.is_empty()).collect();
    let mut effects = effects(&values, &names);
    for (effect, toggle) in effects.iter_mut().zip(chosen) {
        effect.about = experiment.toggles()[*toggle].about.clone();
    }
    Ok(ToggleDocument {
        schema: TOGGLE_SCHEMA,
        plan: name,
        run: run.join(" "),
        what: response.what,
        unit: response.unit,
        version: env!("CARGO_PKG_VERSION"),
        none: value(&values, &[]),
        all: value(&values, &(0..names.len()).collect::<Vec<_>>()),
        effects,
        interactions: interactions(&values, &names),
        settings: values.len(),
    })
}

fn runs(plans: &[Plan], options: Options) -> u64 {
    let own = plans.first().map_or(1, |plan| plan.lab.runs);
    u64::from(options.runs.unwrap_or(own).max(1))
}

/// The metric of the first figure, or the rate of the first file transfer where there is no figure.
fn response(experiment: &Experiment) -> Result<Response, Diagnostics> {
    let first = experiment.variants().next().map(str::to_owned);
    for row in 0..experiment.rows().len() {
        let figure = experiment.figures(row)?.into_iter().find(|f| f.knee.is_none());
        if let Some(figure) = figure {
            let scale = figure.scale * crate::columns::unit_scale(&figure.unit);
            let variant = figure.variant.or(first);
            return Ok(Response { row, variant, what: figure.what, unit: figure.unit, scale });
        }
    }
    let plan = experiment.plan(0, first.as_deref())?;
    let bulk = plan.lab.flows.iter().find(|flow| matches!(flow.app, App::Bulk(_)));
    let (flow, metric, unit) = match (bulk, plan.lab.flows.first()) {
        (Some(flow), _) => (flow.name.as_str(), "goodput", "bit/s"),
        (None, Some(flow)) => (flow.name.as_str(), "rtt_mean", "s"),
        (None, None) => ("", "", ""),
    };
    let what = format!("{flow}.{metric}");
    Ok(Response { row: 0, variant: first, what, unit: unit.to_owned(), scale: 1.0 })
}

/// What is run: the features that are on, in order. None, each alone, each left out, pairs, and all.
fn settings(count: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..count).collect();
    let without = |left: usize| all.iter().copied().filter(|at| *at != left).collect::<Vec<_>>();
    let mut settings = vec![Vec::new(), all.clone()];
    settings.extend(all.iter().map(|at| vec![*at]));
    settings.extend(all.iter().map(|at| without(*at)));
    settings.extend(all.iter().flat_map(|a| (a + 1..count).map(|b| vec![*a, b])));
    settings.sort();
    settings.dedup();
    settings
}

type Values = BTreeMap<Vec<usize>, Option<f64>>;

fn value(values: &Values, on: &[usize]) -> Option<f64> {
    values.get(on).copied().flatten()
}

fn difference(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a - b)
}

fn effects(values: &Values, names: &[&str]) -> Vec<Effect> {
    let all: Vec<usize> = (0..names.len()).collect();
    let effect = |at: usize| {
        let without: Vec<usize> = all.iter().copied().filter(|other| *other != at).collect();
        let (alone, left_out) = (value(values, &[at]), value(values, &without));
        Effect {
            toggle: names[at].to_owned(),
            about: None,
            alone,
            alone_adds: difference(alone, value(values, &[])),
            mean_adds: mean_adds(values, at),
            left_out,
            last_adds: difference(value(values, &all), left_out),
        }
    };
    all.iter().map(|at| effect(*at)).collect()
}

/// The mean of what a feature adds, over every setting that was run with it and also without it.
fn mean_adds(values: &Values, at: usize) -> Option<f64> {
    let with = values.keys().filter(|on| on.contains(&at));
    let adds = with.filter_map(|on| {
        let without: Vec<usize> = on.iter().copied().filter(|other| *other != at).collect();
        difference(value(values, on), value(values, &without))
    });
    let (count, sum) = adds.fold((0, 0.0), |(count, sum), added| (count + 1, sum + added));
    (count > 0).then(|| sum / f64::from(count))
}

fn interactions(values: &Values, names: &[&str]) -> Vec<Interaction> {
    let none = value(values, &[]);
    let pair = |a: usize, b: usize| {
        let alone = [value(values, &[a]), value(values, &[b])];
        let both = value(values, &[a, b]);
        // What each adds to nothing, and to the other.
        let first = [difference(alone[0], none), difference(alone[1], none)];
        let then = [difference(both, alone[1]), difference(both, alone[0])];
        let turns = first.iter().zip(then).any(|(first, then)| {
            first.zip(then).is_some_and(|(first, then)| {
                is_one_way(first, none) && is_one_way(then, none) && (first < 0.0) != (then < 0.0)
            })
        });
        let interaction = difference(difference(both, alone[0]), first[1]);
        let toggles = [names[a].to_owned(), names[b].to_owned()];
        Interaction { toggles, alone, both, interaction, turns }
    };
    let pairs = (0..names.len()).flat_map(|a| (a + 1..names.len()).map(move |b| (a, b)));
    pairs.map(|(a, b)| pair(a, b)).collect()
}

/// Whether a difference is more than a hundredth of the value without any feature.
fn is_one_way(difference: f64, none: Option<f64>) -> bool {
    difference.abs() > none.map_or(0.0, |none| 0.01 * none.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_run_alone_left_out_and_in_pairs_and_nothing_twice() {
        assert_eq!(settings(0), [Vec::<usize>::new()]);
        assert_eq!(settings(1), [vec![], vec![0]]);
        assert_eq!(settings(2), [vec![], vec![0], vec![0, 1], vec![1]]);
        assert_eq!(settings(4).len(), 1 + 4 + 6 + 4 + 1);
        assert_eq!(settings(8).len(), 1 + 8 + 28 + 8 + 1);
    }

    /// The example of 1988: each alone is bad, both are good.
    #[test]
    fn two_features_that_are_bad_alone_and_good_together_interact() {
        let values: Values =
            [(vec![], 600.0), (vec![0], 520.0), (vec![1], 530.0), (vec![0, 1], 700.0)]
                .into_iter()
                .map(|(on, value)| (on, Some(value)))
                .collect();
        let effects = effects(&values, &["a", "b"]);
        assert_eq!((effects[0].alone_adds, effects[0].last_adds), (Some(-80.0), Some(170.0)));
        let means: Vec<_> = effects.iter().map(|effect| effect.mean_adds).collect();
        assert_eq!(means, [Some(45.0), Some(55.0)]);
        let pairs = interactions(&values, &["a", "b"]);
        assert_eq!(pairs[0].interaction, Some(250.0));
        assert!(pairs[0].turns);
    }

    #[test]
    fn effects_that_add_up_do_not_interact() {
        let values: Values = [(vec![], 10.0), (vec![0], 12.0), (vec![1], 15.0), (vec![0, 1], 17.0)]
            .into_iter()
            .map(|(on, value)| (on, Some(value)))
            .collect();
        let pairs = interactions(&values, &["a", "b"]);
        assert_eq!((pairs[0].interaction, pairs[0].turns), (Some(0.0), false));
    }
}
