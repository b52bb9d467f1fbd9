//! The check of the TLS certificate that `guildhall dev --tls` made.

use std::path::Path;

use guildhall_identity::pki::verify_server;
use guildhall_runtime::Clock;
use guildhall_sdk::Client;
use jiff::SignedDuration;

use super::Laptop;
use crate::dev_state::{TLS_CERTIFICATE_FILE, TLS_DIR, TLS_URL_FILE, tls_root_file};
use crate::doctor::check::CheckResult;
use crate::doctor::problem::Problem;

/// The next `guildhall dev --tls` replaces a certificate that is valid for less time.
const MIN_VALIDITY: SignedDuration = SignedDuration::from_hours(30 * 24);

const RENEW: &str = "guildhall dev --tls   # makes a new root and a certificate; then trust the new root";

impl Laptop {
    pub(super) async fn tls(&mut self) -> CheckResult {
        let Some(state) = &self.state else { return Ok("not used: the state is temporary".to_owned()) };
        let (folder, root_file) = (state.join(TLS_DIR), tls_root_file(state));
        let Ok(root) = std::fs::read_to_string(&root_file) else {
            return Ok("not used; `guildhall dev --tls` makes a certificate".to_owned());
        };
        let now = Clock::system().now();
        let certificate = std::fs::read_to_string(folder.join(TLS_CERTIFICATE_FILE)).unwrap_or_default();
        let not_after = verify_server(&root, &certificate, "localhost", now)
            .map_err(|error| Problem::new(format!("{} cannot be used: {error}", folder.display()), RENEW))?;
        if let Some(url) = std::fs::read_to_string(folder.join(TLS_URL_FILE)).ok().filter(|_| self.is_running)
        {
            check_server(&url, &root).await?;
        }
        let date = not_after.strftime("%Y-%m-%d");
        if not_after < now + MIN_VALIDITY {
            return Err(Problem::warning(format!("the certificate expires on {date}"), RENEW));
        }
        Ok(format!("valid until {date}; {}", trust(&root_file)))
    }
}

/// Checks that the running server shows a certificate of this root.
async fn check_server(url: &str, root: &str) -> Result<(), Problem> {
    let problem = |error: &dyn std::error::Error| {
        Problem::with_cause(error, "guildhall dev --tls   # after stopping the one that runs")
    };
    let client = Client::with_root_certificates(url, root.as_bytes()).map_err(|error| problem(&error))?;
    client.live().await.map_err(|error| problem(&error))?;
    Ok(())
}

/// Returns how clients trust a root.
fn trust(root: &Path) -> String {
    format!("to trust it: export SSL_CERT_FILE={0}, or curl --cacert {0}", root.display())
}
