//! The check of the sandbox in which agents run.

use std::time::Duration;

use guildhall_engines::Package;
use guildhall_server::Config;

use super::check::CheckResult;
use super::problem::Problem;

/// Longer than the probe itself takes to give up.
pub(super) const SANDBOX_TIMEOUT: Duration = Duration::from_secs(25);

/// Starts a sandbox once, where the server starts runners.
pub(super) async fn check_sandbox(config: &Config, starts_runners: bool) -> CheckResult {
    if !starts_runners {
        return Ok("not used: the server starts no runners".to_owned());
    }
    match guildhall_server::check_containment(config).await {
        Ok(()) => Ok("agents run in a sandbox".to_owned()),
        Err(detail) if config.launcher.uncontained => {
            Err(Problem::warning(detail, "unset GUILDHALL_LAUNCHER_UNCONTAINED   # or launcher.uncontained"))
        }
        Err(detail) => Err(Problem::new(detail, Package::Bubblewrap.install_command())),
    }
}
