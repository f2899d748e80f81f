use super::*;

fn pair(any: &str) -> (UdpSocket, UdpSocket, SocketAddr) {
    let local: SocketAddr = any.parse().unwrap();
    let a = UdpSocket::open(None, local).unwrap();
    let peer = std::net::UdpSocket::bind(local).unwrap();
    let address = peer.local_addr().unwrap();
    drop(peer);
    (a, UdpSocket::open(None, address).unwrap(), address)
}

#[test]
fn a_run_of_datagrams_arrives_with_its_ecn_field_and_address() {
    for any in ["127.0.0.1:0", "[::1]:0"] {
        let (a, b, to) = pair(any);
        let parts = [[1u8; 100], [2; 100], [3; 100]];
        let slices = parts.each_ref().map(|part| IoSlice::new(part));
        let destination = Destination { to, from: Some(to.ip()) };
        a.send(destination, 2, &slices, 100).unwrap();
        a.send(destination, 0, &slices[..1], 100).unwrap();
        let mut inbox = Inbox::new();
        let mut seen = Vec::new();
        while b.receive(&mut inbox).unwrap() > 0 {
            for datagram in inbox.datagrams() {
                assert!(!datagram.is_truncated);
                assert_eq!((datagram.to, datagram.from.ip()), (Some(to.ip()), to.ip()));
                for payload in datagram.payload.chunks(datagram.segment_bytes) {
                    seen.push((payload[0], payload.len(), datagram.ecn));
                }
            }
        }
        assert_eq!(seen, [(1, 100, 2), (2, 100, 2), (3, 100, 2), (1, 100, 0)]);
    }
}

#[test]
fn an_address_in_use_and_a_missing_device_are_told() {
    let (_a, _b, address) = pair("127.0.0.1:0");
    let error = UdpSocket::open(None, address).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    let error = UdpSocket::open(Some("no-such-dev"), address).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
