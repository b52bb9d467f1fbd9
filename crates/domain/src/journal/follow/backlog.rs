//! Backlog of a slow reader.

/// Size of a reader's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSize {
    pub frames: usize,
    pub bytes: usize,
}

/// Result of adding a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushResult {
    Accepted,
    /// The frame does not fit.
    Full,
}

/// Tracks the queue of one reader. It warns once at 75 % of either limit. Below 37.5 % of both limits, the warning is
/// re-armed and an overflow is over.
#[derive(Debug, Clone)]
pub struct Backlog {
    limits: QueueSize,
    frames: usize,
    bytes: usize,
    warned: bool,
    overflowing: bool,
}

impl Backlog {
    #[must_use]
    pub const fn new(limits: QueueSize) -> Self {
        Self { limits, frames: 0, bytes: 0, warned: false, overflowing: false }
    }

    /// Adds a frame if it fits. An empty queue accepts a frame of any size, because it could never be delivered
    /// otherwise.
    pub fn push(&mut self, bytes: usize) -> PushResult {
        let (frames, total) = (self.frames + 1, self.bytes.saturating_add(bytes));
        if self.frames > 0 && (frames > self.limits.frames || total > self.limits.bytes) {
            self.overflowing = true;
            return PushResult::Full;
        }
        (self.frames, self.bytes) = (frames, total);
        PushResult::Accepted
    }

    /// Returns whether to warn the reader now.
    pub fn take_warning(&mut self) -> bool {
        let warn_now = !self.warned && (self.overflowing || self.is_at_least(3, 4));
        self.warned |= warn_now;
        warn_now
    }

    /// Removes a frame that was delivered.
    pub fn pop(&mut self, bytes: usize) {
        self.frames = self.frames.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        if !self.is_at_least(3, 8) {
            self.warned = false;
            self.overflowing = false;
        }
    }

    /// Returns the queued frames and bytes.
    #[must_use]
    pub const fn load(&self) -> QueueSize {
        QueueSize { frames: self.frames, bytes: self.bytes }
    }

    /// Returns whether the queue overflowed and the reader has not caught up since.
    #[must_use]
    pub const fn is_overflowing(&self) -> bool {
        self.overflowing
    }

    fn is_at_least(&self, numerator: usize, denominator: usize) -> bool {
        let reaches =
            |used: usize, limit: usize| used.saturating_mul(denominator) >= limit.saturating_mul(numerator);
        reaches(self.frames, self.limits.frames) || reaches(self.bytes, self.limits.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const LIMITS: QueueSize = QueueSize { frames: 16, bytes: 1000 };

    proptest! {
        #[test]
        fn queue_never_exceeds_its_limits(steps in proptest::collection::vec(proptest::option::of(0usize..400), 0..200)) {
            let (mut backlog, mut queued) = (Backlog::new(LIMITS), VecDeque::new());
            for step in steps {
                match step {
                    Some(size) => match backlog.push(size) {
                        PushResult::Accepted => queued.push_back(size),
                        PushResult::Full => prop_assert!(!queued.is_empty(), "an empty queue accepts any frame"),
                    },
                    None => if let Some(size) = queued.pop_front() { backlog.pop(size) },
                }
                let bytes: usize = queued.iter().sum();
                prop_assert!(queued.len() <= LIMITS.frames && bytes <= LIMITS.bytes);
                prop_assert_eq!((backlog.frames, backlog.bytes), (queued.len(), bytes));
            }
        }
    }

    /// Fills the queue up to `frames`; returns the length at which it warned.
    fn fill(backlog: &mut Backlog, frames: usize) -> Option<usize> {
        let mut warned = None;
        while backlog.frames < frames {
            assert_eq!(backlog.push(1), PushResult::Accepted);
            warned = warned.or(backlog.take_warning().then_some(backlog.frames));
        }
        warned
    }

    #[test]
    fn warning_fires_once_at_75_percent_and_rearms_below_37_5_percent() {
        let mut backlog = Backlog::new(LIMITS);
        assert_eq!(fill(&mut backlog, 16), Some(12));
        // 6 of 16 is 37.5 %: not below the limit yet.
        (0..10).for_each(|_| backlog.pop(1));
        assert_eq!(fill(&mut backlog, 16), None);
        (0..11).for_each(|_| backlog.pop(1));
        assert_eq!(fill(&mut backlog, 16), Some(12), "re-armed below 37.5 %");
    }

    #[test]
    fn byte_limit_applies_and_an_empty_queue_accepts_a_large_frame() {
        let mut backlog = Backlog::new(LIMITS);
        assert_eq!((backlog.push(700), backlog.take_warning()), (PushResult::Accepted, false));
        assert_eq!(
            (backlog.push(301), backlog.take_warning()),
            (PushResult::Full, true),
            "an overflow warns first"
        );
        assert!(backlog.is_overflowing());
        backlog.pop(700);
        assert!(!backlog.is_overflowing());
        assert_eq!((backlog.push(5000), backlog.take_warning()), (PushResult::Accepted, true));
        assert_eq!(backlog.push(0), PushResult::Full);
    }
}
