//! `guildhall-runner`: serves runs, one after another.

#![expect(clippy::print_stderr, reason = "a command-line program reports to stderr")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use guildhall_domain::ids::RunId;
use guildhall_egress::IpNet;
use guildhall_runner::backend::select::BackendCatalog;
use guildhall_runner::guard::{self, GuardLink, WorkerExit};
use guildhall_runner::model_proxy::{HostPattern, ModelCaps};
use guildhall_runner::parallel;
use guildhall_runner::run_log;
use guildhall_runner::sandbox::{
    Containment, PROBE_STAGE, Sandbox, SandboxLimits, ToolMounts, ToolVariables, enter, find_bwrap,
    find_tools, init, probe,
};
use guildhall_runner::serve::{GitOptions, ServeOptions, ServeOutcome, register, serve};
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
    /// Do not run agents in a sandbox: they can access everything this process can, including credentials
    #[arg(long)]
    uncontained: bool,
    #[command(flatten)]
    sandbox: SandboxArguments,
    /// Directory below which runs may name directories and repositories; can be repeated
    #[arg(long = "workspace-root", value_name = "FOLDER")]
    workspace_roots: Vec<PathBuf>,
    #[command(flatten)]
    git: GitArguments,
    /// Number of runs to serve at the same time
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=64), conflicts_with_all = ["run", "no_guard"])]
    parallel: Option<u8>,
    /// Set by `--parallel` on each of its processes
    #[arg(long = "worker-number", hide = true)]
    worker_number: Option<u8>,
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

/// Options of repositories on other machines
#[derive(clap::Args)]
struct GitArguments {
    /// Host that repositories are fetched from by HTTPS or SSH: `example.com`, `*.example.com` or `example.com:8443`; can be repeated
    #[arg(long = "git-host", value_name = "HOST")]
    hosts: Vec<HostPattern>,
    /// Folder with credentials of these hosts: `TENANT/HOST` with a token, `TENANT/ssh/HOST` with a private key, or `shared` instead of the tenant; can be repeated
    #[arg(long = "git-credentials", env = "GUILDHALL_GIT_CREDENTIALS", value_name = "FOLDER")]
    credentials: Vec<PathBuf>,
    /// File with the SSH keys of these hosts, in the format of `known_hosts`; other hosts are refused
    #[arg(long = "git-known-hosts", value_name = "FILE")]
    known_hosts: Option<PathBuf>,
    /// Private network, such as 10.0.0.0/8, that these hosts may be in; can be repeated
    #[arg(long = "git-network", value_name = "NETWORK")]
    networks: Vec<IpNet>,
}

/// Options of the sandbox
#[derive(clap::Args)]
struct SandboxArguments {
    /// File or directory that no workspace may contain, besides the runner's own; can be repeated
    #[arg(long = "protected-path", value_name = "PATH")]
    protected: Vec<PathBuf>,
    /// Directory of tools that agents may read and execute, besides those on the search path; can be repeated
    #[arg(long = "tool", value_name = "FOLDER")]
    tools: Vec<PathBuf>,
    /// Host that runs with network `allow-list` reach: `example.com` or `*.example.com`; can be repeated
    #[arg(long = "allowed-host", value_name = "HOST")]
    allowed_hosts: Vec<HostPattern>,
    /// Processes and threads of an agent
    #[arg(long = "agent-processes", default_value_t = SandboxLimits::default().processes)]
    processes: u64,
    /// Memory of an agent with all of its processes, in MiB
    #[arg(long = "agent-memory-mib", default_value_t = SandboxLimits::default().memory_bytes / MIB)]
    memory_mib: u64,
    /// Disk space of a workspace and the agent's home, in MiB
    #[arg(long = "agent-disk-mib", default_value_t = SandboxLimits::default().disk_bytes / MIB)]
    disk_mib: u64,
    /// Files in a workspace and the agent's home
    #[arg(long = "agent-files", default_value_t = SandboxLimits::default().files)]
    files: u64,
    /// CPU time of one process of an agent, in seconds
    #[arg(long = "agent-cpu-seconds", default_value_t = SandboxLimits::default().cpu_seconds)]
    cpu_seconds: u64,
    /// Model tokens of one run; default: no limit
    #[arg(long)]
    model_tokens: Option<u64>,
    /// Model requests of one run; default: no limit
    #[arg(long)]
    model_requests: Option<u64>,
    /// Bytes of model traffic of one run; default: no limit
    #[arg(long)]
    model_bytes: Option<u64>,
}

const MIB: u64 = 1024 * 1024;

impl Arguments {
    /// Agents have other working directories, and mounts need absolute paths.
    fn with_absolute_paths(mut self) -> Result<Self> {
        let paths = [&mut self.state, &mut self.enrolment_file].into_iter();
        let paths = paths.chain(&mut self.profiles);
        let paths = paths.chain(&mut self.git.credentials).chain(&mut self.git.known_hosts);
        for path in paths.chain(&mut self.workspace_roots) {
            *path = std::path::absolute(&*path)
                .with_context(|| format!("cannot make {} absolute", path.display()))?;
        }
        Ok(self)
    }
}

