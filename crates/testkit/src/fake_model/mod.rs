//! A fake model provider on loopback. The last user prompt controls its response, so that tests can drive real agents.
//!
//! It implements the parts of these APIs that coding agents use: Responses (streamed) and Chat Completions of OpenAI,
//! Messages of Anthropic, and the Gemini API (streamed or not). Trigger words in the prompt:
//!
//! | word | response |
//! |---|---|
//! | `slow` | 40 chunks, one every 250 ms |
//! | `run:<command>` | a shell tool call with the rest of the line; an echo once the tool result arrives |
//! | `ask:<command>` | the same, outside the agent's sandbox if the agent supports that |
//! | `tool:<name> <arguments>` | a call of this tool; the arguments are JSON |
//! | `big:` | a tool call that prints 10 MiB |
//! | `loop:<command>` | the same tool call in every response |
//! | `boom`, `r429`, `r401` | HTTP 500, 429, 401; the 401 body repeats the rejected key |
//! | `cut` | a response whose connection is closed in the middle |
//! | `think:` | reasoning in two parts, `The user wants:` and the prompt, before the response to the rest |
//! | none of these | an echo of the prompt |
//!
//! A prompt that tells it to ask again repeats the last `ask:` or `tool:` of the thread.
//!
//! If the path starts with `/key-<key>/`, requests without that key get a 401.

mod behaviour;
mod chat;
mod gemini;
mod messages;
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

/// A request that the model received.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    pub path: String,
    /// The credential as a bearer token, whichever header of the APIs has it.
    pub authorization: Option<String>,
    /// Null if the body is empty or not JSON.
    pub body: Value,
}

/// A running fake model; it stops when dropped.
#[derive(Debug)]
pub struct FakeModel {
    address: SocketAddr,
    request_log: Arc<Mutex<Vec<ModelRequest>>>,
    tasks: Tasks,
}

impl FakeModel {
    /// Starts on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (request_log, tasks) = (Arc::default(), Tasks::new());
        tasks.spawn("fake model", server::accept(listener, Arc::clone(&request_log), tasks.clone()));
        Self { address, request_log, tasks }
    }

    /// Returns the provider base URL for agents.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the base URL for agents of the Gemini API.
    #[must_use]
    pub fn gemini_base_url(&self) -> String {
        format!("http://{}/v1beta", self.address)
    }

    /// Returns a base URL under which requests without this key get a 401.
    #[must_use]
    pub fn base_url_requiring_key(&self, key: &str) -> String {
        format!("http://{}/{}{key}/v1", self.address, server::KEY_PATH_PREFIX)
    }

    /// Stops the server now instead of on drop.
    pub async fn close(&self) {
        self.tasks.shutdown(Duration::from_secs(5)).await;
    }

    /// Returns all requests received so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.request_log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}
