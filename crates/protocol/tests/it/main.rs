//! Tests of the protocol with generated input.

#![allow(clippy::expect_used, reason = "test helpers may panic with a message")]

mod manifest_diff;
mod schema_generator;
mod schema_mutations;
mod value_generator;
