//! One world and two threads: packetdrill's first drives time and packets, the second makes calls that block.
//!
//! Time stands still until everybody who was blocked has looked at what the driver has done, and until whoever
//! was released has asked what time it is: scripts measure when a call returned. These waits are bounded, in case
//! that never happens.

use crate::settings::Settings;
use crate::world::World;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration as Wait;
use trunkline_core::time::{Duration, Instant};

/// How long the driver waits for those it may have released to look.
const LOOK_MAX: Wait = Wait::from_secs(1);
/// How long it waits for one who was released to ask for the time.
const ANSWER_MAX: Wait = Wait::from_millis(50);
/// How long it waits for a packet that another thread may still cause.
const PACKET_MAX: Wait = Wait::from_millis(20);
/// What asking for the time costs: whoever spins until an event is due must get there.
const ASKING: Duration = Duration::from_micros(1);

struct State {
    world: World,
    /// Counts what the driver has done.
    turn: u64,
    /// Calls that wait, and how many of them have seen this turn in vain.
    blocked: usize,
    looked: usize,
    /// Threads that were released and have not asked for the time yet.
    released: Vec<ThreadId>,
}

/// The world and the way in.
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

static KEPT: Mutex<Option<&'static Shared>> = Mutex::new(None);

/// Keeps a world as long as the process lives; it is the one [`kept`] answers from now on.
pub fn keep(shared: Shared) -> &'static Shared {
    let shared: &'static Shared = Box::leak(Box::new(shared));
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(shared);
    shared
}

/// The world that was kept last.
pub fn kept() -> Option<&'static Shared> {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub fn new(settings: Settings) -> Shared {
        let world = World::new(settings);
        let state = State { world, turn: 0, blocked: 0, looked: 0, released: Vec::new() };
        Shared { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that does not wait.
    pub fn act<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        let mut state = self.lock();
        let result = act(&mut state.world);
        state.world.settle();
        self.changed.notify_all();
        result
    }

    /// A call that waits until `attempt` has an answer.
    pub fn block<R>(&self, mut attempt: impl FnMut(&mut World) -> Option<R>) -> R {
        let mut state = self.lock();
        if let Some(result) = attempt(&mut state.world) {
            state.world.settle();
            self.changed.notify_all();
            return result;
        }
        // What was begun, such as a connection, may have sent something.
        state.world.settle();
        state.blocked += 1;
        state.looked += 1;
        self.changed.notify_all();
        loop {
            let turn = state.turn;
            let waited = self.changed.wait_while(state, |state| state.turn == turn);
            state = waited.unwrap_or_else(PoisonError::into_inner);
            if let Some(result) = attempt(&mut state.world) {
                state.world.settle();
                state.blocked -= 1;
                state.released.push(thread::current().id());
                self.changed.notify_all();
                return result;
            }
            state.looked += 1;
            self.changed.notify_all();
        }
    }

    /// What the driver does: a packet arrives, or time passes.
    pub fn drive<R>(&self, act: impl FnOnce(&mut World) -> R) -> R {
        let mut state = self.wait_for_released(self.lock());
        let result = act(&mut state.world);
        self.next_turn(state);
        result
    }

    fn next_turn(&self, mut state: MutexGuard<'_, State>) {
        state.turn += 1;
        state.looked = 0;
        self.changed.notify_all();
        let is_open = |state: &mut State| state.looked < state.blocked;
        drop(self.changed.wait_timeout_while(state, LOOK_MAX, is_open));
    }

    fn wait_for_released<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let is_open = |state: &mut State| !state.released.is_empty();
        let waited = self.changed.wait_timeout_while(state, ANSWER_MAX, is_open);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.released.clear();
        state
    }

    /// What time it is; asking takes a little of it.
    pub fn ask_time(&self) -> Instant {
        let mut state = self.lock();
        let own = thread::current().id();
        let before = state.released.len();
        state.released.retain(|id| *id != own);
        if state.released.len() < before {
            self.changed.notify_all();
            return state.world.now;
        }
        state = self.wait_for_released(state);
        let then = state.world.now + ASKING;
        state.world.pass_until(then);
        state.turn += 1;
        state.looked = 0;
        self.changed.notify_all();
        then
    }

    /// The next packet that leaves, letting time pass to where one does; none when nothing is due.
    pub fn next_departed(&self) -> Option<(Instant, Vec<u8>)> {
        loop {
            let mut state = self.wait_for_released(self.lock());
            if let Some(departed) = state.world.departed.pop_front() {
                return Some(departed);
            }
            if !state.world.pass_to_deadline() {
                let is_empty = |state: &mut State| state.world.departed.is_empty();
                let waited = self.changed.wait_timeout_while(state, PACKET_MAX, is_empty);
                let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                return state.world.departed.pop_front();
            }
            self.next_turn(state);
        }
    }
}
