//! What this process may do (capabilities(7), proc(5)).

use std::fs;

/// The bit of `CAP_NET_ADMIN` in a capability set.
const CAP_NET_ADMIN: u32 = 12;

/// Whether the process may change the network: has `CAP_NET_ADMIN` in effect.
pub fn can_change_network() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    effective(&status).is_some_and(|set| set >> CAP_NET_ADMIN & 1 == 1)
}

fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_set_is_read_from_the_status() {
        let status = "CapPrm:\t0000000000000000\nCapEff:\t0000000000001000\n";
        assert_eq!(effective(status), Some(1 << CAP_NET_ADMIN));
        assert_eq!(effective("Name: x\n"), None);
    }
}
