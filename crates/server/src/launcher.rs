//! Creates the launcher, where one is configured.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_launcher::local::{
    self, Containment, GitOptions, Lifetime, Limits, LocalLauncher, LocalOptions, SandboxOptions,
};
use guildhall_launcher::secrets::{FileStore, GitCredentialStore};
use guildhall_launcher::storage::{LocalSessionStorage, SessionStorage};
use guildhall_launcher::{LaunchError, Launcher};
use guildhall_runtime::Tasks;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_service::Deps;
use guildhall_service::runners::jobs::JobStarter;
use guildhall_service::runners::jobs::reconcile::{ReconcileRunnerJobs, RunnerPoolConfig};
use guildhall_service::sessions::storage_collector::CollectSessionStorage;
use guildhall_store::Store;
use tracing::warn;

use crate::Config;
use crate::config::{self, LauncherKind};
use crate::start_error::StartError;

/// The environment variables of this process that runners and their agents inherit: program lookup, locale,
/// certificates.
const PASSED_ENVIRONMENT: [&str; 6] = ["PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The default name of the runner program.
const RUNNER: &str = "guildhall-runner";

/// Opens the configured launcher. Returns none where this server starts no runners.
pub(crate) fn open(
    config: &Config,
    address: SocketAddr,
    secrets: Option<FileStore>,
) -> Result<Option<Arc<dyn Launcher>>, LaunchError> {
    match config.launcher.kind {
        LauncherKind::None => Ok(None),
        LauncherKind::Local => {
            let launcher = LocalLauncher::open(options(config, address, secrets))?;
            Ok(Some(Arc::new(launcher)))
        }
    }
}

/// Checks the folder for credentials and the launcher. Creates nothing.
pub(crate) fn check(config: &Config, address: SocketAddr) -> Result<(), StartError> {
    if !config.secrets.folder.is_empty() {
        FileStore::check(Path::new(&config.secrets.folder))?;
    }
    match config.launcher.kind {
        LauncherKind::None => Ok(()),
        LauncherKind::Local => Ok(LocalLauncher::check(&options(config, address, None))?),
    }
}

/// Returns the sandbox of the agents that local runners start.
fn containment(config: &Config) -> Containment {
    if config.launcher.uncontained {
        return Containment::Uncontained;
    }
    let paths =
        config.launcher.protected_paths.iter().chain([&config.secrets.folder, &config.attachments.folder]);
    let paths = paths.filter(|path| !path.is_empty()).map(|path| absolute(Path::new(path)));
    let sandbox = &config.sandbox;
    let caps = [
        ("--model-tokens", sandbox.model_tokens),
        ("--model-requests", sandbox.model_requests),
        ("--model-bytes", sandbox.model_bytes),
    ];
    let limits = [
        ("--agent-processes", sandbox.processes.get()),
        ("--agent-memory-mib", sandbox.memory_mib.get()),
        ("--agent-disk-mib", sandbox.disk_mib.get()),
        ("--agent-files", sandbox.files.get()),
        ("--agent-cpu-seconds", sandbox.cpu_time.as_secs()),
    ];
    Containment::Sandboxed(SandboxOptions {
        protected_paths: paths.collect(),
        tools: sandbox.tools.iter().map(|path| absolute(Path::new(path))).collect(),
        allowed_hosts: sandbox.allowed_hosts.clone(),
        numbers: limits.into_iter().chain(caps.into_iter().filter(|(_, cap)| *cap > 0)).collect(),
    })
}

/// Checks that agents of local runners are contained. Starts a sandbox once. The error says what users must know.
pub async fn check_containment(config: &Config) -> Result<(), String> {
    if config.launcher.uncontained {
        return Err(
            "agents are not contained (launcher.uncontained): they can access everything that this server's \
                    account can access"
                .to_owned(),
        );
    }
    let runner = runner_path(&config.launcher);
    local::probe_sandbox(&runner).await.map_err(|reason| format!("runs of local runners will fail: {reason}"))
}

/// Checks in the background that agents are contained, and logs a warning where they are not.
fn start_containment_check(config: &Config, tasks: &Tasks) {
    let (config, stop) = (config.clone(), tasks.stop());
    tasks.spawn("containment-check", async move {
        tokio::select! {
            result = check_containment(&config) => if let Err(reason) = result {
                warn!("{reason}");
            },
            () = stop.cancelled() => {}
        }
    });
}

/// Starts the reconciler of runner jobs, and the check of their sandbox.
pub(crate) fn start(
    config: &Config,
    launcher: Option<Arc<dyn Launcher>>,
    deps: &Deps,
    reconcilers: &Reconcilers,
    tasks: &Tasks,
) -> Option<JobStarter> {
    let launcher = launcher?;
    start_containment_check(config, tasks);
    let config = &config.launcher;
    let pool = RunnerPoolConfig {
        warm: config.warm.clone(),
        cold_start: config.cold_start,
        max_processes: config.max_processes.get(),
        warm_for: config.warm_for,
    };
    let reconciler = ReconcileRunnerJobs { deps: deps.clone(), launcher: Arc::clone(&launcher), pool };
    Some(JobStarter { launcher, signal: reconcilers.start(tasks, config.tend_every, reconciler) })
}

/// Returns the reconciler that evicts expired session storage. It also deletes the files, where their folder is known:
/// `sessions.runner_state`, or the folder of the runners that this server starts.
pub(crate) fn session_storage_collector(config: &Config, store: &Store) -> CollectSessionStorage {
    let configured =
        Some(PathBuf::from(&config.sessions.runner_state)).filter(|state| !state.as_os_str().is_empty());
    let state = configured.or_else(|| match config.launcher.kind {
        LauncherKind::None => None,
        LauncherKind::Local => Some(local::runner_state(&config.launcher.state)),
    });
    let storage = state.map(|state| Arc::new(LocalSessionStorage::new(&state)) as Arc<dyn SessionStorage>);
    CollectSessionStorage { store: store.clone(), expire_after: config.sessions.expire_after, storage }
}

/// Returns the default path of the runner program: beside this program.
#[must_use]
pub fn default_runner_path() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(|folder| folder.join(RUNNER)).unwrap_or_else(|| PathBuf::from(RUNNER))
}

