//! The whole server, in this process, on real engines; two replicas wherever replicas could differ.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod access;
mod audit;
mod audit_seal;
mod authorization;
mod config;
mod drain;
mod engines_away;
mod enrolments;
mod failures;
mod health;
mod housekeeping;
mod limits;
mod migrations;
mod pages;
mod projects;
mod rate_limits;
mod runs;
mod sign_in;
mod streams;
mod subject_tokens;
mod support;
mod tenants;
