//! Conversations through the table that packetdrill uses, with the library loaded as packetdrill loads it. Each
//! says what a test of packetdrill would say: packets that arrive, packets that must leave, and when.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::mem::{MaybeUninit, size_of, size_of_val};
use std::thread;
use trunkline_core::seq::SeqNumber;
use trunkline_core::wire::Integrity;
use trunkline_core::wire::ipv4::{self, Ecn, Protocol};
use trunkline_core::wire::tcp::{self, Flags, Options};
use trunkline_packetdrill::interface::Interface;

const LOCAL: [u8; 4] = [192, 168, 0, 1];
const REMOTE: [u8; 4] = [192, 0, 2, 1];
const PORT: u16 = 8080;
const PEER_PORT: u16 = 40_000;
const MSS: u32 = 1000;
/// What a packet may be early or late, in microseconds.
const TOLERANCE_MICROS: i64 = 4000;
const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);
const DATA: Flags = Flags(Flags::ACK.0 | Flags::PSH.0);
const FIN_ACK: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

/// A peer that says only what it is told to, and the stack it speaks to.
struct Script {
    table: Interface,
    /// The stack's initial sequence number, once it is known; everything is told relative to it.
    iss: Option<SeqNumber>,
    begin: i64,
}

// SAFETY: the table's functions may be called from any thread: the world behind them is locked.
unsafe impl Sync for Script {}

type Init = unsafe extern "C" fn(*const std::ffi::c_char, *mut Interface);

/// Loads the library and lets it fill a table.
fn load(settings: &str) -> Interface {
    let own = std::env::current_exe().expect("a path");
    let folders = own.ancestors().skip(1).take(2);
    let mut files = folders.map(|folder| folder.join("libtrunkline_packetdrill.so"));
    let file = files.find(|file| file.exists()).expect("the library is built with its tests");
    let file = CString::new(file.to_str().expect("UTF-8")).expect("no NUL");
    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_NODELETE | libc::RTLD_DEEPBIND;
    let settings = CString::new(settings).expect("no NUL");
    let mut table = MaybeUninit::<Interface>::zeroed();
    // SAFETY: strings of C that live during the calls; the symbol has this type; it fills the table.
    unsafe {
        let library = libc::dlopen(file.as_ptr(), flags);
        assert!(!library.is_null(), "{file:?} can be loaded");
        let init = libc::dlsym(library, c"packetdrill_interface_init".as_ptr());
        assert!(!init.is_null(), "it has its entry");
        std::mem::transmute::<*mut c_void, Init>(init)(settings.as_ptr(), table.as_mut_ptr());
        table.assume_init()
    }
}

fn address(ip: [u8; 4], port: u16) -> libc::sockaddr_in {
    // SAFETY: all zeros is a valid address.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(ip);
    address
}

/// What left: its flags, sequence and acknowledgment (relative), and payload length.
type Sent = (Flags, u32, u32, usize);

impl Script {
    fn new(settings: &str) -> Script {
        let mut script = Script { table: load(settings), iss: None, begin: 0 };
        script.begin = script.time();
        script
    }

    fn time(&self) -> i64 {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: room for the time.
        unsafe { (self.table.gettimeofday)(self.table.userdata, &mut time, std::ptr::null_mut()) };
        time.tv_sec * 1_000_000 + time.tv_usec
    }

    fn pass(&self, micros: u32) {
        // SAFETY: takes a number.
        unsafe { (self.table.usleep)(self.table.userdata, micros) };
    }

    fn socket(&self) -> c_int {
        // SAFETY: takes numbers.
        let fd = unsafe {
            (self.table.socket)(self.table.userdata, libc::AF_INET, libc::SOCK_STREAM, 0)
        };
        assert!(fd >= 0);
        fd
    }

    fn listening(&self) -> c_int {
        let (fd, at) = (self.socket(), address([0; 4], PORT));
        let len = size_of_val(&at) as libc::socklen_t;
        // SAFETY: an address of this length.
        unsafe {
            let at = (&raw const at).cast();
            assert_eq!((self.table.bind)(self.table.userdata, fd, at, len), 0);
            assert_eq!((self.table.listen)(self.table.userdata, fd, 1), 0);
        }
        fd
    }

    fn accept(&self, fd: c_int) -> c_int {
        let null = std::ptr::null_mut();
        // SAFETY: no room for an address is wanted.
        let fd = unsafe { (self.table.accept)(self.table.userdata, fd, null, null.cast()) };
        assert!(fd >= 0);
        fd
    }

    fn write(&self, fd: c_int, len: usize) -> isize {
        let bytes = vec![7u8; len];
        // SAFETY: as many bytes as the length says.
        unsafe { (self.table.write)(self.table.userdata, fd, bytes.as_ptr().cast(), len) }
    }

    fn read(&self, fd: c_int, max: usize) -> isize {
        let mut bytes = vec![0u8; max];
        // SAFETY: as much room as the length says.
        unsafe { (self.table.read)(self.table.userdata, fd, bytes.as_mut_ptr().cast(), max) }
    }

