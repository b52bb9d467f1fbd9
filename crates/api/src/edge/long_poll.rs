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
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::waiting_requests::WaitingRequests;
use crate::App;
use crate::edge::error::ApiError;

/// Proxies commonly cut a connection that is silent for a minute.
const MAX_WAIT: Duration = Duration::from_secs(30);

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

/// When a request times out. The time that it waits does not count.
#[derive(Debug, Clone)]
pub(super) struct RequestDeadline(Arc<Mutex<Instant>>);

impl RequestDeadline {
    pub(super) fn new(limit: Duration) -> Self {
        Self(Arc::new(Mutex::new(Instant::now() + limit)))
    }

    fn extend(&self, wait: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += wait;
    }

    /// Returns when the time is over.
    pub(super) async fn passed(&self) {
        loop {
            let deadline = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if deadline <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(deadline).await;
        }
    }
}

/// A request that may wait.
#[derive(Debug, Default)]
pub(crate) struct LongPoll {
    place: Option<RequestPlace>,
    deadline: Option<RequestDeadline>,
}

/// The place of a request among the waiting ones, given back on drop.
#[derive(Debug)]
pub(crate) struct WaitPermit {
    /// How long the request waits.
    pub(crate) wait: Duration,
    permit: Option<OwnedSemaphorePermit>,
}

impl LongPoll {
    /// Begins to wait as long as the client asks for, at most [`MAX_WAIT`].
    pub(crate) fn begin(&self, app: &App, wait_ms: u64) -> Result<WaitPermit, ApiError> {
        self.wait(&app.waiting_requests, Duration::from_millis(wait_ms).min(MAX_WAIT))
    }

    fn wait(&self, waiting: &WaitingRequests, wait: Duration) -> Result<WaitPermit, ApiError> {
        if wait.is_zero() {
            return Ok(WaitPermit { wait, permit: None });
        }
        let Some(permit) = waiting.try_acquire() else {
            let message = "too many waiting requests on this replica; try again in a moment";
            return Err(ApiError::new(FailureKind::Overloaded, message));
        };
        if let Some(place) = &self.place {
            place.release();
        }
        if let Some(deadline) = &self.deadline {
            deadline.extend(wait);
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
        Ok(Self { place: parts.extensions.get().cloned(), deadline: parts.extensions.get().cloned() })
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn waiting_request_gives_its_place_to_another() {
        let (requests, waiting) = (Arc::new(Semaphore::new(1)), WaitingRequests::new(1));
        let place = RequestPlace::new(Arc::clone(&requests).try_acquire_owned().expect("free"));
        let long_poll = LongPoll { place: Some(place), deadline: None };
        let now = long_poll.wait(&waiting, Duration::ZERO).expect("no limit");
        assert_eq!((now.wait, requests.available_permits()), (Duration::ZERO, 0), "it does not wait");
        let first = long_poll.wait(&waiting, Duration::from_secs(1)).expect("free");
        assert_eq!(requests.available_permits(), 1);
        let refused = LongPoll::default().wait(&waiting, Duration::from_secs(1));
        assert_eq!(refused.err().map(|error| error.failure.kind), Some(FailureKind::Overloaded));
        drop(first);
        assert!(LongPoll::default().wait(&waiting, Duration::from_secs(1)).is_ok(), "free again");
    }

    #[tokio::test]
    async fn time_that_a_request_waits_does_not_count_against_its_limit() {
        let (began, limit, wait) = (Instant::now(), Duration::from_millis(10), Duration::from_millis(100));
        let deadline = RequestDeadline::new(limit);
        let long_poll = LongPoll { place: None, deadline: Some(deadline.clone()) };
        let _waiting = long_poll.wait(&WaitingRequests::new(1), wait).expect("free");
        deadline.passed().await;
        assert!(began.elapsed() >= wait + limit, "{:?}", began.elapsed());
    }
}
