//! REST bodies, one module a resource.

pub mod audit;
pub mod auth;
pub mod capabilities;
pub mod health;
pub mod invitations;
pub mod keys;
pub mod tenants;
pub mod users;
