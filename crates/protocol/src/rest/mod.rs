//! REST bodies, one module a resource.

pub mod audit;
pub mod auth;
pub mod capabilities;
pub mod commands;
pub mod enrolments;
pub mod health;
pub mod invitations;
pub mod keys;
pub mod profiles;
pub mod projects;
pub mod runner;
pub mod runner_jobs;
pub mod runners;
pub mod runs;
pub mod sessions;
pub mod subject_tokens;
pub mod tenants;
pub mod users;
