//! Calls that wait: to be sent, or for their response. Each ends exactly once.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guildhall_protocol::rpc::RpcError;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::SocketError;

/// Calls that wait for a connection. Each has at most one frame of 1 MiB.
pub(super) const MAX_QUEUED: usize = 64;

/// Calls that wait for their response. The server handles those of one connection one after the other.
pub(super) const MAX_IN_FLIGHT: usize = 64;

type Reply = oneshot::Sender<Result<Value, SocketError>>;

/// A call that is not sent yet. It has no `Debug`: the parameters may hold a credential.
pub(super) struct Call {
    pub(super) method: String,
    pub(super) params: Value,
    is_sent: Arc<AtomicBool>,
    reply: Reply,
}

impl Call {
    /// Marks the call as sent. Returns none where nobody waits for it any more: then it must not be sent.
    ///
    /// The caller closes its end before it reads the mark, and here the mark is set before the end is looked at. So a caller
    /// that reads "not sent" can rely on it.
    pub(super) fn start(self) -> Option<StartedCall> {
        self.is_sent.store(true, Ordering::SeqCst);
        (!self.reply.is_closed()).then_some(StartedCall {
            method: self.method,
            params: self.params,
            reply: self.reply,
        })
    }

    pub(super) fn fail(self, error: SocketError) {
        let _caller_gone = self.reply.send(Err(error));
    }
}

/// A call that has to be sent now.
pub(super) struct StartedCall {
    pub(super) method: String,
    pub(super) params: Value,
    pub(super) reply: Reply,
}

/// Queues a call and waits for its response.
pub(super) async fn call(
    queue: &mpsc::Sender<Call>,
    method: &str,
    params: Value,
    limit: Duration,
) -> Result<Value, SocketError> {
    let (reply, mut response) = oneshot::channel();
    let is_sent = Arc::new(AtomicBool::new(false));
    let call = Call { method: method.to_owned(), params, is_sent: Arc::clone(&is_sent), reply };
    let answered = tokio::time::timeout(limit, async {
        queue.send(call).await.map_err(|_| SocketError::Closed)?;
        (&mut response).await.unwrap_or(Err(SocketError::Closed))
    });
    if let Ok(outcome) = answered.await {
        return outcome;
    }
    response.close();
    match response.try_recv() {
        // It came in the last moment.
        Ok(outcome) => outcome,
        Err(_) if is_sent.load(Ordering::SeqCst) => Err(SocketError::Timeout(limit)),
        Err(_) => Err(SocketError::NotSent(limit)),
    }
}

/// The calls of one connection that wait for their response.
pub(super) struct InFlight {
    replies: HashMap<u64, Reply>,
    last_id: u64,
}

impl InFlight {
    pub(super) fn new(last_id: u64) -> Self {
        Self { replies: HashMap::new(), last_id }
    }

    pub(super) fn has_room(&self) -> bool {
        self.replies.len() < MAX_IN_FLIGHT
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(super) fn add(&mut self, id: u64, reply: Reply) {
        self.replies.insert(id, reply);
    }

    /// Forgets calls whose callers have gone: their responses may never come.
    pub(super) fn forget_abandoned(&mut self) {
        self.replies.retain(|_, reply| !reply.is_closed());
    }

    /// Ends the call with this id. A response to no call, or to one whose caller has gone, is dropped.
    pub(super) fn complete(&mut self, id: &Value, outcome: Result<Value, RpcError>) {
        let reply = id.as_u64().and_then(|id| self.replies.remove(&id));
        if let Some(reply) = reply {
            let _caller_gone = reply.send(outcome.map_err(SocketError::from));
        }
    }

    pub(super) fn fail_all(self, error: &SocketError) {
        for reply in self.replies.into_values() {
            let _caller_gone = reply.send(Err(error.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(120);

    /// For calls that nobody answers.
    const SHORT: Duration = Duration::from_millis(50);

    fn queue() -> (mpsc::Sender<Call>, mpsc::Receiver<Call>) {
        mpsc::channel(MAX_QUEUED)
    }

    #[tokio::test]
    async fn responses_are_matched_by_id_in_any_order() {
        let (sender, mut calls) = queue();
        let serve = async {
            let mut in_flight = InFlight::new(1);
            let mut ids = Vec::new();
            for _ in 0..2 {
                let call = calls.recv().await.expect("a call").start().expect("waiting");
                let id = in_flight.next_id();
                in_flight.add(id, call.reply);
                ids.push((id, call.method));
            }
            assert_eq!(ids, [(2, "a".to_owned()), (3, "b".to_owned())]);
            in_flight.complete(&json!(9), Ok(json!("of no call")));
            in_flight.complete(&json!("3"), Ok(json!("of no call")));
            in_flight.complete(&json!(3), Ok(json!("to b")));
            in_flight.complete(&json!(3), Ok(json!("again")));
            in_flight.complete(&json!(2), Ok(json!("to a")));
        };
        let (first, second) = (call(&sender, "a", json!({}), LIMIT), call(&sender, "b", json!({}), LIMIT));
        let (first, second, ()) = tokio::join!(first, second, serve);
        assert_eq!((first.expect("a result"), second.expect("a result")), (json!("to a"), json!("to b")));
    }

    #[tokio::test]
    async fn timeout_tells_whether_the_call_was_sent() {
        let (sender, mut calls) = queue();
        let error = call(&sender, "a", json!({}), SHORT).await.expect_err("nobody serves");
        assert!(matches!(error, SocketError::NotSent(SHORT)) && !error.may_have_been_handled());
        assert!(calls.recv().await.expect("a call").start().is_none(), "it must not be sent later");

        let serve = async {
            let call = calls.recv().await.expect("a call").start().expect("waiting");
            let mut in_flight = InFlight::new(0);
            in_flight.add(1, call.reply);
            in_flight
        };
        let (outcome, mut in_flight) = tokio::join!(call(&sender, "a", json!({}), SHORT), serve);
        let error = outcome.expect_err("no response");
        assert!(matches!(error, SocketError::Timeout(SHORT)) && error.may_have_been_handled());
        in_flight.forget_abandoned();
        assert!(in_flight.replies.is_empty());
    }

    #[tokio::test]
    async fn calls_over_the_queue_wait_and_are_not_sent() {
        let (sender, _calls) = queue();
        let waiting: Vec<_> = (0..MAX_QUEUED + 1).map(|_| call(&sender, "a", json!({}), SHORT)).collect();
        for outcome in futures::future::join_all(waiting).await {
            assert!(matches!(outcome, Err(SocketError::NotSent(_))));
        }
    }

    #[tokio::test]
    async fn lost_connection_ends_every_call_once() {
        let (sender, mut calls) = queue();
        let serve = async {
            let mut in_flight = InFlight::new(0);
            for id in 1..=2 {
                let call = calls.recv().await.expect("a call").start().expect("waiting");
                in_flight.add(id, call.reply);
            }
            in_flight.complete(&json!(1), Ok(json!(1)));
            in_flight.fail_all(&SocketError::lost("gone"));
        };
        let (first, second) = (call(&sender, "a", json!({}), LIMIT), call(&sender, "b", json!({}), LIMIT));
        let (first, second, ()) = tokio::join!(first, second, serve);
        assert_eq!(first.expect("answered before"), json!(1));
        assert!(matches!(second, Err(SocketError::Lost { .. })));
    }
}
