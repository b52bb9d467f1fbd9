//! End-to-end tests of the `guildhall` binary.

#![allow(clippy::expect_used, reason = "test helpers may panic with a message")]

mod approval_policies;
mod approvals;
mod audit_attacks;
mod audit_follow;
mod canary;
mod canary_agents;
mod client;
mod client_tokens;
mod config_check;
mod containment;
mod contexts;
mod dev;
mod dev_kills;
mod doctor;
mod doctor_after_dev;
mod doctor_client;
mod doctor_laptop;
mod error_output;
mod first_run;
mod git_over_ssh;
mod git_workspaces;
mod help;
mod journal_faults;
mod launched_runners;
mod login_oidc;
mod messages;
mod own_repository;
mod parallel_runners;
mod parked_run;
mod profiles;
mod project_setup;
mod rate_faults;
mod run_faults;
mod runner;
mod runner_acp;
mod runner_codex;
mod runner_faults;
mod runs;
mod runs_explain;
mod runs_watch;
mod serve;
mod sessions;
mod support;
mod webhooks;
