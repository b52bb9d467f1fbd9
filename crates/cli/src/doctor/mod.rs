//! `guildhall doctor`.

mod check;
mod client;
mod engines;
mod http;
mod laptop;
mod problem;
mod sandbox;
mod server;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use guildhall_server::config::Sources;

use crate::async_runtime::new_runtime;
use crate::config_dir::{ConfigDir, Contexts};
use crate::dev_state::default_state_dir;
use crate::error::ChecksFailed;
use crate::output::print_json;
use check::{NoProgress, Progress, Report, StderrProgress, StdoutProgress};
use client::Client;
use laptop::Laptop;
use server::Server;

const CONFIG_FILE: &str = "guildhall.toml";

const EXAMPLES: &str = "Examples:
  guildhall doctor                            Check the `guildhall dev` of this directory, ./guildhall.toml or your current context
  guildhall doctor --config guildhall.toml    Check a server and its engines, running or not
  guildhall doctor --context ada@staging      Check the connection to the server of a context
  guildhall doctor --json | jq -r .rootCause

Checks run in order. A check that depends on a failed check is skipped. Each failed check shows a command that fixes it.
docs/doctor.md describes every check.

Exit codes: 0 no check failed, 1 a check failed, 2 usage error.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Check this machine for `guildhall dev`, with this state directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "context"])]
    state: Option<PathBuf>,
    /// Check a server with this configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "context")]
    config: Option<PathBuf>,
    /// Check the connection to the server of this context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<()> {
    let runtime = new_runtime()?;
    let mut progress: Box<dyn Progress> =
        if args.json { Box::new(NoProgress) } else { Box::new(StdoutProgress) };
    let report = runtime.block_on(check(args, progress.as_mut()))?;
    // A check that timed out may still block a thread: do not wait for it.
    runtime.shutdown_background();
    if args.json {
        print_json(&report.json().to_string())?;
    }
    if report.all_passed() { Ok(()) } else { Err(ChecksFailed.into()) }
}

async fn check(args: &DoctorArgs, progress: &mut dyn Progress) -> Result<Report> {
    if let Some(state) = &args.state {
        return check_laptop(Some(state.clone()), progress).await;
    }
    if args.config.is_some() {
        return check_server(args.config.clone(), progress).await;
    }
    if args.context.is_some() {
        return check_client(args.context.clone(), progress).await;
    }
    let config = std::env::var_os("GUILDHALL_CONFIG").map(PathBuf::from);
    let state = default_state_dir();
    if state.exists() {
        check_laptop(Some(state), progress).await
    } else if config.is_some() || Path::new(CONFIG_FILE).exists() {
        check_server(config, progress).await
    } else if has_context() {
        check_client(None, progress).await
    } else {
        check_laptop(Some(state), progress).await
    }
}

async fn check_laptop(state: Option<PathBuf>, progress: &mut dyn Progress) -> Result<Report> {
    progress.print_line("Checking this machine for `guildhall dev`:")?;
    let config = std::env::var_os("GUILDHALL_CONFIG").map(PathBuf::from);
    let mut target = Laptop::new(state, None, Sources::from_process(config, Vec::new()));
    Ok(check::run_checks("laptop", &mut target, laptop::CHECKS, progress).await?)
}

async fn check_server(config: Option<PathBuf>, progress: &mut dyn Progress) -> Result<Report> {
    progress.print_line("Checking the configuration and engines for `guildhall serve`:")?;
    Ok(check::run_checks("server", &mut Server::new(config), server::CHECKS, progress).await?)
}

async fn check_client(context: Option<String>, progress: &mut dyn Progress) -> Result<Report> {
    progress.print_line("Checking the connection to your server:")?;
    Ok(check::run_checks("client", &mut Client::new(context), client::CHECKS, progress).await?)
}

fn has_context() -> bool {
    let contexts = ConfigDir::find().and_then(|dir| Contexts::load(&dir));
    contexts.is_ok_and(|contexts| !contexts.contexts.is_empty())
        || std::env::var_os("GUILDHALL_CONTEXT").is_some()
}

/// The installation that a failed `guildhall dev` was to start.
pub(crate) struct DevTarget {
    /// `None` if the state is temporary.
    pub(crate) state: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) sources: Sources,
}

/// Prints the checks of this machine below the error of a failed `guildhall dev`. Does not change the exit code.
pub(crate) fn diagnose_failed_dev(dev: DevTarget) {
    let Ok(runtime) = new_runtime() else { return };
    let mut target = Laptop::new(dev.state, dev.listen, dev.sources);
    eprintln!("\nguildhall doctor:");
    let _ignored =
        runtime.block_on(check::run_checks("laptop", &mut target, laptop::CHECKS, &mut StderrProgress));
    drop(target);
    runtime.shutdown_background();
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ops::checks::{CheckSpec, is_ordered};

    use super::*;

    fn ids(steps: impl Iterator<Item = CheckSpec>) -> Vec<&'static str> {
        let steps: Vec<CheckSpec> = steps.collect();
        assert!(is_ordered(&steps), "{steps:?}");
        steps.iter().map(|step| step.id).collect()
    }

    #[test]
    fn every_check_requires_only_earlier_ones_and_is_documented() {
        let all = [
            ids(laptop::CHECKS.iter().map(|check| check.spec)),
            ids(server::CHECKS.iter().map(|check| check.spec)),
            ids(client::CHECKS.iter().map(|check| check.spec)),
        ];
        let page = include_str!("../../../../docs/doctor.md");
        for id in all.concat() {
            assert!(page.contains(&format!("| `{id}` |")), "docs/doctor.md does not describe {id}");
        }
    }
}
