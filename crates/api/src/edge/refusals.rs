//! Refused requests in the audit log, and how many of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use guildhall_domain::ids::PrincipalId;
use guildhall_service::access::audit::{Event, Of};
use serde_json::json;
use tracing::warn;

use crate::App;

/// Written at most this many in a window.
const AT_MOST: u32 = 10;
const WINDOW: Duration = Duration::from_secs(10);

/// The longest text of a caller that is written down.
const TEXT_AT_MOST: usize = 200;

/// Counts refusals of one replica. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Refusals(Arc<Mutex<Option<(Instant, u32)>>>);

impl Refusals {
    /// Returns whether one more may be written now.
    fn may_write(&self) -> bool {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *window {
            Some((began, count)) if began.elapsed() < WINDOW => {
                *count += 1;
                *count <= AT_MOST
            }
            Some(_) | None => {
                *window = Some((Instant::now(), 1));
                true
            }
        }
    }
}

/// A request that was refused before anything was done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused<'a> {
    pub(crate) action: &'static str,
    pub(crate) actor: Option<PrincipalId>,
    /// Where it came from, or what was wrong with it. Never a secret.
    pub(crate) from: &'a str,
    pub(crate) path: &'a str,
}

/// Writes an attack down. A flood of them is counted, not written: the log must not become the target.
pub(crate) async fn note(app: &App, refused: Refused<'_>) {
    let Refused { action, actor, from, path } = refused;
    metrics::counter!("guildhall_http_refused_total", "action" => action).increment(1);
    if !app.refusals.may_write() {
        return;
    }
    let shorten = |text: &str| text.chars().take(TEXT_AT_MOST).collect::<String>();
    let detail = json!({ "from": shorten(from) });
    let event = Event { of: Of::Installation, action, actor, object: shorten(path), detail };
    if let Err(error) = app.audit.note(&event).await {
        warn!(error = &error as &dyn std::error::Error, "cannot write {action} into the audit log");
    }
}
