//! The handle of a socket client.

use std::sync::Arc;

use guildhall_protocol::rpc::RpcMethod;
use guildhall_protocol::rpc::auth::ConnectResult;
use guildhall_runtime::Tasks;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::SocketError;
use super::calls::{self, MAX_QUEUED};
use super::driver::Driver;
use super::event_stream::SocketEvents;
use super::events::EventBus;
use super::options::SocketOptions;
use super::shared::SharedClient;
use super::state::SocketState;

/// A client of the socket. Cheap to clone: clones share one connection, which closes with the last of them.
///
/// It connects again by itself. A call that was sent on a connection that is lost fails with [`SocketError::Lost`] and is not
/// repeated; one that was not sent yet waits for the next connection.
#[derive(Debug, Clone)]
pub struct SocketClient(Arc<SharedClient>);

impl SocketClient {
    /// Starts a client that connects in the background, and tries until it succeeds or is refused. The task ends with `tasks`.
    #[must_use]
    pub fn start(options: SocketOptions, tasks: &Tasks) -> Self {
        let (sender, calls) = mpsc::channel(MAX_QUEUED);
        let (state_sender, state) = watch::channel(SocketState::Connecting { last_error: None });
        let (events, stop) = (Arc::new(EventBus::default()), tasks.stop().child_token());
        let call_timeout = options.call_timeout;
        let driver =
            Driver { options, calls, events: Arc::clone(&events), state: state_sender, stop: stop.clone() };
        // On the heap: it holds the state of a login and of a connection.
        tasks.spawn_isolated("socket client", Box::pin(driver.run()));
        Self(Arc::new(SharedClient { calls: sender, events, state, call_timeout, stop }))
    }

    /// Starts a client and waits for the first connection. Fails where the first attempt fails.
    pub async fn connect(options: SocketOptions, tasks: &Tasks) -> Result<Self, SocketError> {
        let client = Self::start(options, tasks);
        let has_tried = |state: &SocketState| !matches!(state, SocketState::Connecting { last_error: None });
        match client.wait_for(has_tried).await {
            SocketState::Connected(_) => Ok(client),
            SocketState::Ended(error) | SocketState::Connecting { last_error: Some(error) } => Err(error),
            SocketState::Connecting { last_error: None } => Err(SocketError::Closed),
        }
    }

    /// Waits until there is a connection, and returns what the server said about it. Fails where there will be none.
    pub async fn connected(&self) -> Result<Arc<ConnectResult>, SocketError> {
        let is_settled = |state: &SocketState| !matches!(state, SocketState::Connecting { .. });
        match self.wait_for(is_settled).await {
            SocketState::Connected(info) => Ok(info),
            SocketState::Ended(error) => Err(error),
            SocketState::Connecting { .. } => Err(SocketError::Closed),
        }
    }

    /// Returns the state of the connection now.
    #[must_use]
    pub fn state(&self) -> SocketState {
        self.0.state.borrow().clone()
    }

    /// Calls a method of the table, such as `typed::Ping`.
    pub async fn call<M: RpcMethod>(&self, params: &M::Params) -> Result<M::Result, SocketError> {
        let params = serde_json::to_value(params).map_err(|_| SocketError::Parameters)?;
        let result = self.call_raw(M::METHOD.spec().name, params).await?;
        serde_json::from_value(result)
            .map_err(|_| SocketError::InvalidResponse("another result than the method has"))
    }

    /// Calls a method by its name. The parameters are an object.
    pub async fn call_raw(&self, method: &str, params: Value) -> Result<Value, SocketError> {
        match calls::call(&self.0.calls, method, params, self.0.call_timeout).await {
            Err(SocketError::Closed) => Err(self.end()),
            outcome => outcome,
        }
    }

    /// Subscribes to events. The queue is bounded: a consumer that does not read is told that it missed some.
    #[must_use]
    pub fn events(&self) -> SocketEvents {
        SocketEvents::new(self.0.events.subscribe(), Arc::clone(&self.0))
    }

    /// Closes the connection, for all clones, and waits until the server has been told.
    pub async fn close(&self) {
        self.0.stop.cancel();
        self.wait_for(|state| matches!(state, SocketState::Ended(_))).await;
    }

    /// Returns why the client has ended.
    fn end(&self) -> SocketError {
        match self.state() {
            SocketState::Ended(error) => error,
            SocketState::Connecting { .. } | SocketState::Connected(_) => SocketError::Closed,
        }
    }

    async fn wait_for(&self, is_wanted: impl FnMut(&SocketState) -> bool) -> SocketState {
        let mut state = self.0.state.clone();
        match state.wait_for(is_wanted).await {
            Ok(found) => found.clone(),
            // The task is gone without a last word.
            Err(_) => SocketState::Ended(SocketError::Closed),
        }
    }
}
