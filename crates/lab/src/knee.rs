//! Knees: the smallest value of a row's variable whose double gains less than a stated share.

use crate::columns::Columns;
use crate::result::Figure;
use trunkline_plan::{self as plan, Knee};

/// Rows of one knee, collected by the figure's name.
#[derive(Default)]
pub(crate) struct Knees {
    curves: Vec<Curve>,
}

struct Curve {
    id: String,
    unit: String,
    knee: Knee,
    /// Whether the figure also wants the `trunkline` column.
    both: bool,
    reproduced: Vec<(f64, f64)>,
    trunkline: Vec<(f64, f64)>,
}

impl Knees {
    /// Adds one row's values to its curve.
    pub(crate) fn add(&mut self, spec: &plan::Figure, columns: &Columns) {
        let Some(knee) = &spec.knee else { return };
        let index = self.curves.iter().position(|c| c.id == spec.id).unwrap_or_else(|| {
            self.curves.push(Curve {
                id: spec.id.clone(),
                unit: spec.unit.clone(),
                knee: knee.clone(),
                both: spec.trunkline.is_some(),
                reproduced: Vec::new(),
                trunkline: Vec::new(),
            });
            self.curves.len() - 1
        });
        let curve = &mut self.curves[index];
        curve.reproduced.extend(columns.reproduced.map(|y| (knee.at, y)));
        curve.trunkline.extend(columns.trunkline.map(|y| (knee.at, y)));
    }

    /// The figures of all curves.
    pub(crate) fn figures(self) -> Vec<Figure> {
        let figure = |curve: Curve| {
            let gain = curve.knee.gain;
            Figure {
                reproduced: knee(&curve.reproduced, gain),
                trunkline: if curve.both { knee(&curve.trunkline, gain) } else { None },
                note: Some(format!(
                    "the smallest {} whose double gains less than {:.0} %",
                    curve.knee.over,
                    100.0 * curve.knee.gain
                )),
                id: curve.id,
                unit: curve.unit,
                published: None,
                ceiling: None,
                ceiling_reproduced: None,
                within: None,
                verdict: None,
                held_out: false,
            }
        };
        self.curves.into_iter().map(figure).collect()
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
}
