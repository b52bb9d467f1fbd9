//! The worker's end: it says until when it holds a run, and ends when nobody guards it any more.

use std::io::{self, Read, Write};
use std::process::exit;
use std::thread;
use std::time::Duration;

use super::word::Word;
use crate::child;

/// What the worker exits with when its guard is gone.
const UNGUARDED: i32 = 1;

/// What a worker tells its guard. One without a guard tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leash {
    is_guarded: bool,
}

impl Leash {
    /// Takes the guard's end: the standard streams are its own from here on.
    ///
    /// A thread of its own waits for the guard's end, so that it is seen however busy everything else is.
    pub fn taken() -> io::Result<Self> {
        thread::Builder::new().name("leash".to_owned()).spawn(|| {
            let _closed = io::stdin().read_to_end(&mut Vec::new());
            child::end_everything();
            exit(UNGUARDED);
        })?;
        Ok(Self { is_guarded: true })
    }

    /// Says that a run is held, and that this will be said again within a time.
    pub fn until(self, left: Duration) {
        self.say(Word::Until(left));
    }

    /// Says that no run is held.
    pub fn free(self) {
        self.say(Word::Free);
    }

    fn say(self, word: Word) {
        if self.is_guarded {
            // Nobody listens only when the guard is gone, and that is seen elsewhere.
            let mut out = io::stdout().lock();
            let _gone = writeln!(out, "{word}").and_then(|()| out.flush());
        }
    }
}
