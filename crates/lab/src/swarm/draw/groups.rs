//! Bonds that end at a switch, whose ports are a static trunk with any hash.

use super::draft::Draft;
use super::slow::machines;

/// One or two hosts with several cards, and others, at one switch.
pub(super) fn trunked(d: &mut Draft) {
    let bonds = d.between(1, 2);
    let rate = d.pick(&["10mbit", "100mbit", "1gbit"]);
    let mut trunks = Vec::new();
    let mut names = Vec::new();
    for bond in 0..bonds {
        let members = d.between(1, 4);
        for at in 0..members {
            let (delay, queue) = (d.between(0, 500), d.between(16, 256));
            let name = format!("p{bond}x{at}");
            let keys = [
                format!("name = \"{name}\"\nkind = \"ethernet\"\nrate = \"{rate}\""),
                format!("lab = {{ delay = \"{delay}us\", queue = \"{queue}p\" }}"),
            ];
            d.table("link", &keys);
            names.push(name);
        }
        let mode = d.pick(&["earliest", "eql", "eql-early", "balance-rr", "active-backup"]);
        d.line(&format!(
            "[bond.t{bond}]\nends = [\"h{bond}\", \"w\"]\nmembers = [\"p{bond}x*\"]\nmode = \"{mode}\""
        ));
        let hash = d.pick(&["layer2", "layer2+3", "layer3+4"]);
        if mode != "active-backup" || d.one_in(2) {
            trunks.push(format!("{{ members = [\"p{bond}x*\"], hash = \"{hash}\" }}"));
        }
        if d.one_in(2) {
            let cpu = if d.one_in(2) { d.cpu() } else { String::new() };
            d.table("lab.host", &[format!("name = \"h{bond}\""), cpu]);
        }
    }
    let learning = d.pick(&["true", "false"]);
    let trunks = format!("trunk = [{}]", trunks.join(", "));
    d.table("lab.switch", &[format!("name = \"w\"\nlearning = {learning}"), trunks]);
    for host in bonds..bonds + d.between(1, 4) {
        let cpu = if d.one_in(4) { d.cpu() } else { String::new() };
        let cable = format!("link = {{ to = \"w\", rate = \"{rate}\" }}");
        d.table("lab.host", &[format!("name = \"h{host}\""), cable, cpu]);
    }
    for _ in 0..d.between(1, 3) {
        let [to, other] = d.pick(&[["h0", "h1"], ["h1", "h0"]]);
        machines(d, "h*", to, other);
    }
    for name in names {
        if d.one_in(2) {
            d.faults(&name);
        }
    }
}
