//! How often refused requests are written into the audit log.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Written at most this many in a window.
const AT_MOST: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Counts refusals of one replica. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<Option<(Instant, u32)>>>);

impl Refusals {
    /// Returns whether one more may be written now.
    pub(crate) fn may_write(&self) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *window {
            Some((began, count)) if began.elapsed() < WINDOW => {
                *count += 1;
                *count <= AT_MOST
            }
            Some(_) | None => {
                *window = Some((Instant::now(), 1));
                true
            }
        }
    }
}