fn main() -> ExitCode {
    let outcome = run_stage().unwrap_or_else(|| {
        let args = Arguments::parse().with_absolute_paths()?;
        match args.parallel {
            Some(count) if args.worker_number.is_none() => run_parallel(count),
            _ if args.no_guard || args.under_guard => run_worker(args),
            _ => run_guard(&args),
        }
    });
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

/// Runs a stage of the sandbox, if the first argument names one.
fn run_stage() -> Option<Result<ExitCode>> {
    let mut arguments = std::env::args_os().skip(1);
    let stage = arguments.next()?;
    if stage == enter::STAGE {
        Some(enter::run(arguments.collect()).map(|never| match never {}))
    } else if stage == init::STAGE {
        Some(init::run(arguments.collect()))
    } else if stage == PROBE_STAGE {
        Some(probe_sandbox())
    } else {
        None
    }
}

/// Starts a sandbox once, and reports why that fails.
fn probe_sandbox() -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let sandbox = Sandbox {
        bwrap: find_bwrap()?,
        helper: std::env::current_exe()?,
        tools: ToolMounts::default(),
        limits: SandboxLimits::default(),
        protected: Vec::new(),
    };
    runtime.block_on(probe(&sandbox))?;
    Ok(ExitCode::SUCCESS)
}

/// Starts several runners that share the state directory.
fn run_parallel(count: u8) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(parallel::run(std::env::args_os().skip(1).collect(), count))?)
}

/// Supervises a worker process. It does nothing else, so that little can fail here.
fn run_guard(args: &Arguments) -> Result<ExitCode> {
    if args.worker_number.is_some() {
        parallel::end_with_parent()?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(guard::guard(std::env::args_os().skip(1).collect()))?;
    if exit == WorkerExit::TimedOut {
        eprintln!("error: the worker did not report before its lease expired, and was killed");
    }
    Ok(exit.code())
}

fn run_worker(args: Arguments) -> Result<ExitCode> {
    run_log::start();
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
    let containment = containment(&args)?;
    let SandboxArguments { allowed_hosts, model_tokens, model_requests, model_bytes, .. } = args.sandbox;
    let options = ServeOptions {
        name: match args.worker_number {
            Some(number) => format!("{}-{number}", args.name),
            None => args.name,
        },
        profiles: args.profile,
        backends: BackendCatalog { profiles: args.profiles, codex: args.codex },
        run: args.run,
        state: args.state,
        containment,
        allowed_hosts,
        git: GitOptions {
            hosts: args.git.hosts,
            credentials: args.git.credentials,
            known_hosts: args.git.known_hosts,
            networks: args.git.networks,
        },
        model_caps: ModelCaps { tokens: model_tokens, requests: model_requests, bytes: model_bytes },
        workspace_roots: args.workspace_roots,
        idle_timeout: Duration::from_secs(args.idle_seconds),
        claim_timeout: Duration::from_secs(args.claim_seconds),
        drain_timeout: Duration::from_secs(args.drain_seconds),
        guard,
    };
    eprintln!("guildhall-runner serves {} at {}", options.profiles.join(", "), args.url);
    let Some(runner) = register(&client, &options, &stop).await? else { return Ok(()) };
    loop {
        let outcome = serve(&client, runner, &options, &stop).await?;
        eprintln!("{}", outcome_message(outcome));
        let is_last = args.one_shot || options.run.is_some() || outcome == ServeOutcome::Draining;
        if is_last || stop.is_cancelled() {
            return Ok(());
        }
    }
}

/// Returns the sandbox of agents, or why there is none.
fn containment(args: &Arguments) -> Result<Result<Containment, String>> {
    if args.uncontained {
        return Ok(Ok(Containment::Uncontained));
    }
    // A path must exist to be protected.
    std::fs::create_dir_all(&args.state)
        .with_context(|| format!("cannot create the state directory {}", args.state.display()))?;
    let SandboxArguments { protected, tools, processes, memory_mib, disk_mib, files, cpu_seconds, .. } =
        &args.sandbox;
    let own = [args.state.clone(), args.enrolment_file.clone()];
    let limits = SandboxLimits {
        processes: *processes,
        memory_bytes: memory_mib.saturating_mul(MIB),
        disk_bytes: disk_mib.saturating_mul(MIB),
        files: *files,
        cpu_seconds: *cpu_seconds,
        ..SandboxLimits::default()
    };
    let bwrap = match find_bwrap() {
        Ok(bwrap) => bwrap,
        Err(error) => return Ok(Err(error.to_string())),
    };
    Ok(Ok(Containment::Sandboxed(Arc::new(Sandbox {
        bwrap,
        helper: std::env::current_exe().context("cannot find the path of this program")?,
        tools: find_tools(&ToolVariables::of_this_process(), tools),
        limits,
        protected: own
            .into_iter()
            .chain(args.profiles.clone())
            .chain(args.git.credentials.clone())
            .chain(protected.clone())
            .collect(),
    }))))
}

fn outcome_message(outcome: ServeOutcome) -> &'static str {
    match outcome {
        ServeOutcome::RunEnded => "the run has ended",
        ServeOutcome::Released => "the run was given back",
        ServeOutcome::LeaseLost => "the run was lost to another runner, or has ended",
        ServeOutcome::NoRun => "no run to claim yet",
        ServeOutcome::Draining => "this runner is draining, and exits",
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