    fn close(&self, fd: c_int) -> c_int {
        // SAFETY: takes a number.
        unsafe { (self.table.close)(self.table.userdata, fd) }
    }

    /// A packet of the peer, with sequence numbers as a script has them: both sides begin with 0.
    fn arrives(&self, flags: Flags, seq: u32, ack: u32, len: usize, options: Options) {
        let iss = self.iss.unwrap_or(SeqNumber(0));
        let repr = tcp::Repr {
            src_port: PEER_PORT,
            dst_port: PORT,
            seq: SeqNumber(seq),
            ack: if flags.contains(Flags::ACK) { iss + ack } else { SeqNumber(0) },
            flags,
            window: 32_792,
            urgent: 0,
            options,
        };
        let payload = vec![9u8; len];
        let tcp_len = repr.header_len() + len;
        let ip = ipv4::Repr {
            src: REMOTE.into(),
            dst: LOCAL.into(),
            protocol: Protocol::TCP,
            dscp: 0,
            ecn: Ecn::NotEct,
            ident: 0,
            dont_fragment: true,
            ttl: 64,
            payload_len: tcp_len as u16,
        };
        let mut packet = vec![0; ipv4::HEADER_LEN + tcp_len];
        ip.emit(&mut packet);
        let (header, body) = packet[ipv4::HEADER_LEN..].split_at_mut(repr.header_len());
        body.copy_from_slice(&payload);
        repr.emit(header, &payload, 0, ip.src, ip.dst);
        // SAFETY: a packet of this length.
        let sent = unsafe {
            (self.table.netdev_send)(self.table.userdata, packet.as_ptr().cast(), packet.len())
        };
        assert_eq!(sent, 0);
    }

    /// The next packet that leaves, and when, in microseconds from the begin.
    fn leaves(&mut self) -> Option<(Sent, i64)> {
        let mut packet = [0u8; 65_536];
        let (mut len, mut at) = (packet.len(), 0);
        // SAFETY: the length says how much room there is.
        let received = unsafe {
            let to = packet.as_mut_ptr().cast();
            (self.table.netdev_receive)(self.table.userdata, to, &mut len, &mut at)
        };
        if received != 0 {
            return None;
        }
        let ip = ipv4::Packet::new_checked(&packet[..len], 0).expect("an IP packet");
        let segment = tcp::Packet::new_checked(ip.payload(), 0).expect("a segment");
        let repr =
            tcp::Repr::parse(&segment, ip.src(), ip.dst(), Integrity::Intact).expect("right");
        let iss = *self.iss.get_or_insert(repr.seq);
        assert_eq!((ip.src(), ip.dst()), (LOCAL.into(), REMOTE.into()));
        let sent = (repr.flags, repr.seq - iss, repr.ack.0, segment.payload_len());
        Some((sent, at - self.begin))
    }

    /// What must leave next, whenever.
    fn expect(&mut self, sent: Sent) -> i64 {
        let (left, at) = self.leaves().expect("something leaves");
        let is_data = |flags: Flags| Flags(flags.0 & !Flags::PSH.0);
        assert_eq!(
            (is_data(left.0), left.1, left.2, left.3),
            (is_data(sent.0), sent.1, sent.2, sent.3)
        );
        at
    }

    /// A connection opened by the peer, without options but the MSS; the listener and the connection.
    fn established(settings: &str) -> (Script, c_int) {
        let mut script = Script::new(settings);
        let listener = script.listening();
        let options = Options { mss: Some(MSS as u16), ..Options::default() };
        script.arrives(Flags::SYN, 0, 0, 0, options);
        script.expect((SYN_ACK, 0, 1, 0));
        script.arrives(Flags::ACK, 1, 1, 0, Options::default());
        let fd = script.accept(listener);
        (script, fd)
    }
}

#[test]
fn a_connection_is_opened_used_and_closed() {
    let (mut script, fd) = Script::established("");
    script.arrives(DATA, 1, 1, 1000, Options::default());
    script.expect((Flags::ACK, 1, 1001, 0));
    assert_eq!(script.read(fd, 4000), 1000);
    assert_eq!(script.write(fd, 300), 300);
    script.expect((DATA, 1, 1001, 300));
    script.arrives(FIN_ACK, 1001, 301, 0, Options::default());
    script.expect((Flags::ACK, 301, 1002, 0));
    assert_eq!(script.read(fd, 4000), 0);
    assert_eq!(script.close(fd), 0);
    script.expect((FIN_ACK, 301, 1002, 0));
    script.arrives(Flags::ACK, 1002, 302, 0, Options::default());
    assert!(script.leaves().is_none(), "nothing is left to say");
}

