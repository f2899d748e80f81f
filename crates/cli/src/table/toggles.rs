//! The tables of `lab run --toggle`.

use super::{number, plain, render, right};
use crate::output::Output;
use comfy_table::Cell;
use trunkline_lab::toggles::ToggleDocument;

/// Each feature alone and left out, then every pair.
pub(crate) fn table(document: &ToggleDocument, output: &Output) -> String {
    let run = match document.run.as_str() {
        "" => String::new(),
        run => format!(", {run}"),
    };
    let value = |value| match value {
        None => "-".to_owned(),
        value => number(value),
    };
    let mut text = format!(
        "{}{run}: {} in {}, {} settings\nnone of these features {}, all of them {}\n\n",
        document.plan,
        document.what,
        document.unit,
        document.settings,
        value(document.none),
        value(document.all),
    );
    let mut effects =
        plain(&["feature", "alone", "adds", "left out", "adds last", "mean", "what it is"]);
    for effect in &document.effects {
        effects.add_row([
            Cell::new(&effect.toggle),
            right(value(effect.alone)),
            right(signed(effect.alone_adds)),
            right(value(effect.left_out)),
            right(signed(effect.last_adds)),
            right(signed(effect.mean_adds)),
            Cell::new(effect.about.as_deref().unwrap_or_default()),
        ]);
    }
    text += &render(effects, output);
    text += "\nadds: alone, to none of the others; adds last: to all the others\n\
             mean: the main effect, over all settings that were run with it and without\n";
    if document.interactions.is_empty() {
        return text;
    }
    let header = ["A", "B", "none", "A alone", "B alone", "both", "interaction", ""];
    let mut pairs = plain(&header);
    for pair in &document.interactions {
        pairs.add_row([
            Cell::new(&pair.toggles[0]),
            Cell::new(&pair.toggles[1]),
            right(value(document.none)),
            right(value(pair.alone[0])),
            right(value(pair.alone[1])),
            right(value(pair.both)),
            right(signed(pair.interaction)),
            Cell::new(if pair.turns { "changes sides" } else { "" }),
        ]);
    }
    let legend = "interaction: what both add beyond the sum of what each adds alone\n\
                  changes sides: one of the two harms in one company and helps in the other\n";
    text + "\n" + &render(pairs, output) + "\n" + legend
}

/// A difference with its sign.
fn signed(difference: Option<f64>) -> String {
    match difference {
        None => "-".to_owned(),
        Some(d) if d < 0.0 => format!("-{}", number(Some(-d))),
        Some(d) => format!("+{}", number(Some(d))),
    }
}
