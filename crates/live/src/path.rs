//! One path: a link of the bond as a flow of UDP datagrams between two addresses.

use crate::setup::LinkSetup;
use crate::sys::udp::{Destination, SEGMENTS_MAX, SEND_BYTES_MAX, UdpSocket};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use trunkline_core::frame::{Burst, Frames, LinkChange};
use trunkline_core::link::Pacer;
use trunkline_core::wire::ip::dscp_ecn;
use trunkline_core::wire::trunk::is_data;

/// What a path counts beside what its bond does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathStats {
    /// Datagrams the kernel took.
    pub tx_datagrams: u64,
    /// Datagrams it refused: no route, no buffer, no device.
    pub tx_errors: u64,
    /// Datagrams received from the far end.
    pub rx_datagrams: u64,
    /// Of these, those with congestion marked in the outer header.
    pub rx_ce: u64,
}

/// Whether the kernel cuts runs into datagrams, or each is sent alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Segmentation {
    Kernel,
    Single,
}

/// One link at this end, with its wire.
#[derive(Debug)]
pub struct Path {
    /// What it was set up as.
    pub setup: LinkSetup,
    /// Which of the driver's sockets it uses.
    pub socket: usize,
    /// When the wire has what was sent.
    pub pacer: Pacer,
    /// Whether the device has a carrier; a path without a device of its own always has.
    has_carrier: bool,
    /// Counters.
    pub stats: PathStats,
    /// What the kernel said when it last refused a datagram.
    pub last_error: Option<io::ErrorKind>,
    destination: Option<Destination>,
    segmentation: Segmentation,
}

impl Path {
    /// A path over the driver's socket of this position.
    pub fn new(setup: LinkSetup, socket: usize) -> Path {
        let pacer = Pacer::new(setup.member.rate, setup.member.framing);
        let to = setup.remote.port.map(|port| SocketAddr::new(setup.remote.ip, port));
        Path {
            setup,
            socket,
            pacer,
            has_carrier: true,
            stats: PathStats::default(),
            last_error: None,
            destination: to.map(|to| Destination { to, from: None }),
            segmentation: Segmentation::Kernel,
        }
    }

    /// Whether datagrams can be sent: there is a carrier and the far end's port is known.
    pub fn is_usable(&self) -> bool {
        self.has_carrier && self.destination.is_some()
    }

    /// Whether its device has a carrier.
    pub fn has_carrier(&self) -> bool {
        self.has_carrier
    }

    /// The carrier has come or gone. What could not cut runs before may be another device's by now.
    pub fn set_carrier(&mut self, change: LinkChange) {
        self.has_carrier = change == LinkChange::Up;
        self.segmentation = Segmentation::Kernel;
    }

    /// Where its datagrams go, if that is known.
    pub fn destination(&self) -> Option<SocketAddr> {
        self.destination.map(|d| d.to)
    }

    /// A datagram came from the far end: answers go where it came from, from where it came to.
    pub fn hear(&mut self, from: SocketAddr, to: Option<IpAddr>) {
        self.destination = Some(Destination { to: from, from: to });
    }

    /// Sends a burst. What the kernel refuses is counted and gone, as on any wire: bursts are paced, so a
    /// full socket says that the device is slower than its rate in the plan, and a datagram kept for later
    /// would only hide that from the path's loss and delay.
    pub fn send(&mut self, socket: &UdpSocket, frames: &Frames, burst: &Burst, ecn_at: usize) {
        let Some(destination) = self.destination else {
            self.stats.tx_errors += burst.frames.len() as u64;
            return;
        };
        let mut rest = burst.frames.as_slice();
        while let Some(first) = rest.first() {
            let bytes = frames.bytes(*first);
            let (len, ecn) = (bytes.len(), outer_ecn(bytes, ecn_at));
            let most = match self.segmentation {
                Segmentation::Kernel => (SEND_BYTES_MAX / len.max(1)).clamp(1, SEGMENTS_MAX),
                Segmentation::Single => 1,
            };
            let mut parts = [IoSlice::new(&[]); SEGMENTS_MAX];
            let mut count = 0;
            for (part, frame) in parts.iter_mut().zip(rest).take(most) {
                let bytes = frames.bytes(*frame);
                if bytes.len() > len || outer_ecn(bytes, ecn_at) != ecn {
                    break;
                }
                *part = IoSlice::new(bytes);
                count += 1;
                // Only the last may be shorter.
                if bytes.len() < len {
                    break;
                }
            }
            match socket.send(destination, ecn, &parts[..count], len) {
                Ok(()) => self.stats.tx_datagrams += count as u64,
                Err(error) if count > 1 && is_no_segmentation(&error) => {
                    self.segmentation = Segmentation::Single;
                    continue;
                }
                Err(error) => {
                    self.stats.tx_errors += count as u64;
                    self.last_error = Some(error.kind());
                }
            }
            rest = &rest[count..];
        }
    }
}

/// The device below cannot cut runs (no checksum offload, IPsec), or the path takes smaller ones only.
fn is_no_segmentation(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
}

/// The ECN field of the packet within a datagram, which its outer header repeats (RFC 6040, 4.1). A trunk's
/// own datagrams carry no packet.
fn outer_ecn(datagram: &[u8], packet_at: usize) -> u8 {
    if packet_at > 0 && !is_data(datagram) {
        return 0;
    }
    let packet = datagram.get(packet_at..).unwrap_or_default();
    dscp_ecn(packet).map_or(0, |(_, ecn)| ecn as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use trunkline_core::wire::trunk::{BucketSeq, HEADER_LEN, Kind, Repr, Turn};

    #[test]
    fn the_ecn_field_is_found_in_both_versions() {
        assert_eq!(outer_ecn(&[0x45, 0xb9], 0), 1);
        let turn = Turn { bucket: 3, seq: BucketSeq::new(1) };
        for (kind, ecn) in [(Kind::Data(turn), 2), (Kind::Probe, 0)] {
            let header = Repr { receiver: 1, path_seq: 1, kind, timestamp: 0 }.emit();
            assert_eq!(outer_ecn(&[&header[..], &[0x60, 0x20]].concat(), HEADER_LEN), ecn);
        }
        assert_eq!(outer_ecn(&[], HEADER_LEN), 0);
    }
}
