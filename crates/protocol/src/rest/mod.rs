//! Request and response bodies of the REST API, one module per feature group and resource.

pub mod access;
pub mod ops;
pub mod profiles;
pub mod runners;
pub mod runs;
pub mod sessions;
