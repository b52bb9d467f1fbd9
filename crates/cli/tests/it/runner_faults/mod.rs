//! The runner's own program, and what may happen to it: it is killed, stopped, cut off, told to go; its server is
//! restarted; its turn is cancelled. Nothing is done twice, nothing is left running, nothing is lost without a word.

mod agent;
mod begin;
mod cancel;
mod cut_off;
mod drain;
mod kills;
mod left;
mod process;
mod proxy;
mod refusals;
mod restart;
mod world;

use std::time::Duration;

/// Short, so that nobody waits for long.
const LEASE: Duration = Duration::from_secs(6);
const GRACE: Duration = Duration::from_secs(1);

/// A lost runner must be noticed this long after its last sign of life.
const NOTICED_WITHIN: Duration = Duration::from_secs(6 + 1 + 15);
