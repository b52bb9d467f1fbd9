//! REST bodies, one module a resource.

pub mod health;
