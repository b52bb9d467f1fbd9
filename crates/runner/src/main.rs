//! `guildhall-runner`: serves runs, one after another.

#![expect(clippy::print_stderr, reason = "a command-line program reports to stderr")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use guildhall_domain::ids::RunId;
use guildhall_runner::backend::select::BackendCatalog;
use guildhall_runner::child::DenyList;
use guildhall_runner::guard::{self, GuardLink, WorkerExit};
use guildhall_runner::serve::{ServeOptions, ServeOutcome, serve};
use guildhall_sdk::Client;
use guildhall_sdk::runner::RunnerClient;
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Claim runs and drive an agent in a workspace for each
#[derive(Parser)]
#[command(name = "guildhall-runner", version)]
struct Arguments {
    /// Server URL
    #[arg(long, env = "GUILDHALL_URL", default_value = "http://127.0.0.1:7117")]
    url: String,
    /// File with the enrolment token; create one with `guildhall enrolments create`
    #[arg(long, env = "GUILDHALL_ENROLMENT_FILE", value_name = "FILE")]
    enrolment_file: PathBuf,
    /// Name of this runner
    #[arg(long, default_value = "runner")]
    name: String,
    /// Backend profile to serve; can be repeated
    #[arg(long = "profile", value_name = "NAME", default_value = "demo")]
    profile: Vec<String>,
    /// Directory of the profiles: one subdirectory each, with `profile.toml` and the provider's `credential`
    #[arg(long, env = "GUILDHALL_PROFILES", value_name = "FOLDER")]
    profiles: Option<PathBuf>,
    /// Path of the Codex program; default: `codex` on the search path
    #[arg(long, env = "GUILDHALL_CODEX", value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Serve this run, then exit
    #[arg(long)]
    run: Option<RunId>,
    /// Directory for workspaces and session storage
    #[arg(long, default_value = "./.guildhall-runner", value_name = "FOLDER")]
    state: PathBuf,
    /// File or directory that agents cannot access, besides the runner's own; can be repeated
    #[arg(long = "out-of-reach", value_name = "PATH")]
    denied_paths: Vec<PathBuf>,
    /// TCP port that agents cannot connect to; can be repeated
    #[arg(long = "closed-port", value_name = "PORT")]
    denied_ports: Vec<u16>,
    /// Do not confine agents: they can access everything this process can, including credentials. For kernels
    /// without Landlock
    #[arg(long)]
    uncontained: bool,
    /// Directory below which runs may name directories and repositories; can be repeated
    #[arg(long = "workspace-root", value_name = "FOLDER")]
    workspace_roots: Vec<PathBuf>,
    /// Serve one run, then exit
    #[arg(long)]
    one_shot: bool,
    /// Seconds to wait for a run to claim
    #[arg(long, default_value_t = 60)]
    claim_seconds: u64,
    /// Seconds without a command after which a run is released
    #[arg(long, default_value_t = 300)]
    idle_seconds: u64,
    /// Seconds a turn may continue after the runner receives a stop signal; then it is interrupted
    #[arg(long, default_value_t = 25)]
    drain_seconds: u64,
    /// Run without a guard process: for environments that kill all processes together with this one
    #[arg(long)]
    no_guard: bool,
    /// Set by the guard on the worker process
    #[arg(long = "under-guard", hide = true)]
    under_guard: bool,
}

fn main() -> ExitCode {
    let args = Arguments::parse();
    let outcome = if args.no_guard || args.under_guard { run_worker(args) } else { run_guard() };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Supervises a worker process. It does nothing else, so that little can fail here.
fn run_guard() -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(guard::guard(std::env::args_os().skip(1).collect()))?;
    if exit == WorkerExit::TimedOut {
        eprintln!("error: the worker did not report before its lease expired, and was killed");
    }
    Ok(exit.code())
}

fn run_worker(args: Arguments) -> Result<ExitCode> {
    let guard = if args.under_guard { GuardLink::connect()? } else { GuardLink::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(serve_runs(args, guard));
    // Do not wait for blocking tasks that still run.
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn serve_runs(args: Arguments, guard: GuardLink) -> Result<()> {
    // Fails only when a provider is already installed.
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let token = tokio::fs::read_to_string(&args.enrolment_file)
        .await
        .with_context(|| format!("cannot read the enrolment token from {}", args.enrolment_file.display()))?;
    let client = RunnerClient::new(Client::new(&args.url)?, SecretString::from(token.trim()));
    let stop = stop_on_signals()?;
    let deny = deny_list(&args)?;
    let options = ServeOptions {
        name: args.name,
        profiles: args.profile,
        backends: BackendCatalog { profiles: args.profiles, codex: args.codex },
        run: args.run,
        state: args.state,
        deny,
        workspace_roots: args.workspace_roots,
        idle_timeout: Duration::from_secs(args.idle_seconds),
        claim_timeout: Duration::from_secs(args.claim_seconds),
        drain_timeout: Duration::from_secs(args.drain_seconds),
        guard,
    };
    eprintln!("guildhall-runner serves {} at {}", options.profiles.join(", "), args.url);
    loop {
        let outcome = serve(&client, &options, &stop).await?;
        eprintln!("{}", outcome_message(outcome));
        if stop.is_cancelled() || args.one_shot || options.run.is_some() {
            return Ok(());
        }
    }
}

/// Returns what agents cannot access: the runner's state, the credentials, the enrolment token, and what the arguments
/// name.
fn deny_list(args: &Arguments) -> Result<DenyList> {
    if args.uncontained {
        return Ok(DenyList::default());
    }
    // A path must exist to be denied.
    std::fs::create_dir_all(&args.state)
        .with_context(|| format!("cannot create the state directory {}", args.state.display()))?;
    let own = [args.state.clone(), args.enrolment_file.clone()];
    let paths = own.into_iter().chain(args.profiles.clone()).chain(args.denied_paths.clone()).collect();
    Ok(DenyList { paths, ports: args.denied_ports.clone() })
}

fn outcome_message(outcome: ServeOutcome) -> &'static str {
    match outcome {
        ServeOutcome::RunEnded => "the run has ended",
        ServeOutcome::Released => "the run was given back",
        ServeOutcome::LeaseLost => "the run was lost to another runner, or has ended",
        ServeOutcome::NoRun => "no run to claim yet",
    }
}

/// Stops gracefully on the first signal; the second one exits the process at once.
fn stop_on_signals() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut signals = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let stop_on_signal = stop.clone();
    guildhall_runtime::Tasks::new().spawn("signals", async move {
        let [terminate, interrupt] = &mut signals;
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        stop_on_signal.cancel();
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        std::process::exit(130);
    });
    Ok(stop)
}
