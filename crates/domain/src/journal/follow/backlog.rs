//! How far a reader may fall behind what is live.

/// What may wait for one reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub frames: usize,
    pub bytes: usize,
}

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Push {
    Taken,
    /// There is no room.
    Full,
}

/// What waits for one reader. It warns once at 75 % of either bound; it must fall below 37.5 % of both before it warns
/// again, and before a reader that was full counts as having caught up.
#[derive(Debug, Clone)]
pub struct Backlog {
    bounds: Bounds,
    frames: usize,
    bytes: usize,
    warned: bool,
    overflowing: bool,
}

impl Backlog {
    #[must_use]
    pub const fn new(bounds: Bounds) -> Self {
        Self { bounds, frames: 0, bytes: 0, warned: false, overflowing: false }
    }

    /// Adds a frame where there is room. One alone is always taken, however large it is: it could never be read else.
    pub fn push(&mut self, bytes: usize) -> Push {
        let (frames, total) = (self.frames + 1, self.bytes.saturating_add(bytes));
        if self.frames > 0 && (frames > self.bounds.frames || total > self.bounds.bytes) {
            self.overflowing = true;
            return Push::Full;
        }
        (self.frames, self.bytes) = (frames, total);
        Push::Taken
    }

    /// Returns whether the reader is to be warned now.
    pub fn take_warning(&mut self) -> bool {
        let warns = !self.warned && (self.overflowing || self.is_at_least(3, 4));
        self.warned |= warns;
        warns
    }

    /// Takes a frame away that was read.
    pub fn pop(&mut self, bytes: usize) {
        self.frames = self.frames.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        if !self.is_at_least(3, 8) {
            self.warned = false;
            self.overflowing = false;
        }
    }

    /// Returns how many frames and bytes wait.
    #[must_use]
    pub const fn load(&self) -> Bounds {
        Bounds { frames: self.frames, bytes: self.bytes }
    }

    /// Returns whether the reader was full and has not caught up since.
    #[must_use]
    pub const fn is_overflowing(&self) -> bool {
        self.overflowing
    }

    fn is_at_least(&self, part: usize, of: usize) -> bool {
        let reaches = |used: usize, bound: usize| used.saturating_mul(of) >= bound.saturating_mul(part);
        reaches(self.frames, self.bounds.frames) || reaches(self.bytes, self.bounds.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds { frames: 16, bytes: 1000 };

    proptest! {
        /// Any order of writing and reading, with frames of any size.
        #[test]
        fn no_more_waits_than_the_bounds_allow(steps in proptest::collection::vec(proptest::option::of(0usize..400), 0..200)) {
            let (mut backlog, mut waiting) = (Backlog::new(BOUNDS), VecDeque::new());
            for step in steps {
                match step {
                    Some(size) => match backlog.push(size) {
                        Push::Taken => waiting.push_back(size),
                        Push::Full => prop_assert!(!waiting.is_empty(), "an empty queue has room"),
                    },
                    None => if let Some(size) = waiting.pop_front() { backlog.pop(size) },
                }
                let bytes: usize = waiting.iter().sum();
                prop_assert!(waiting.len() <= BOUNDS.frames && bytes <= BOUNDS.bytes);
                prop_assert_eq!((backlog.frames, backlog.bytes), (waiting.len(), bytes));
            }
        }
    }

    /// Fills up to so many frames; returns at how many it warned.
    fn fill(backlog: &mut Backlog, frames: usize) -> Option<usize> {
        let mut warned = None;
        while backlog.frames < frames {
            assert_eq!(backlog.push(1), Push::Taken);
            warned = warned.or(backlog.take_warning().then_some(backlog.frames));
        }
        warned
    }

    #[test]
    fn a_reader_is_warned_once_at_three_quarters_and_again_only_after_it_caught_up() {
        let mut backlog = Backlog::new(BOUNDS);
        assert_eq!(fill(&mut backlog, 16), Some(12));
        // Down to 6 of 16, which is 37.5 %: not below it yet.
        (0..10).for_each(|_| backlog.pop(1));
        assert_eq!(fill(&mut backlog, 16), None);
        (0..11).for_each(|_| backlog.pop(1));
        assert_eq!(fill(&mut backlog, 16), Some(12), "re-armed below 37.5 %");
    }

    #[test]
    fn bytes_fill_it_as_frames_do_and_one_large_frame_is_taken_alone() {
        let mut backlog = Backlog::new(BOUNDS);
        assert_eq!((backlog.push(700), backlog.take_warning()), (Push::Taken, false));
        assert_eq!(
            (backlog.push(301), backlog.take_warning()),
            (Push::Full, true),
            "nobody is evicted unwarned"
        );
        assert!(backlog.is_overflowing());
        backlog.pop(700);
        assert!(!backlog.is_overflowing());
        assert_eq!((backlog.push(5000), backlog.take_warning()), (Push::Taken, true));
        assert_eq!(backlog.push(0), Push::Full);
    }
}
