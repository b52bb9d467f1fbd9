//! `guildhall-runner`: serves runs, one after another.

#![expect(clippy::print_stderr, reason = "a program talks to its user")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use guildhall_domain::ids::RunId;
use guildhall_runner::backend::choose::Backends;
use guildhall_runner::child::OutOfReach;
use guildhall_runner::guard::{self, Ended, Leash};
use guildhall_runner::serve::{Options, Served, serve};
use guildhall_sdk::Client;
use guildhall_sdk::runner::RunnerClient;
use secrecy::SecretString;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Claims runs and drives an agent in a workspace for each
#[derive(Parser)]
#[command(name = "guildhall-runner", version)]
struct Arguments {
    /// The server's address
    #[arg(long, env = "GUILDHALL_URL", default_value = "http://127.0.0.1:7117")]
    url: String,
    /// A file that holds the enrolment token; `guildhall enrolments create` makes one
    #[arg(long, env = "GUILDHALL_ENROLMENT_FILE", value_name = "FILE")]
    enrolment_file: PathBuf,
    /// What to call this runner
    #[arg(long, default_value = "runner")]
    name: String,
    /// A backend profile that it serves; may be given several times
    #[arg(long = "profile", value_name = "NAME", default_value = "demo")]
    profile: Vec<String>,
    /// Where the profiles lie: a folder each, with `profile.toml` and the provider's `credential`
    #[arg(long, env = "GUILDHALL_PROFILES", value_name = "FOLDER")]
    profiles: Option<PathBuf>,
    /// The program of Codex; without it the one on the search path
    #[arg(long, env = "GUILDHALL_CODEX", value_name = "PATH")]
    codex: Option<PathBuf>,
    /// Serves this run, then ends
    #[arg(long)]
    run: Option<RunId>,
    /// Where workspaces and sessions are kept
    #[arg(long, default_value = "./.guildhall-runner", value_name = "FOLDER")]
    state: PathBuf,
    /// A file or folder that agents cannot reach, beside the runner's own; may be given several times
    #[arg(long, value_name = "PATH")]
    out_of_reach: Vec<PathBuf>,
    /// A TCP port that agents cannot connect to; may be given several times
    #[arg(long, value_name = "PORT")]
    closed_port: Vec<u16>,
    /// Lets agents reach whatever this process can, credentials too: for a kernel that cannot contain them
    #[arg(long)]
    uncontained: bool,
    /// A folder below which runs may name directories and repositories; may be given several times
    #[arg(long = "workspace-root", value_name = "FOLDER")]
    workspace_roots: Vec<PathBuf>,
    /// Serves one run, then ends
    #[arg(long)]
    one_shot: bool,
    /// Seconds to wait for a run to claim
    #[arg(long, default_value_t = 60)]
    claim_seconds: u64,
    /// Seconds without a command after which a run is given back
    #[arg(long, default_value_t = 300)]
    idle_seconds: u64,
    /// Seconds that a turn may go on for when the runner is told to stop; then it is interrupted
    #[arg(long, default_value_t = 25)]
    drain_seconds: u64,
    /// Works without a guard: for a machine that ends everything together with this process
    #[arg(long)]
    no_guard: bool,
    /// Set by the guard for the process that works
    #[arg(long = "under-guard", hide = true)]
    under_guard: bool,
}

fn main() -> ExitCode {
    let args = Arguments::parse();
    let outcome = if args.no_guard || args.under_guard { work(args) } else { guard() };
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Guards a process that works, and does nothing else: so there is nothing to fail.
fn guard() -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(guard::guard(std::env::args_os().skip(1).collect()))?;
    if ended == Ended::Silent {
        eprintln!("error: the runner gave no sign of life before its lease ended, and was killed");
    }
    Ok(ended.code())
}

fn work(args: Arguments) -> Result<ExitCode> {
    let leash = if args.under_guard { Leash::taken()? } else { Leash::default() };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(run(args, leash));
    // What still runs then has nothing to say any more.
    runtime.shutdown_background();
    outcome.map(|()| ExitCode::SUCCESS)
}

async fn run(args: Arguments, leash: Leash) -> Result<()> {
    // Another part of the process may have been first.
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let token = tokio::fs::read_to_string(&args.enrolment_file)
        .await
        .with_context(|| format!("cannot read the enrolment token from {}", args.enrolment_file.display()))?;
    let client = RunnerClient::new(Client::new(&args.url)?, SecretString::from(token.trim()));
    let stop = stop_on_signals()?;
    let out_of_reach = out_of_reach(&args)?;
    let options = Options {
        name: args.name,
        profiles: args.profile,
        backends: Backends { profiles: args.profiles, codex: args.codex },
        run: args.run,
        state: args.state,
        out_of_reach,
        workspace_roots: args.workspace_roots,
        idle: Duration::from_secs(args.idle_seconds),
        drain_within: Duration::from_secs(args.drain_seconds),
        leash,
        claim_within: Duration::from_secs(args.claim_seconds),
    };
    eprintln!("guildhall-runner serves {} at {}", options.profiles.join(", "), args.url);
    loop {
        let served = serve(&client, &options, &stop).await?;
        eprintln!("{}", sentence(served));
        if stop.is_cancelled() || args.one_shot || options.run.is_some() {
            return Ok(());
        }
    }
}

/// Returns what agents cannot reach: our own state, the credentials, the token that runs are claimed with, and what the
/// arguments name.
fn out_of_reach(args: &Arguments) -> Result<OutOfReach> {
    if args.uncontained {
        return Ok(OutOfReach::default());
    }
    // Hidden by its path, so it has to be there.
    std::fs::create_dir_all(&args.state)
        .with_context(|| format!("cannot make the state folder {}", args.state.display()))?;
    let own = [args.state.clone(), args.enrolment_file.clone()];
    let paths = own.into_iter().chain(args.profiles.clone()).chain(args.out_of_reach.clone()).collect();
    Ok(OutOfReach { paths, ports: args.closed_port.clone() })
}

fn sentence(served: Served) -> &'static str {
    match served {
        Served::Ended => "the run has ended",
        Served::Released => "the run was given back",
        Served::Lost => "the run was lost to another runner, or has ended",
        Served::Nothing => "nothing to do yet",
    }
}

/// Stops in good order on the first signal; a second one ends the process at once.
fn stop_on_signals() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut signals = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?];
    let told = stop.clone();
    guildhall_runtime::Tasks::new().spawn("signals", async move {
        let [terminate, interrupt] = &mut signals;
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        told.cancel();
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        std::process::exit(130);
    });
    Ok(stop)
}