#[test]
fn the_initial_window_is_ten_and_doubles() {
    let (mut script, fd) = Script::established("cc=reno");
    assert_eq!(script.write(fd, 40 * MSS as usize), 40 * MSS as isize);
    for i in 0..10 {
        script.expect((DATA, 1 + i * MSS, 1, MSS as usize));
    }
    for i in 0..5 {
        script.arrives(Flags::ACK, 1, 1 + 2 * (i + 1) * MSS, 0, Options::default());
        for j in 0..4 {
            script.expect((DATA, 1 + (10 + 4 * i + j) * MSS, 1, MSS as usize));
        }
    }
}

#[test]
fn three_duplicates_are_a_loss_and_silence_is_one_too() {
    let (mut script, fd) = Script::established("cc=reno,rto_min_ms=200");
    script.write(fd, 5 * MSS as usize);
    for i in 0..5 {
        script.expect((DATA, 1 + i * MSS, 1, MSS as usize));
    }
    script.pass(10_000);
    script.arrives(Flags::ACK, 1, 1 + MSS, 0, Options::default());
    (0..3).for_each(|_| script.arrives(Flags::ACK, 1, 1 + MSS, 0, Options::default()));
    let resent = script.expect((DATA, 1 + MSS, 1, MSS as usize));
    script.arrives(Flags::ACK, 1, 1 + 5 * MSS, 0, Options::default());
    assert!((resent - script.time() + script.begin).abs() < TOLERANCE_MICROS);

    script.write(fd, MSS as usize);
    let first = script.expect((DATA, 1 + 5 * MSS, 1, MSS as usize));
    let second = script.expect((DATA, 1 + 5 * MSS, 1, MSS as usize));
    let third = script.expect((DATA, 1 + 5 * MSS, 1, MSS as usize));
    let (rto, doubled) = (second - first, third - second);
    assert!((200_000..400_000).contains(&rto), "{rto} us");
    assert!((doubled - 2 * rto).abs() < TOLERANCE_MICROS, "{rto} us, then {doubled} us");
}

#[test]
fn a_call_that_waits_is_woken_by_a_packet_at_its_time() {
    let (script, fd) = Script::established("");
    thread::scope(|scope| {
        let (script, begun) = (&script, script.time());
        let reader = scope.spawn(move || (script.read(fd, 100), script.time()));
        script.pass(250_000);
        script.arrives(DATA, 1, 1, 100, Options::default());
        let arrived = script.time();
        let (read, at) = reader.join().expect("it returns");
        assert_eq!(read, 100);
        assert!(at >= begun && (at - arrived).abs() < TOLERANCE_MICROS, "{at} and {arrived}");
    });
}

#[test]
fn a_connection_is_opened_by_the_program() {
    let mut script = Script::new("timestamps=off");
    let (fd, to) = (script.socket(), address(REMOTE, PEER_PORT));
    let len = size_of_val(&to) as libc::socklen_t;
    // SAFETY: takes numbers, then an address of this length.
    let connected = unsafe {
        let nonblocking = libc::c_long::from(libc::O_RDWR | libc::O_NONBLOCK);
        (script.table.fcntl)(script.table.userdata, fd, libc::F_SETFL, nonblocking);
        (script.table.connect)(script.table.userdata, fd, (&raw const to).cast(), len)
    };
    let error = std::io::Error::last_os_error().raw_os_error();
    assert_eq!((connected, error), (-1, Some(libc::EINPROGRESS)));
    script.expect((Flags::SYN, 0, 0, 0));
    let again = script.expect((Flags::SYN, 0, 0, 0));
    assert!((again - 1_000_000).abs() < TOLERANCE_MICROS, "the SYN is repeated after {again} us");
}

#[test]
fn tcp_info_tells_what_the_kernels_would() {
    let (script, fd) = Script::established("cc=reno");
    script.write(fd, 3 * MSS as usize);
    let (mut info, mut len) = ([0u32; 26], size_of::<[u32; 26]>() as libc::socklen_t);
    // SAFETY: as much room as the length says.
    let answered = unsafe {
        let to = info.as_mut_ptr().cast();
        (script.table.getsockopt)(
            script.table.userdata,
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            to,
            &mut len,
        )
    };
    assert_eq!((answered, len), (0, 104));
    assert_eq!(info[0].to_ne_bytes()[..2], [1, 0], "established, open");
    let (snd_mss, unacked, snd_cwnd, total_retrans) = (info[4], info[6], info[20], info[25]);
    assert_eq!((snd_mss, unacked, snd_cwnd, total_retrans), (MSS, 3, 10, 0));
}

#[test]
fn a_setting_that_is_wrong_leaves_the_table_empty() {
    let table = std::mem::ManuallyDrop::new(MaybeUninit::<Interface>::zeroed());
    let wrong = CString::new("cc=fastest").expect("no NUL");
    let mut table = std::mem::ManuallyDrop::into_inner(table);
    // SAFETY: a string of C and a table; only its bytes are looked at.
    let bytes = unsafe {
        trunkline_packetdrill::packetdrill_interface_init(wrong.as_ptr(), table.as_mut_ptr());
        std::slice::from_raw_parts(table.as_ptr().cast::<u8>(), size_of::<Interface>())
    };
    assert!(bytes.iter().all(|byte| *byte == 0));
}
