//! The whole server, in this process, on real engines; two replicas wherever replicas could differ.

#![allow(clippy::expect_used, reason = "a helper that fails shall fail its test, saying what it relied on")]

mod access;
mod audit;
mod audit_seal;
mod authorization;
mod browser_session;
mod claim_race;
mod config;
mod drain;
mod engines_away;
mod enrolments;
mod failures;
mod health;
mod housekeeping;
mod invitations;
mod limits;
mod migrations;
mod oidc;
mod oidc_attacks;
mod oidc_handoff;
mod pages;
mod profiles;
mod projects;
mod rate_limits;
mod routes;
mod run_liveness;
mod run_loss;
mod run_results;
mod run_size;
mod runner_jobs;
mod runs;
mod session_storage;
mod sessions;
mod sign_in;
mod streams;
mod subject_tokens;
mod support;
mod tenants;
