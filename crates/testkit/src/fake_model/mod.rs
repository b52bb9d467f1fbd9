//! A model provider on loopback that does what the last user text says, so that real agents can be driven without one.
//!
//! It speaks `POST …/responses` (streamed) and `POST …/chat/completions` (streamed and whole), as much of them as coding
//! agents use. What a text picks:
//!
//! | word in the text | what the model does |
//! |---|---|
//! | `slow` | says 40 words, one every quarter of a second |
//! | `run:<command>` | asks for a shell command, the rest of the line; answers with an echo when it has the result |
//! | `ask:<command>` | the same, outside the agent's sandbox where the agent has a word for that |
//! | `big:` | asks for a command that prints 10 MiB |
//! | `loop:<command>` | asks for the command again and again, whatever comes back |
//! | `boom`, `r429`, `r401` | HTTP 500, 429, 401; the last repeats the key that it refuses |
//! | `cut` | drops the connection in the middle of an answer |
//! | none of these | echoes the text |

mod behaviour;
mod chat;
mod reply;
mod responses;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guildhall_runtime::Tasks;
use serde_json::Value;
use tokio::net::TcpListener;

pub use behaviour::BIG_OUTPUT_BYTES;

/// What an agent sent to its model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub path: String,
    pub authorization: Option<String>,
    /// Null where nothing was sent, or no JSON.
    pub body: Value,
}

/// A model that runs until it is dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<ModelRequest>>>,
    tasks: Tasks,
}

impl FakeModel {
    /// Starts on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (seen, tasks) = (Arc::default(), Tasks::new());
        tasks.spawn("fake model", server::accept(listener, Arc::clone(&seen), tasks.clone()));
        Self { address, seen, tasks }
    }

    /// Returns what agents are told as the base URL of their provider.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Ends before the drop: nobody answers at this address any more.
    pub async fn close(&self) {
        self.tasks.shutdown(Duration::from_secs(5)).await;
    }

    /// Returns everything that was asked until now, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}
