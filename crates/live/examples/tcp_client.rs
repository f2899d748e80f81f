//! A client over our TCP: sends a line, prints what comes back, ends when both sides have closed.
//!
//! ```sh
//! cargo build --release -p trunkline-live --examples
//! sudo target/release/examples/tcp_client 192.0.2.7:7 hello     # any server; elsewhere, see docs/proxy.md
//! ```

use std::error::Error;
use std::io::{self, Write};
use std::net::SocketAddr;
use trunkline_core::cc::Algorithm;
use trunkline_core::host::Event;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::{self, Chunk, Config, Data, Profile};
use trunkline_live::clock;
use trunkline_live::host::{Neighbourhood, TunHost};
use trunkline_plan::model::Address;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [to, line] = &words[..] else {
        return Err("usage: tcp_client ADDRESS:PORT LINE".into());
    };
    // The machine of our own and its only neighbour, the kernel.
    let network = Neighbourhood {
        device: "tcpc0".into(),
        kernel: Address { ip: "10.78.0.5".parse()?, prefix: 30 },
        address: "10.78.0.6".parse()?,
        mtu: 1500,
    };
    let mut client = TunHost::create(&network, Rng::new(clock::now().as_nanos()))?;
    let config =
        Config { algorithm: Algorithm::Cubic, ..Config::new(Profile::Modern, network.mtu) };
    let remote: SocketAddr = to.parse()?;
    let opened = client.host.connect(clock::now(), &mut client.cx, config, remote);
    let id = opened.map_err(|refused| format!("{to}: {refused:?}"))?;
    loop {
        // Sends, waits, receives; then says what happened.
        let now = client.step(&mut Vec::new())?;
        while let Some(event) = client.host.poll_event() {
            match event {
                Event::Tcp(_, tcp::Event::Connected) => {
                    let line = format!("{line}\n");
                    client.host.write(now, &mut client.cx, id, Data::Bytes(line.as_bytes()));
                    client.host.close(now, &mut client.cx, id);
                }
                Event::Tcp(_, tcp::Event::Readable) => {
                    client.host.read(now, &mut client.cx, id, usize::MAX, |chunk| {
                        if let Chunk::Bytes(bytes) = chunk {
                            let _closed = io::stdout().write_all(bytes);
                        }
                    });
                }
                // What is left is TIME-WAIT, which a client that ends at once does not keep.
                Event::Tcp(_, tcp::Event::PeerClosed) => {
                    client.flush();
                    return Ok(());
                }
                Event::Tcp(_, ended @ (tcp::Event::Reset | tcp::Event::TimedOut)) => {
                    return Err(format!("{to}: {ended:?}").into());
                }
                _ => {}
            }
        }
    }
}
