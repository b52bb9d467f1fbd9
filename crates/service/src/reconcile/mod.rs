//! Work that runs on a signal and on a timer, and may be repeated at will.

mod replicas;

pub use replicas::Replicas;
