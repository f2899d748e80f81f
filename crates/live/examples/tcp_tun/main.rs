//! Our TCP on a TUN: a client or a server for one connection, to speak to the kernel's TCP. Standard input
//! goes to the peer, what the peer sends goes to standard output, like `nc`. The end of the input closes our
//! side; the program ends when both are closed and TIME-WAIT (1 s here) is over, tells what was counted on
//! standard error, and exits with 0 when the connection closed in order.
//!
//! ```text
//! tcp_tun connect ADDRESS:PORT [OPTION VALUE]...
//! tcp_tun listen PORT [OPTION VALUE]...
//!   --device NAME      the TUN device that is made for it (tcp0)
//!   --kernel ADDR/LEN  the kernel's address on it, IPv4 or IPv6 (10.78.0.1/30)
//!   --address ADDR     ours (10.78.0.2)
//!   --mtu BYTES        the longest packet (1500)
//!   --cc NAME          congestion control: reno, cubic, vegas or dctcp (cubic)
//!   --ecn MODE         off, on-request (where the peer asks) or on (on-request)
//! ```
//!
//! To try it, as root (the device needs CAP_NET_ADMIN), after `cargo build --release -p trunkline-live --examples`:
//!
//! ```sh
//! # our client, the kernel's server
//! python3 -m http.server 8000 &
//! printf 'GET / HTTP/1.0\r\n\r\n' | target/release/examples/tcp_tun connect 10.78.0.1:8000
//!
//! # our server, the kernel's client
//! target/release/examples/tcp_tun listen 7000 <some-file >received &
//! nc -N 10.78.0.2 7000 <another-file
//!
//! # the same over IPv6
//! target/release/examples/tcp_tun listen 7000 --kernel fd78::1/64 --address fd78::2 <some-file >received &
//! nc -N fd78::2 7000 <another-file
//! ```
//!
//! Other machines are reached too when this one forwards: `sysctl net.ipv4.ip_forward=1`, and a route to
//! 10.78.0.0/30 over there or masquerading here. `scripts/tcp-interop.sh` does so over an emulated link.

mod relay;

use relay::Opening;
use std::io::{self, Write};
use std::process::ExitCode;
use trunkline_core::cc::Algorithm;
use trunkline_core::rng::Rng;
use trunkline_core::tcp::config::EcnMode;
use trunkline_core::tcp::{self, Config, Profile};
use trunkline_core::time::Duration;
use trunkline_live::clock;
use trunkline_live::host::{Neighbourhood, TunHost};
use trunkline_plan::model::Address;

const USAGE: &str = "usage: tcp_tun connect ADDRESS:PORT | listen PORT [--device NAME] \
    [--kernel ADDR/LEN] [--address ADDR] [--mtu BYTES] [--cc NAME] [--ecn MODE]";
/// Long enough for a peer to repeat its FIN, should our last acknowledgment be lost.
const TIME_WAIT: Duration = Duration::from_secs(1);

struct Arguments {
    opening: Opening,
    network: Neighbourhood,
    algorithm: Algorithm,
    ecn: EcnMode,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (text, code) = match parse(&words).map(|arguments| transfer(&arguments)) {
        None => (USAGE.to_owned(), ExitCode::from(2)),
        Some(Err(error)) => (format!("tcp_tun: {error}"), ExitCode::FAILURE),
        Some(Ok(report)) if report.ended == tcp::Event::Closed => {
            (line(&report), ExitCode::SUCCESS)
        }
        Some(Ok(report)) => (line(&report), ExitCode::FAILURE),
    };
    match writeln!(io::stderr(), "{text}") {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn line(report: &relay::Report) -> String {
    let relay::Report { ended, stats, cc, took } = report;
    // One word, however much the algorithm has to tell.
    let cc = cc.map_or("-".into(), |cc| cc.to_string().replace(' ', ","));
    format!(
        "ended={ended:?} seconds={:.3} bytes_sent={} bytes_received={} segments_sent={} \
         retransmissions={} timeouts={} fast_recoveries={} out_of_order={} cc={cc}",
        took.as_secs_f64(),
        stats.bytes_acked,
        stats.bytes_received,
        stats.segments_sent,
        stats.retransmissions,
        stats.timeouts,
        stats.fast_recoveries,
        stats.out_of_order,
    )
}

fn transfer(arguments: &Arguments) -> io::Result<relay::Report> {
    // Initial sequence numbers need not be secret here, only differ from run to run.
    let rng = Rng::new(clock::now().as_nanos());
    let mut host = TunHost::create(&arguments.network, rng).map_err(io::Error::other)?;
    let config = Config {
        algorithm: arguments.algorithm,
        ecn: arguments.ecn,
        time_wait: TIME_WAIT,
        ..Config::new(Profile::Modern, arguments.network.mtu)
    };
    let (input, output) = (io::stdin(), io::stdout());
    relay::run(&mut host, config, arguments.opening, input, output).map(|(report, _)| report)
}

fn parse(words: &[String]) -> Option<Arguments> {
    let [verb, whom, options @ ..] = words else {
        return None;
    };
    let opening = match verb.as_str() {
        "connect" => Opening::Connect(whom.parse().ok()?),
        "listen" => Opening::Accept(whom.parse().ok()?),
        _ => return None,
    };
    let mut network = Neighbourhood {
        device: "tcp0".into(),
        kernel: address("10.78.0.1/30")?,
        address: "10.78.0.2".parse().ok()?,
        mtu: 1500,
    };
    let (mut algorithm, mut ecn) = (Algorithm::Cubic, EcnMode::OnRequest);
    for option in options.chunks(2) {
        let [name, value] = option else {
            return None;
        };
        match name.as_str() {
            "--device" => network.device.clone_from(value),
            "--kernel" => network.kernel = address(value)?,
            "--address" => network.address = value.parse().ok()?,
            "--mtu" => network.mtu = value.parse().ok()?,
            "--cc" => algorithm = Algorithm::ALL.into_iter().find(|a| a.name() == value)?,
            "--ecn" => ecn = EcnMode::ALL.into_iter().find(|mode| mode.name() == value)?,
            _ => return None,
        }
    }
    Some(Arguments { opening, network, algorithm, ecn })
}

fn address(text: &str) -> Option<Address> {
    let (ip, prefix) = text.split_once('/')?;
    Some(Address { ip: ip.parse().ok()?, prefix: prefix.parse().ok()? })
}