fn runner_path(config: &config::Launcher) -> PathBuf {
    let configured = Some(config.runner.clone()).filter(|path| !path.as_os_str().is_empty());
    configured.unwrap_or_else(default_runner_path)
}

fn options(config: &Config, address: SocketAddr, secrets: Option<FileStore>) -> LocalOptions {
    let containment = containment(config);
    let non_empty = |path: &PathBuf| Some(path.clone()).filter(|path| !path.as_os_str().is_empty());
    let secrets_folder = non_empty(&PathBuf::from(&config.secrets.folder));
    let own_credentials = secrets_folder.map(|folder| GitCredentialStore::folder_in(&folder));
    let git = GitOptions {
        hosts: config.git.hosts.clone(),
        // What tenants set themselves comes first.
        credentials: own_credentials
            .into_iter()
            .chain(non_empty(&config.git.credentials))
            .map(|path| absolute(&path))
            .collect(),
        known_hosts: non_empty(&config.git.known_hosts).map(|file| absolute(&file)),
        networks: config.egress.allow.iter().map(ToString::to_string).collect(),
    };
    let config = &config.launcher;
    let non_zero = |number: u64| Some(number).filter(|number| *number > 0);
    let url = Some(config.url.clone()).filter(|url| !url.is_empty());
    LocalOptions {
        runner: runner_path(config),
        state: config.state.clone(),
        profiles: non_empty(&config.profiles).map(|folder| absolute(&folder)),
        secrets,
        containment,
        workspace_roots: config.workspace_roots.iter().map(|path| absolute(Path::new(path))).collect(),
        git,
        url: url.unwrap_or_else(|| format!("http://{}", connectable(address))),
        idle_timeout: config.idle,
        claim_timeout: config.warm_for,
        limits: Limits {
            memory_bytes: non_zero(config.memory_mib).map(|mib| mib.saturating_mul(1024 * 1024)),
            open_files: non_zero(config.open_files),
            processes: non_zero(config.processes),
            nice: config.nice,
        },
        log_bytes: config.log_bytes,
        lifetime: if config.end_with_server { Lifetime::WithServer } else { Lifetime::Independent },
        environment: PASSED_ENVIRONMENT
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)))
            .collect(),
    }
}

/// Runners have another working directory than the server, so relative paths do not work for them.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Replaces an unspecified address such as `0.0.0.0` by loopback, so that clients can connect to it.
fn connectable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(_) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()),
    }
}
