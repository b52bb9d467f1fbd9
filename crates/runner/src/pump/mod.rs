//! The one way of a backend's events to the server: mapped, merged, cleaned, batched, sent until acknowledged.

pub mod mixer;
pub mod note;
pub mod send;
pub mod veil;
