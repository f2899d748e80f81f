//! Knees: the smallest value of a row's variable whose double gains less than a stated share, or loses more.

use crate::columns::Columns;
use trunkline_plan::{self as plan, Knee};

/// Rows of one knee, collected by the figure's name.
#[derive(Default)]
pub(crate) struct Knees {
    curves: Vec<Curve>,
}

struct Curve {
    /// As its first row has it.
    spec: plan::Figure,
    knee: Knee,
    reproduced: Vec<(f64, f64)>,
    trunkline: Vec<(f64, f64)>,
}

/// Where a curve bends: a figure of its own.
pub(crate) struct Bend {
    pub(crate) spec: plan::Figure,
    pub(crate) columns: Columns,
    /// Why there is no such place, where the plan has a band for it.
    pub(crate) missing: Option<String>,
    /// What the figure is, in words.
    pub(crate) meaning: String,
}

impl Knees {
    /// Adds one row's values to its curve.
    pub(crate) fn add(&mut self, spec: &plan::Figure, columns: &Columns) {
        let Some(knee) = &spec.knee else { return };
        let index = self.curves.iter().position(|c| c.spec.id == spec.id).unwrap_or_else(|| {
            let (spec, knee) = (spec.clone(), knee.clone());
            self.curves.push(Curve { spec, knee, reproduced: Vec::new(), trunkline: Vec::new() });
            self.curves.len() - 1
        });
        let curve = &mut self.curves[index];
        curve.reproduced.extend(columns.reproduced.map(|y| (knee.at, y)));
        curve.trunkline.extend(columns.trunkline.map(|y| (knee.at, y)));
    }

    /// Where the curves bend.
    pub(crate) fn bends(self) -> impl Iterator<Item = Bend> {
        self.curves.into_iter().map(|curve| {
            let Curve { spec, knee: Knee { over, gain, .. }, .. } = curve;
            let pays = match gain < 0.0 {
                true => format!("loses more than {:.0} %", -100.0 * gain),
                false => format!("gains less than {:.0} %", 100.0 * gain),
            };
            let reproduced = knee(&curve.reproduced, gain);
            let is_wanted = spec.within.is_some() && reproduced.is_none();
            let missing = is_wanted.then(|| format!("there is no {over} whose double {pays}"));
            let meaning = format!("the smallest {over} whose double {pays}");
            let ours = spec.trunkline.is_some();
            let trunkline = if ours { knee(&curve.trunkline, gain) } else { None };
            let columns =
                Columns { reproduced, trunkline, ceiling: None, ceiling_reproduced: None };
            Bend { spec, columns, missing, meaning }
        })
    }
}

/// The smallest x with a next x at most its double whose y is less than `1 + gain` times its own,
/// reckoned for a full doubling where the next is nearer. None while every step still gains.
fn knee(points: &[(f64, f64)], gain: f64) -> Option<f64> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let steps = points.windows(2).find(|pair| {
        let [(x, y), (next_x, next_y)] = [pair[0], pair[1]];
        let share_of_doubling = (next_x - x) / x;
        next_y - y < gain * y * share_of_doubling.min(1.0)
    });
    steps.map(|pair| pair[0].0)
}

#[cfg(test)]
mod tests {
    use super::knee;

    #[test]
    fn the_knee_is_where_doubling_stops_paying() {
        let curve = [(100.0, 50.0), (200.0, 70.0), (400.0, 80.0), (800.0, 84.0)];
        assert_eq!(knee(&curve, 0.10), Some(400.0));
        assert_eq!(knee(&curve[..2], 0.10), None);
    }

    #[test]
    fn a_knee_may_be_where_doubling_begins_to_cost() {
        let curve = [(512.0, 900.0), (1024.0, 905.0), (2048.0, 850.0), (4096.0, 700.0)];
        assert_eq!(knee(&curve, -0.10), Some(2048.0));
        assert_eq!(knee(&curve[..3], -0.10), None);
    }
}
