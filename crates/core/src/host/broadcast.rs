//! Which addresses are broadcasts, and by which rules a host goes when it meets one (RFC 919; RFC 922;
//! RFC 1122, 2.3.2.1, 3.2.1.3, 3.2.2 and 3.3.6; RFC 1812, 3.3.2 and 5.3.4).
//!
//! 4.2BSD wrote broadcasts with a host part of zeros, everybody after it with ones. A host that knows only
//! one of the two forms takes the other for the address of some host, and what follows from that are
//! broadcast storms. Every rule here stops them at another place, and each can be off.

use std::net::Ipv4Addr;

#[cfg(test)]
mod tests;

/// What stands in the host part of a broadcast address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Form {
    /// Ones, as RFC 919 has it.
    #[default]
    Ones,
    /// Zeros, as 4.2BSD had it.
    Zeros,
}

impl Form {
    /// The other form.
    pub const fn other(self) -> Form {
        match self {
            Form::Ones => Form::Zeros,
            Form::Zeros => Form::Ones,
        }
    }
}

/// An address on a network with the length of the network's prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Subnet {
    address: Ipv4Addr,
    prefix: u8,
}

impl Subnet {
    /// Every address there is.
    pub const ALL: Subnet = Subnet { address: Ipv4Addr::UNSPECIFIED, prefix: 0 };

    /// None when the prefix has more than 32 bits.
    pub const fn new(address: Ipv4Addr, prefix: u8) -> Option<Subnet> {
        match prefix <= 32 {
            true => Some(Subnet { address, prefix }),
            false => None,
        }
    }

    /// The address itself.
    pub const fn address(self) -> Ipv4Addr {
        self.address
    }

    /// Bits that all addresses of the network share.
    pub const fn prefix(self) -> u8 {
        self.prefix
    }

    /// Ones in the host part.
    const fn hosts(prefix: u8) -> u32 {
        match u32::MAX.checked_shr(prefix as u32) {
            Some(ones) => ones,
            None => 0,
        }
    }

    /// The network's own address: the host part is zero.
    pub const fn network(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.address.to_bits() & !Self::hosts(self.prefix))
    }

    /// Whether an address is in the network.
    #[inline]
    pub const fn contains(self, other: Ipv4Addr) -> bool {
        (self.address.to_bits() ^ other.to_bits()) & !Self::hosts(self.prefix) == 0
    }

    /// Everybody on this network, in one form.
    pub const fn broadcast(self, form: Form) -> Ipv4Addr {
        spread(self.address, self.prefix, form)
    }

    /// The form in which an address means everybody here: on this cable, in the subnet, or in the whole
    /// network that its class makes of it.
    pub fn form_of(self, address: Ipv4Addr) -> Option<Form> {
        let class = class_prefix(self.address).min(self.prefix);
        [Form::Ones, Form::Zeros].into_iter().find(|form| {
            let everywhere = spread(Ipv4Addr::UNSPECIFIED, 0, *form);
            // Two hosts without a broadcast, or one (RFC 3021).
            let has_broadcast = self.prefix < 31;
            let here = [self.broadcast(*form), spread(self.address, class, *form)];
            address == everywhere || (has_broadcast && here.contains(&address))
        })
    }
}

const fn spread(address: Ipv4Addr, prefix: u8, form: Form) -> Ipv4Addr {
    let hosts = Subnet::hosts(prefix);
    match form {
        Form::Ones => Ipv4Addr::from_bits(address.to_bits() | hosts),
        Form::Zeros => Ipv4Addr::from_bits(address.to_bits() & !hosts),
    }
}

/// The prefix of an address's class (RFC 791, 3.2).
const fn class_prefix(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

/// One thing a host does so that a broadcast stays one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
pub enum Rule {
    /// Both forms are broadcasts, whichever the host itself sends (RFC 1122, 3.2.1.3 and 3.3.6).
    BothForms,
    /// What came in a broadcast of the link is not forwarded (RFC 1812, 5.3.4).
    NoForwarding,
    /// What came in a broadcast of the link to an address that is no broadcast is not looked at (RFC 1122,
    /// 3.3.6).
    Discard,
    /// No ICMP error is sent about a broadcast (RFC 1122, 3.2.2).
    NoErrors,
    /// One address is asked for at most once a second (RFC 1122, 2.3.2.1).
    ArpRate,
    /// An answer that one host's address is everybody's is not believed (RFC 1812, 3.3.2).
    ArpDoubt,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 6] = [
        Rule::BothForms,
        Rule::NoForwarding,
        Rule::Discard,
        Rule::NoErrors,
        Rule::ArpRate,
        Rule::ArpDoubt,
    ];

    /// What a plan calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Rule::BothForms => "both-forms",
            Rule::NoForwarding => "no-forwarding",
            Rule::Discard => "discard",
            Rule::NoErrors => "no-errors",
            Rule::ArpRate => "arp-rate",
            Rule::ArpDoubt => "arp-doubt",
        }
    }
}

/// The rules a host goes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Rules(u8);

impl Rules {
    /// All of them: a host after RFC 1122.
    pub const RFC_1122: Rules = Rules((1 << Rule::ALL.len()) - 1);
    /// None: 4.2BSD, and what was made of it.
    pub const BSD_4_2: Rules = Rules(0);

    /// With one more.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Rules {
        Rules(self.0 | 1 << rule as u8)
    }

    /// Whether the host goes by it.
    #[inline]
    pub const fn has(self, rule: Rule) -> bool {
        self.0 >> rule as u8 & 1 == 1
    }
}

impl Default for Rules {
    fn default() -> Rules {
        Rules::RFC_1122
    }
}
