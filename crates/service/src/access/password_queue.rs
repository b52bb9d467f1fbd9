//! The queue of password checks. A check takes a core for tens of milliseconds and 19 MiB, so few run at once and few
//! wait; one client cannot take all places.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use guildhall_domain::ops::rate::RateKey;
use guildhall_identity::password;
use metrics::counter;
use secrecy::SecretString;
use tokio::sync::Semaphore;

use crate::ServiceError;
use crate::access::error::AccessError;

/// Checks that run or wait. With one core for them, the last one waits less than two seconds.
const MAX_PLACES: usize = 64;

/// Checks of one client that run or wait.
const MAX_PLACES_PER_CLIENT: usize = 8;

/// Checks of one client that run or are next. Others wait for at most this many checks of a client that floods the
/// server.
const MAX_NEXT_PER_CLIENT: usize = 2;

/// Checks that run at once: at most half of the cores, so that other requests go on, and at most 76 MiB.
const MAX_RUNNING: usize = 4;

/// Limits password checks on one replica. Cheap to clone; clones share the places.
#[derive(Debug, Clone)]
pub(crate) struct PasswordQueue {
    running: Arc<Semaphore>,
    places: Arc<Mutex<HashMap<RateKey, ClientPlaces>>>,
}

/// The places of one client.
#[derive(Debug)]
struct ClientPlaces {
    taken: usize,
    next: Arc<Semaphore>,
}

/// A place in the queue. Dropping it leaves the queue.
#[derive(Debug)]
pub(crate) struct QueuePlace {
    queue: PasswordQueue,
    client: RateKey,
    next: Arc<Semaphore>,
}

impl PasswordQueue {
    pub(crate) fn new() -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        let running = Arc::new(Semaphore::new((cores / 2).clamp(1, MAX_RUNNING)));
        Self { running, places: Arc::default() }
    }

    /// Takes a place for a client, before anything else is done for the attempt.
    pub(crate) fn enter(&self, client: RateKey) -> Result<QueuePlace, ServiceError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if places.get(&client).is_some_and(|places| places.taken >= MAX_PLACES_PER_CLIENT) {
            counter!("guildhall_password_refusals_total", "reason" => "client").increment(1);
            return Err(AccessError::TooManyPasswordChecks.into());
        }
        if places.values().map(|places| places.taken).sum::<usize>() >= MAX_PLACES {
            counter!("guildhall_password_refusals_total", "reason" => "queue").increment(1);
            return Err(ServiceError::Overloaded);
        }
        let new = || ClientPlaces { taken: 0, next: Arc::new(Semaphore::new(MAX_NEXT_PER_CLIENT)) };
        let own = places.entry(client).or_insert_with(new);
        own.taken += 1;
        Ok(QueuePlace { queue: self.clone(), client, next: Arc::clone(&own.next) })
    }
}

impl QueuePlace {
    /// Checks a password against a hash when it is its turn. Without a hash the result is false after the same time, so
    /// that timing does not reveal whether a name exists.
    pub(crate) async fn verify(self, password: &SecretString, hash: Option<String>) -> bool {
        let Ok(next) = Arc::clone(&self.next).acquire_owned().await else { return false };
        let Ok(permit) = Arc::clone(&self.queue.running).acquire_owned().await else { return false };
        let password = password.clone();
        // The check goes on when the client disconnects, so it keeps its place and its permit.
        let check = move || {
            let _held = (permit, next, self);
            match hash {
                Some(hash) => password::verify(&password, &hash),
                None => {
                    password::dummy_verify(&password);
                    false
                }
            }
        };
        tokio::task::spawn_blocking(check).await.unwrap_or(false)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut places = self.queue.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = places.get_mut(&self.client) {
            own.taken -= 1;
            if own.taken == 0 {
                places.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: u8) -> RateKey {
        RateKey::from_address([192, 0, 2, number].into())
    }

    fn fill(queue: &PasswordQueue, number: u8) -> Vec<QueuePlace> {
        (0..MAX_PLACES_PER_CLIENT).map(|_| queue.enter(client(number)).expect("a place")).collect()
    }

    #[test]
    fn one_client_cannot_take_all_places() {
        let queue = PasswordQueue::new();
        let mut places = fill(&queue, 1);
        let refused = queue.enter(client(1)).expect_err("refused");
        assert!(matches!(refused, ServiceError::Access(AccessError::TooManyPasswordChecks)), "{refused}");
        queue.enter(client(2)).expect("another client");
        places.pop();
        queue.enter(client(1)).expect("the place that is free again");
    }

    #[test]
    fn full_queue_refuses_every_client_until_a_place_is_free() {
        let queue = PasswordQueue::new();
        let mut places: Vec<Vec<QueuePlace>> = (0..8).map(|number| fill(&queue, number)).collect();
        let refused = queue.enter(client(9)).expect_err("refused");
        assert!(matches!(refused, ServiceError::Overloaded), "{refused}");
        places.pop();
        queue.enter(client(9)).expect("a place");
        drop(places);
        assert!(queue.places.lock().expect("not poisoned").is_empty(), "an empty queue keeps no client");
    }

    #[tokio::test]
    async fn check_leaves_the_queue_after_its_result() {
        let queue = PasswordQueue::new();
        let secret = SecretString::from("correct horse battery");
        let hash = password::hash(&secret).expect("long enough");
        assert!(queue.enter(client(1)).expect("a place").verify(&secret, Some(hash.clone())).await);
        assert!(!queue.enter(client(1)).expect("a place").verify(&SecretString::from("x"), Some(hash)).await);
        assert!(!queue.enter(client(1)).expect("a place").verify(&secret, None).await);
        assert!(queue.places.lock().expect("not poisoned").is_empty());
    }
}
