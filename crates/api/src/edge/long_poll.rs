//! Requests that wait for something to happen.
//!
//! A waiting request costs a connection and little else. It has a limit of its own, and gives back its place among the
//! concurrent requests, so that many waiting runners do not keep others out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use guildhall_domain::FailureKind;
use metrics::gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::App;
use crate::edge::error::ApiError;

/// A long poll is answered this long before the request times out.
const RESPONSE_MARGIN: Duration = Duration::from_secs(1);

/// The place of a request among the concurrent ones, until it is given back.
#[derive(Debug, Clone)]
pub(super) struct RequestPlace(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl RequestPlace {
    pub(super) fn new(permit: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Mutex::new(Some(permit))))
    }

    pub(super) fn release(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// The waiting requests of this replica.
#[derive(Debug, Clone)]
pub struct WaitingRequests(Arc<Semaphore>);

impl WaitingRequests {
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max)))
    }
}

/// A request that may wait.
#[derive(Debug)]
pub(crate) struct LongPoll {
    place: Option<RequestPlace>,
}

/// The place of a request among the waiting ones, given back on drop.
#[derive(Debug)]
pub(crate) struct WaitPermit {
    /// How long the request waits.
    pub(crate) wait: Duration,
    permit: Option<OwnedSemaphorePermit>,
}

impl LongPoll {
    /// Begins to wait as long as the client asks for, and the time limit of requests allows.
    pub(crate) fn begin(&self, app: &App, wait_ms: u64) -> Result<WaitPermit, ApiError> {
        let longest = app.limits.request_timeout.saturating_sub(RESPONSE_MARGIN);
        self.wait(&app.waiting_requests, Duration::from_millis(wait_ms).min(longest))
    }

    fn wait(&self, waiting: &WaitingRequests, wait: Duration) -> Result<WaitPermit, ApiError> {
        if wait.is_zero() {
            return Ok(WaitPermit { wait, permit: None });
        }
        let Ok(permit) = Arc::clone(&waiting.0).try_acquire_owned() else {
            let message = "too many waiting requests on this replica; try again in a moment";
            return Err(ApiError::new(FailureKind::Overloaded, message));
        };
        if let Some(place) = &self.place {
            place.release();
        }
        gauge!("guildhall_http_waiting_requests").increment(1.0);
        Ok(WaitPermit { wait, permit: Some(permit) })
    }
}

impl Drop for WaitPermit {
    fn drop(&mut self) {
        if self.permit.is_some() {
            gauge!("guildhall_http_waiting_requests").decrement(1.0);
        }
    }
}

impl FromRequestParts<App> for LongPoll {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Self::Rejection> {
        Ok(Self { place: parts.extensions.get().cloned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_request_gives_its_place_to_another() {
        let (requests, waiting) = (Arc::new(Semaphore::new(1)), WaitingRequests::new(1));
        let place = RequestPlace::new(Arc::clone(&requests).try_acquire_owned().expect("free"));
        let long_poll = LongPoll { place: Some(place) };
        let now = long_poll.wait(&waiting, Duration::ZERO).expect("no limit");
        assert_eq!((now.wait, requests.available_permits()), (Duration::ZERO, 0), "it does not wait");
        let first = long_poll.wait(&waiting, Duration::from_secs(1)).expect("free");
        assert_eq!(requests.available_permits(), 1);
        let refused = LongPoll { place: None }.wait(&waiting, Duration::from_secs(1));
        assert_eq!(refused.err().map(|error| error.failure.kind), Some(FailureKind::Overloaded));
        drop(first);
        assert!(LongPoll { place: None }.wait(&waiting, Duration::from_secs(1)).is_ok(), "free again");
    }
}
