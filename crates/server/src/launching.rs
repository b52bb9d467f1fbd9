//! Puts the launcher together, where there is one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_launcher::local::{self, Lifetime, Limits, Local, Options, OutOfReach};
use guildhall_launcher::secrets::FileStore;
use guildhall_launcher::storage::{SessionStorage, StateFolder};
use guildhall_launcher::{LaunchError, Launcher};
use guildhall_runtime::Tasks;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_service::runners::jobs::Starting;
use guildhall_service::runners::jobs::reconcile::Pool;
use guildhall_service::runners::jobs::reconcile::TendRunnerJobs;
use guildhall_service::runs::Runs;
use guildhall_service::sessions::storage_reconcile::CollectSessionStorage;
use tracing::warn;

use crate::config::{self, LauncherKind};
use crate::{Config, engine_ports};

/// What of our own environment runners, and the agents below them, need to find programs and to read text.
const PASSED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The program, where it is not named.
const RUNNER: &str = "guildhall-runner";

/// Takes the place where runners are started; none where this server starts none.
pub(crate) fn open(
    config: &Config,
    address: SocketAddr,
    secrets: Option<FileStore>,
) -> Result<Option<Arc<dyn Launcher>>, LaunchError> {
    match config.launcher.kind {
        LauncherKind::None => Ok(None),
        LauncherKind::Local => {
            let options =
                Options { secrets, out_of_reach: out_of_reach(config), ..options(&config.launcher, address) };
            Ok(Some(Arc::new(Local::open(options)?)))
        }
    }
}

/// Returns what agents of runners here cannot reach; none where the kernel cannot keep them from it.
fn out_of_reach(config: &Config) -> Option<OutOfReach> {
    if !local::can_contain() {
        warn!(
            "runners of this server are not contained (Linux 6.7 can): their agents reach what its account reaches"
        );
        return None;
    }
    let named = config.launcher.out_of_reach.iter().chain([&config.secrets.folder]);
    let named = named.filter(|path| !path.is_empty()).map(|path| absolute(Path::new(path)));
    Some(OutOfReach { paths: named.collect(), ports: engine_ports::of(config) })
}

/// Starts looking after runners.
pub(crate) fn start(
    config: &config::Launcher,
    launcher: Option<Arc<dyn Launcher>>,
    runs: &Runs,
    reconcilers: &Reconcilers,
    tasks: &Tasks,
) -> Option<Starting> {
    let launcher = launcher?;
    let pool = Pool {
        warm: config.warm.clone(),
        cold_start: config.cold_start,
        at_most: config.max_processes.get(),
        warm_for: config.warm_for,
    };
    let tend = TendRunnerJobs { runs: runs.clone(), launcher: Arc::clone(&launcher), pool };
    Some(Starting { launcher, signal: reconcilers.start(tasks, config.tend_every, tend) })
}

/// Returns what gives up the storage of sessions, and removes it where this machine has it: where it was named, or where
/// the runners that are started here keep it.
pub(crate) fn collector(config: &Config, runs: &Runs) -> CollectSessionStorage {
    let named =
        Some(PathBuf::from(&config.sessions.runner_state)).filter(|state| !state.as_os_str().is_empty());
    let state = named.or_else(|| match config.launcher.kind {
        LauncherKind::None => None,
        LauncherKind::Local => Some(local::runner_state(&config.launcher.state)),
    });
    let storage = state.map(|state| Arc::new(StateFolder::new(&state)) as Arc<dyn SessionStorage>);
    CollectSessionStorage { runs: runs.clone(), expire_after: config.sessions.expire_after, storage }
}

/// Returns the runner's program that is used where none is named: the one beside this program.
#[must_use]
pub fn usual_runner() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().map(|folder| folder.join(RUNNER)).unwrap_or_else(|| PathBuf::from(RUNNER))
}

fn options(config: &config::Launcher, address: SocketAddr) -> Options {
    let set = |path: &PathBuf| Some(path.clone()).filter(|path| !path.as_os_str().is_empty());
    let bound = |number: u64| Some(number).filter(|number| *number > 0);
    let url = Some(config.url.clone()).filter(|url| !url.is_empty());
    Options {
        runner: set(&config.runner).unwrap_or_else(usual_runner),
        state: config.state.clone(),
        profiles: set(&config.profiles).map(|folder| absolute(&folder)),
        secrets: None,
        out_of_reach: None,
        url: url.unwrap_or_else(|| format!("http://{}", reachable(address))),
        idle: config.idle,
        claim_within: config.warm_for,
        limits: Limits {
            memory_bytes: bound(config.memory_mib).map(|mib| mib.saturating_mul(1024 * 1024)),
            open_files: bound(config.open_files),
            processes: bound(config.processes),
            nice: config.nice,
        },
        log_bytes: config.log_bytes,
        lifetime: if config.end_with_server { Lifetime::OfServer } else { Lifetime::Own },
        environment: PASSED_ON
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), std::env::var_os(name)?)))
            .collect(),
    }
}

/// Runners stand in another folder than the server.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// An address that stands for all of them is reached on this machine's own.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(_) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()),
    }
}
