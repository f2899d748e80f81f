//! A server over our TCP: takes what every client sends until that closes its side, then says how much it was.
//!
//! ```sh
//! cargo build --release -p trunkline-live --examples
//! sudo target/release/examples/tcp_server &       # listens at 10.78.0.2, behind the TUN device tcps0
//! echo hello | nc -N 10.78.0.2 7000
//! ```

use std::error::Error;
use trunkline_core::cc::Algorithm;
use trunkline_core::host::{ConnectionId, Event};
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{self, Config, Data, Profile};
use trunkline_core::time::Instant;
use trunkline_live::clock;
use trunkline_live::host::{Neighbourhood, TunHost};
use trunkline_plan::model::Address;

fn main() -> Result<(), Box<dyn Error>> {
    // A machine of our own, and its only neighbour: the kernel.
    let network = Neighbourhood {
        device: "tcps0".into(),
        kernel: Address { ip: "10.78.0.1".parse()?, prefix: 30 },
        address: "10.78.0.2".parse()?,
        mtu: 1500,
    };
    let mut server = TunHost::create(&network, Rng::new(clock::now().as_nanos()))?;
    let config =
        Config { algorithm: Algorithm::Cubic, ..Config::new(Profile::Modern, network.mtu) };
    server.host.listen(7000, config);
    loop {
        // Sends, waits, receives; then there may be something to tell.
        let now = server.step(&mut Vec::new())?;
        while let Some(event) = server.host.poll_event() {
            if let Event::Tcp(id, event) = event {
                serve(&mut server, now, id, event);
            }
        }
    }
}

fn serve(server: &mut TunHost, now: Instant, id: ConnectionId, event: tcp::Event) {
    let TunHost { host, cx, .. } = server;
    match event {
        // What is not read stays in the receive buffer and closes the client's window.
        tcp::Event::Readable => {
            host.read(now, cx, id, usize::MAX, |_| ());
        }
        tcp::Event::PeerClosed => {
            let received = host.connection(id).map_or(0, |c| c.stats().bytes_received);
            let answer = format!("{received} bytes\n");
            host.write(now, cx, id, Data::Bytes(answer.as_bytes()));
            host.close(now, cx, id);
        }
        tcp::Event::Connected | tcp::Event::Writable => {}
        // Closed on both sides, reset, or without an answer for too long.
        _ => host.forget(cx, id),
    }
}
