//! Positions in a stream of frames.

/// The position of a frame: the event that caused it, and its number among the frames of that event. Positions sort as
/// the frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FramePosition {
    /// Number of the run in its session.
    pub ordinal: i32,
    pub seq: i64,
    pub index: u32,
}
