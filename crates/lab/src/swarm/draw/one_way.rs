//! Links that carry one way: cables or satellites down, telephones up, compressed headers on them.

use super::draft::Draft;
use super::segments::over_bond;

/// A bond whose ends take what comes by any way that an answer could go.
pub(super) fn loose(d: &mut Draft) {
    cable(d, &["off", "loose"]);
}

/// A bond whose ends may want the very way back, which a link that carries one way never is.
pub(super) fn strict(d: &mut Draft) {
    cable(d, &["off", "loose", "strict"]);
}

/// A bond of downward and upward links, between a home and a head end.
fn cable(d: &mut Draft, filters: &[&str]) {
    let downs = d.between(1, 2);
    // Nothing is lost, and nothing cut.
    let is_calm = d.one_in(2);
    let worst = if is_calm { 0 } else { 2 };
    for at in 0..downs {
        down(d, at, worst);
    }
    let mode = d.pick(&["active-backup", "active-backup", "earliest", "eql", "balance-rr"]);
    // Compressed headers keep to one line.
    let ups = d.between(1, 2);
    let headers: &[&str] = match ups == 1 || mode == "active-backup" {
        true => &["", ", vj = true"],
        false => &[""],
    };
    for at in 0..ups {
        let vj = d.pick(headers);
        up(d, at, vj, worst);
    }
    let monitor = d.between(2, 20);
    d.line(&format!(
        "[bond.cm]\nends = [\"head\", \"home\"]\nmembers = [\"down*\", \"up*\"]\nmode = \"{mode}\"\n\
         monitor = {{ traffic = \"{monitor}s\" }}"
    ));
    for end in ["home", "head"] {
        if d.one_in(2) {
            let filter = d.pick(filters);
            d.line(&format!("[end.{end}]\ntype = \"route\"\nrp_filter = \"{filter}\""));
        }
    }
    over_bond(d, ["head", "home"], 24);
    if is_calm {
        return;
    }
    for at in 0..downs {
        d.faults(&format!("down{at}"));
    }
    for at in 0..ups {
        d.faults(&format!("up{at}"));
    }
}

/// A cable with what else is on it, or a line that carries down only and loses up to so many percent.
fn down(d: &mut Draft, at: u64, worst: u64) {
    let delay = d.between(0, 300);
    let keys = match d.one_in(2) {
        true => {
            let (rate, to) = (d.pick(&[1, 4, 27]), d.pick(&["everybody", "subscribers"]));
            let interval = d.between(5, 200);
            let (size, read) = (d.between(4, 64), d.between(0, 4));
            let ring = format!(", ring = {{ size = \"{size}KiB\", read = \"{read}us\" }}");
            let ring = d.perhaps(2, &ring);
            let others = format!(", others = [{{ to = \"{to}\", interval = \"{interval}ms\" }}]");
            let (others, no) = (d.perhaps(2, &others), d.perhaps(2, ", nobroadcast = true"));
            [
                format!("name = \"down{at}\"\nkind = \"cable\"\nrate = \"{rate}mbit\""),
                format!(
                    "lab = {{ delay = \"{delay}ms\", queue = \"100p\", \
                     cable = {{ pids = [1, 2]{no}{others} }}{ring} }}"
                ),
            ]
        }
        false => {
            let (rate, loss) = (d.pick(&["64kbit", "512kbit", "4mbit"]), d.between(0, worst));
            [
                format!(
                    "name = \"down{at}\"\nkind = \"serial\"\nrate = \"{rate}\"\ndirection = \"down\""
                ),
                format!("lab = {{ delay = \"{delay}ms\", queue = \"40p\", loss = \"{loss}%\" }}"),
            ]
        }
    };
    d.table("link", &keys);
}

/// A telephone line that carries up only, loses up to so many percent, and damages half as many.
fn up(d: &mut Draft, at: u64, vj: &str, worst: u64) {
    let (rate, delay) = (d.pick(&["14.4kbit", "28.8kbit", "115.2kbit"]), d.between(0, 200));
    let header = d.pick(&["ppp", "slip"]);
    let (loss, corrupt) = (d.between(0, worst), d.between(0, worst / 2));
    let keys = [
        format!("name = \"up{at}\"\nkind = \"serial\"\nrate = \"{rate}\"\ndirection = \"up\""),
        format!("framing = {{ header = \"{header}\"{vj} }}"),
        format!(
            "lab = {{ delay = \"{delay}ms\", queue = \"20p\", loss = \"{loss}%\", \
             corrupt = \"{corrupt}%\" }}"
        ),
    ];
    d.table("link", &keys);
}
