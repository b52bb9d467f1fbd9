//! Integration tests of the whole server on a real PostgreSQL and NATS, in this process. Where replicas could differ, a
//! test uses two.

#![allow(clippy::expect_used, reason = "a failing test helper must fail its test with a message")]

mod access;
mod audit;
mod audit_actions;
mod audit_anchors;
mod audit_owner;
mod audit_seal;
mod authorization;
mod backends;
mod browser_session;
mod claim_race;
mod commands;
mod config;
mod drain;
mod engine_outages;
mod enrolments;
mod error_responses;
mod failure_kinds;
mod health;
mod housekeeping;
mod invitations;
mod json_responses;
mod limits;
mod members;
mod migrations;
mod oidc;
mod oidc_attacks;
mod oidc_handoff;
mod profiles;
mod project_setup;
mod projects;
mod prompts;
mod public_endpoints;
mod rate_limits;
mod result_envelope;
mod routes;
mod run_liveness;
mod run_results;
mod run_size;
mod runner_attacks;
mod runner_jobs;
mod runner_loss;
mod runs;
mod session_storage;
mod sessions;
mod sign_in;
mod sign_in_limits;
mod streams;
mod subject_tokens;
mod support;
mod tenant_bounds;
mod tenants;
mod users;
mod workspace_diffs;
