//! `guildhall doctor`.

mod check;
mod client;
mod engines;
mod http;
mod laptop;
mod server;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use guildhall_server::config::Sources;

use crate::kept::{Contexts, Folder};
use crate::output::line;
use crate::serve::runtime;
use check::{Progress, Report, Silent, ToStderr, ToStdout};
use client::Client;
use laptop::Laptop;
use server::Server;

const STATE: &str = ".guildhall";
const CONFIG: &str = "guildhall.toml";

const EXAMPLES: &str = "Examples:
  guildhall doctor                            whatever is here: ./.guildhall, ./guildhall.toml or your login
  guildhall doctor --config guildhall.toml    a server and its engines, before it starts or while it runs
  guildhall doctor --context ada@staging      the way to a server that you are signed in to
  guildhall doctor --json | jq -r .rootCause

Checks are made in order. One that cannot pass because of an earlier failure is skipped, so that what failed is what to
repair; each failure comes with its command. docs/doctor.md explains every check.

Exit codes: 0 all is well, 1 a check failed, 2 wrong usage.";

/// A check failed. All has been said about it.
#[derive(Debug, thiserror::Error)]
#[error("a check failed")]
pub(crate) struct Unwell;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Examines a developer's machine: the state folder of `guildhall dev`
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["config", "context"])]
    state: Option<PathBuf>,
    /// Examines a server by its configuration file
    #[arg(long, value_name = "FILE", conflicts_with = "context")]
    config: Option<PathBuf>,
    /// Examines the way to the server of a context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Prints the findings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<()> {
    let runtime = runtime()?;
    let mut progress: Box<dyn Progress> = if args.json { Box::new(Silent) } else { Box::new(ToStdout) };
    let report = runtime.block_on(examine(args, progress.as_mut()))?;
    // A check that was given up may still hold a thread; nobody waits for it.
    runtime.shutdown_background();
    if args.json {
        line(&report.json().to_string())?;
    }
    if report.is_well() { Ok(()) } else { Err(Unwell.into()) }
}

async fn examine(args: &DoctorArgs, progress: &mut dyn Progress) -> Result<Report> {
    if let Some(state) = &args.state {
        return laptop(Some(state.clone()), progress).await;
    }
    if args.config.is_some() {
        return server(args.config.clone(), progress).await;
    }
    if args.context.is_some() {
        return client(args.context.clone(), progress).await;
    }
    let config = std::env::var_os("GUILDHALL_CONFIG").map(PathBuf::from);
    if Path::new(STATE).exists() {
        laptop(Some(STATE.into()), progress).await
    } else if config.is_some() || Path::new(CONFIG).exists() {
        server(config, progress).await
    } else if has_context() {
        client(None, progress).await
    } else {
        laptop(Some(STATE.into()), progress).await
    }
}

async fn laptop(state: Option<PathBuf>, progress: &mut dyn Progress) -> Result<Report> {
    progress.line("This machine, for `guildhall dev`:")?;
    let config = std::env::var_os("GUILDHALL_CONFIG").map(PathBuf::from);
    let mut patient = Laptop::new(state, None, Sources::from_process(config, Vec::new()));
    Ok(check::examine("laptop", &mut patient, laptop::CHECKS, progress).await?)
}

async fn server(config: Option<PathBuf>, progress: &mut dyn Progress) -> Result<Report> {
    progress.line("A server by its configuration, for `guildhall serve`:")?;
    Ok(check::examine("server", &mut Server::new(config), server::CHECKS, progress).await?)
}

async fn client(context: Option<String>, progress: &mut dyn Progress) -> Result<Report> {
    progress.line("The way to your server:")?;
    Ok(check::examine("client", &mut Client::new(context), client::CHECKS, progress).await?)
}

fn has_context() -> bool {
    let contexts = Folder::find().and_then(|folder| Contexts::read(&folder));
    contexts.is_ok_and(|contexts| !contexts.contexts.is_empty())
        || std::env::var_os("GUILDHALL_CONTEXT").is_some()
}

/// What a `guildhall dev` was asked for.
pub(crate) struct FailedDev {
    /// None: it kept nothing.
    pub(crate) state: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    pub(crate) sources: Sources,
}

/// Says below the error of a `guildhall dev` what is wrong with this machine. Whatever happens here, the error stays the
/// command's outcome.
pub(crate) fn after_failed_dev(failed: FailedDev) {
    let Ok(runtime) = runtime() else { return };
    let mut patient = Laptop::new(failed.state, failed.listen, failed.sources);
    eprintln!("\nguildhall doctor:");
    let _said = runtime.block_on(check::examine("laptop", &mut patient, laptop::CHECKS, &mut ToStderr));
    drop(patient);
    runtime.shutdown_background();
}

#[cfg(test)]
mod tests {
    use guildhall_domain::ops::checkup::{Step, is_ordered};

    use super::*;

    fn ids(steps: impl Iterator<Item = Step>) -> Vec<&'static str> {
        let steps: Vec<Step> = steps.collect();
        assert!(is_ordered(&steps), "{steps:?}");
        steps.iter().map(|step| step.id).collect()
    }

    #[test]
    fn every_check_needs_earlier_ones_alone_and_is_documented() {
        let all = [
            ids(laptop::CHECKS.iter().map(|check| check.step)),
            ids(server::CHECKS.iter().map(|check| check.step)),
            ids(client::CHECKS.iter().map(|check| check.step)),
        ];
        let page = include_str!("../../../../docs/doctor.md");
        for id in all.concat() {
            assert!(page.contains(&format!("| `{id}` |")), "docs/doctor.md does not explain {id}");
        }
    }
}
