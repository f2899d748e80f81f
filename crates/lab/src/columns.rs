//! The columns of a figure: what was measured, in the figure's unit.

/// The measured columns of one figure in one row, in the figure's unit.
pub(crate) struct Columns {
    pub(crate) reproduced: Option<f64>,
    pub(crate) trunkline: Option<f64>,
    pub(crate) ceiling: Option<f64>,
    /// The ceiling of what was reproduced, whose headers differ from ours.
    pub(crate) ceiling_reproduced: Option<f64>,
}

/// What a metric in SI units is multiplied with to be in the figure's unit.
pub(crate) fn unit_scale(unit: &str) -> f64 {
    match unit {
        "line-bit/s" => 10.0 / 8.0,
        "B/s" => 1.0 / 8.0,
        _ => 1.0,
    }
}
