//! trunkline's TCP as a stack that packetdrill drives: `packetdrill --so_filename=libtrunkline_packetdrill.so
//! --so_flags=SETTINGS SCRIPT`.
//!
//! packetdrill (an external program, of which nothing is in here) plays scripts of system calls and packets against
//! a TCP and checks what comes back. A library it loads stands in for the kernel: `interface` is the table of
//! functions it fills, `shared` lets its two threads in, `world` is one host of the core in virtual time, and
//! `calls` are the system calls upon it. Time passes only when packetdrill asks for it, so scripts run as fast
//! as the machine can and always alike.
//!
//! Deviations: TCP only; `epoll`, `pipe` and `splice` are refused with `ENOSYS`.
#![allow(unsafe_code)]

mod calls;
pub mod interface;
pub mod settings;
mod shared;
mod tcp_info;
mod world;

use interface::Interface;
use settings::Settings;
use shared::Shared;
use std::ffi::{CStr, c_char, c_int};

/// What packetdrill calls once it has loaded the library: fills the table. Settings that cannot be read
/// leave it empty, which packetdrill cannot work with.
///
/// # Safety
/// `flags` is null or a string of C, `interface` points to a table to be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(
    flags: *const c_char,
    interface: *mut Interface,
) {
    let text = match flags.is_null() {
        true => "",
        // SAFETY: by this function's contract a string of C that lives during the call.
        false => unsafe { CStr::from_ptr(flags) }.to_str().unwrap_or("?"),
    };
    let Ok(settings) = Settings::parse(text) else {
        return;
    };
    let shared = shared::keep(Shared::new(settings));
    // SAFETY: by this function's contract a table to be written.
    unsafe { interface.write(Interface::of(shared)) };
}

/// The C library's `getsockopt` for whoever loads this library first (`LD_PRELOAD`): packetdrill's assertions on
/// `tcp_info` ask it, not the table. Sockets of ours are answered here, all others by the kernel.
///
/// # Safety
/// As for getsockopt(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut libc::c_void,
    len: *mut libc::socklen_t,
) -> c_int {
    match shared::kept().filter(|_| fd >= world::FD_FIRST) {
        // SAFETY: the caller's pointers, as for getsockopt(2).
        Some(shared) => unsafe { interface::option_of(shared, fd, level, name, value, len) },
        // SAFETY: the same arguments, handed on.
        None => unsafe {
            libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) as c_int
        },
    }
}
