//! REST bodies, one module a resource.

pub mod audit;
pub mod auth;
pub mod capabilities;
pub mod enrolments;
pub mod health;
pub mod keys;
pub mod projects;
pub mod runner;
pub mod subject_tokens;
pub mod tenants;
pub mod users;
