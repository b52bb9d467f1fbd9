//! Health and capabilities.

pub mod capabilities;
pub mod health;
