//! Puts the launcher together, where there is one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use guildhall_launcher::local::{Lifetime, Limits, Local, Options};
use guildhall_launcher::{LaunchError, Launcher};
use guildhall_runtime::Tasks;
use guildhall_runtime::reconcile::Reconcilers;
use guildhall_service::reconcile::{Pool, TendRunnerJobs};
use guildhall_service::runner_jobs::Starting;
use guildhall_service::runs::Runs;
use tracing::info;

use crate::config::{self, LauncherKind};

/// What of our own environment runners, and the agents below them, need to find programs and to read text.
const PASSED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The program, where it is not named.
const RUNNER: &str = "guildhall-runner";

/// Takes the place where runners are started, and starts looking after them; none where this server starts none.
pub(crate) fn start(
    config: &config::Launcher,
    address: SocketAddr,
    runs: &Runs,
    reconcilers: &Reconcilers,
    tasks: &Tasks,
) -> Result<Option<Starting>, LaunchError> {
    let launcher: Arc<dyn Launcher> = match config.kind {
        LauncherKind::None => return Ok(None),
        LauncherKind::Local => {
            info!("runners of this server are not contained: their agents reach what its account reaches");
            Arc::new(Local::open(options(config, address))?)
        }
    };
    let pool = Pool {
        warm: config.warm.clone(),
        cold_start: config.cold_start,
        at_most: config.max_processes.get(),
        warm_for: config.warm_for,
    };
    let tend = TendRunnerJobs { runs: runs.clone(), launcher: Arc::clone(&launcher), pool };
    Ok(Some(Starting { launcher, signal: reconcilers.start(tasks, config.tend_every, tend) }))
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
        profiles: set(&config.profiles),
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

/// An address that stands for all of them is reached on this machine's own.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if !ip.is_unspecified() => address,
        IpAddr::V4(_) => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(_) => SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port()),
    }
}
