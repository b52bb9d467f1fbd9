//! REST bodies, one module per feature group and resource.

pub mod access;
pub mod ops;
pub mod profiles;
pub mod runners;
pub mod runs;
pub mod sessions;
