//! Applications: what opens connections, writes, reads and asks. They are driven by events of their
//! hosts and by their own schedule, never polled.

pub(crate) mod attempts;
pub(crate) mod bulk;
pub(crate) mod datagrams;
mod draw;
pub(crate) mod heartbeat;
pub(crate) mod messages;
pub(crate) mod ping;
pub(crate) mod requests;
pub(crate) mod rip;
pub(crate) mod rpc;
pub(crate) mod streams;
pub(crate) mod web;

use trunkline_core::Context;
use trunkline_core::host::{Event, Host};
use trunkline_core::time::Instant;

/// What an application may use while it is called.
pub(crate) struct Call<'a> {
    pub(crate) now: Instant,
    pub(crate) cx: &'a mut Context,
    pub(crate) hosts: &'a mut [Host],
}

/// One application of a plan's flow.
pub(crate) enum App {
    Bulk(Box<bulk::Bulk>),
    Streams(streams::Streams),
    Ping(ping::Ping),
    Requests(Box<requests::Requests>),
    Attempts(Box<attempts::Attempts>),
    Messages(Box<messages::Messages>),
    Web(Box<web::Web>),
    Rpc(Box<rpc::Rpc>),
    Rip(rip::Rip),
    Heartbeat(heartbeat::Heartbeat),
    Datagrams(Box<datagrams::Datagrams>),
}

impl App {
    /// Takes an event that is meant for it. Answers whether it was.
    pub(crate) fn handle_event(&mut self, call: &mut Call<'_>, host: usize, event: &Event) -> bool {
        match self {
            App::Bulk(bulk) => bulk.handle_event(call, host, event),
            App::Streams(streams) => streams.handle_event(call, host, event),
            App::Ping(ping) => ping.handle_event(call, host, event),
            App::Requests(requests) => requests.handle_event(call, host, event),
            App::Attempts(attempts) => attempts.handle_event(call, host, event),
            App::Messages(messages) => messages.handle_event(call, host, event),
            App::Web(web) => web.handle_event(call, host, event),
            App::Rpc(rpc) => rpc.handle_event(call, host, event),
            App::Rip(rip) => rip.handle_event(call, host, event),
            App::Heartbeat(heartbeat) => heartbeat.handle_event(call, host, event),
            App::Datagrams(datagrams) => datagrams.handle_event(call, host, event),
        }
    }

    /// Its own deadline has come.
    pub(crate) fn handle_timeout(&mut self, call: &mut Call<'_>) {
        match self {
            App::Bulk(bulk) => bulk.handle_timeout(call),
            App::Streams(streams) => streams.handle_timeout(call),
            App::Ping(ping) => ping.handle_timeout(call),
            App::Requests(requests) => requests.handle_timeout(call),
            App::Attempts(attempts) => attempts.handle_timeout(call),
            App::Messages(messages) => messages.handle_timeout(call),
            App::Web(web) => web.handle_timeout(call),
            App::Rpc(rpc) => rpc.handle_timeout(call),
            App::Rip(rip) => rip.handle_timeout(call),
            App::Heartbeat(heartbeat) => heartbeat.handle_timeout(call),
            App::Datagrams(datagrams) => datagrams.handle_timeout(call),
        }
    }

    /// When it wants to be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self {
            App::Bulk(bulk) => bulk.poll_timeout(),
            App::Streams(streams) => streams.poll_timeout(),
            App::Ping(ping) => ping.poll_timeout(),
            App::Requests(requests) => requests.poll_timeout(),
            App::Attempts(attempts) => attempts.poll_timeout(),
            App::Messages(messages) => messages.poll_timeout(),
            App::Web(web) => web.poll_timeout(),
            App::Rpc(rpc) => rpc.poll_timeout(),
            App::Rip(rip) => rip.poll_timeout(),
            App::Heartbeat(heartbeat) => heartbeat.poll_timeout(),
            App::Datagrams(datagrams) => datagrams.poll_timeout(),
        }
    }

    /// Whether it is a part of a driver: what it is told it hears when the frame is served, and no process is
    /// woken for it.
    pub(crate) const fn is_driver(&self) -> bool {
        matches!(self, App::Heartbeat(_))
    }

    /// Whether it will ever finish by itself.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            App::Bulk(bulk) => bulk.is_finite(),
            App::Streams(streams) => streams.is_finite(),
            App::Ping(ping) => ping.is_finite(),
            App::Requests(requests) => requests.is_finite(),
            App::Attempts(attempts) => attempts.is_finite(),
            App::Messages(_) | App::Datagrams(_) | App::Rip(_) | App::Heartbeat(_) => false,
            App::Web(web) => web.is_finite(),
            App::Rpc(rpc) => rpc.is_finite(),
        }
    }

    /// Whether nothing more is expected of it: finished, or without an end of its own.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            App::Bulk(bulk) => bulk.is_done(),
            App::Streams(streams) => streams.is_done(),
            App::Ping(ping) => ping.is_done(),
            App::Requests(requests) => requests.is_done(),
            App::Attempts(attempts) => attempts.is_done(),
            App::Messages(_) | App::Datagrams(_) | App::Rip(_) | App::Heartbeat(_) => true,
            App::Web(web) => web.is_done(),
            App::Rpc(rpc) => rpc.is_done(),
        }
    }

    /// How much of it is done, where it has an end of its own.
    pub(crate) fn share_done(&self) -> Option<f64> {
        match self {
            App::Bulk(bulk) => bulk.share_done(),
            App::Streams(streams) => streams.share_done(),
            App::Ping(ping) => ping.share_done(),
            App::Requests(requests) => requests.share_done(),
            App::Attempts(attempts) => attempts.share_done(),
            App::Messages(_) | App::Datagrams(_) | App::Rip(_) | App::Heartbeat(_) => None,
            App::Web(web) => web.share_done(),
            App::Rpc(rpc) => rpc.share_done(),
        }
    }

    /// The hosts a call of [`App::handle_timeout`] may have touched.
    pub(crate) fn hosts(&self) -> &[usize] {
        match self {
            App::Bulk(bulk) => bulk.hosts(),
            App::Streams(streams) => streams.hosts(),
            App::Ping(ping) => ping.hosts(),
            App::Requests(requests) => requests.hosts(),
            App::Attempts(attempts) => attempts.hosts(),
            App::Messages(messages) => messages.hosts(),
            App::Web(web) => web.hosts(),
            App::Rpc(rpc) => rpc.hosts(),
            App::Rip(rip) => rip.hosts(),
            App::Heartbeat(heartbeat) => heartbeat.hosts(),
            App::Datagrams(datagrams) => datagrams.hosts(),
        }
    }

    /// Bytes of files received so far.
    pub(crate) fn received(&self) -> u64 {
        match self {
            App::Bulk(bulk) => bulk.record.received,
            App::Streams(streams) => streams.received(),
            _ => 0,
        }
    }
}
