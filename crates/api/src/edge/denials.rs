//! Records denied requests in the audit log, within a limit.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use guildhall_domain::ids::PrincipalId;
use guildhall_service::access::audit::{Audit, AuditEvent, AuditLog};
use serde_json::json;
use tracing::warn;

/// Audit entries per window.
const MAX_ENTRIES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// Text from a request is truncated to this length.
const MAX_TEXT_LENGTH: usize = 200;

/// Limits the audit entries of denied requests on one replica. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct DenialLog(Arc<Mutex<Option<(Instant, u32)>>>);

impl DenialLog {
    /// Returns whether one more entry may be written now.
    fn may_write(&self) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *window {
            Some((began, count)) if began.elapsed() < WINDOW => {
                *count += 1;
                *count <= MAX_ENTRIES
            }
            Some(_) | None => {
                *window = Some((Instant::now(), 1));
                true
            }
        }
    }
}

/// A request that was denied before anything was done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DeniedRequest<'a> {
    pub(crate) action: &'static str,
    pub(crate) actor: Option<PrincipalId>,
    /// Where it came from, or what was wrong with it. Never a secret.
    pub(crate) from: &'a str,
    pub(crate) path: &'a str,
}

impl DenialLog {
    /// Records a denied request. A flood of them is counted but not written, so that the log cannot be flooded.
    pub(crate) async fn record(&self, audit: &Audit, denied: DeniedRequest<'_>) {
        let DeniedRequest { action, actor, from, path } = denied;
        metrics::counter!("guildhall_http_refused_total", "action" => action).increment(1);
        if !self.may_write() {
            return;
        }
        let shorten = |text: &str| text.chars().take(MAX_TEXT_LENGTH).collect::<String>();
        let detail = json!({ "from": shorten(from) });
        let event = AuditEvent { log: AuditLog::Installation, action, actor, object: shorten(path), detail };
        if let Err(error) = audit.append(&event).await {
            warn!(error = &error as &dyn std::error::Error, "cannot write {action} to the audit log");
        }
    }
}
