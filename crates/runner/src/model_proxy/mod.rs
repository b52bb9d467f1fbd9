//! The model proxy: the only way out of an agent's sandbox.
//!
//! An agent has a network namespace with loopback only. A [forwarder](crate::forwarder) inside it copies connections to
//! a UNIX socket, where the proxy serves HTTP/1.1:
//!
//! - Requests to a path go to the pinned provider, whatever `Host` says. Only the [model routes](ModelRoute) pass; the
//!   proxy replaces the agent's credentials by the provider's, which never enters the sandbox.
//! - `CONNECT` and absolute URLs go to other hosts, under the [host rules](HostRules) and the address rules of
//!   [`guildhall_egress`], and never carry the provider's credential.
//!
//! Bodies are streamed. Tokens, requests and bytes are counted; when a [cap](ModelCaps) is passed, open responses are
//! cut and later requests are refused. Logs contain routes and hosts, never bodies, header values or queries.
//!
//! Not prevented: tools that the provider itself runs (such as its web search), which an agent requests in a body.

mod budget;
mod headers;
mod hosts;
mod metered_body;
mod other_host;
mod provider;
mod reply;
mod route;
mod server;
#[cfg(test)]
mod tests;
mod usage;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guildhall_egress::Connector;
use guildhall_runtime::Tasks;
use secrecy::SecretString;
use tokio::net::UnixListener;
use url::Url;

pub use budget::{ExceededCap, ModelCaps, ModelUsage};
pub use hosts::{HostPattern, HostPatternError, HostRules};
pub use route::{
    ANTHROPIC_ROUTES, CHAT_ROUTES, GEMINI_ROUTES, ModelRoute, RESPONSES_ROUTES, RouteMethod, RoutePurpose,
    find_route,
};

use budget::Budget;
use other_host::OtherHosts;
use provider::ProviderClient;
use server::ProxyServer;

/// Everyone may connect. The folder restricts access instead: only its owner can enter it, and one sandbox has the
/// socket. As root, the agent's user is not the one that creates the socket.
const SOCKET_MODE: u32 = 0o666;

/// What a proxy forwards, and how much.
#[derive(Debug, Clone)]
pub struct ModelProxyConfig {
    /// Every model request goes below this URL. It has no address rules: the provider may be on this machine.
    pub base_url: Url,
    /// Added to every model request.
    pub credential: Option<SecretString>,
    pub credential_header: CredentialHeader,
    pub routes: &'static [ModelRoute],
    pub caps: ModelCaps,
    pub hosts: HostRules,
    /// Opens the connections to other hosts. The default refuses all addresses that are not public.
    pub connector: Connector,
}

/// The header that carries the credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialHeader {
    /// `Authorization: Bearer …`
    Bearer,
    /// `x-api-key: …`, of the Anthropic API.
    XApiKey,
    /// `x-goog-api-key: …`, of the Gemini API.
    XGoogApiKey,
}

/// A running proxy. Dropping it closes all connections and removes the socket.
#[derive(Debug)]
pub struct ModelProxy {
    socket: PathBuf,
    budget: Arc<Budget>,
    tasks: Tasks,
}

impl ModelProxy {
    /// Starts a proxy on a new socket. The folder of the socket must be accessible to its owner only (mode 0700); mount
    /// the socket into one sandbox.
    pub async fn start(config: ModelProxyConfig, socket: &Path) -> io::Result<Self> {
        let budget = Arc::new(Budget::new(config.caps));
        let provider = ProviderClient::new(&config, Arc::clone(&budget))?;
        let tasks = Tasks::new();
        let other_hosts = OtherHosts {
            rules: config.hosts,
            connector: config.connector,
            budget: Arc::clone(&budget),
            tasks: tasks.clone(),
        };
        let listener = bind(socket)?;
        let server = ProxyServer { provider, other_hosts, tasks: tasks.clone() };
        tasks.spawn("model proxy", server.accept(listener));
        Ok(Self { socket: socket.to_owned(), budget, tasks })
    }

    #[must_use]
    pub fn usage(&self) -> ModelUsage {
        self.budget.usage()
    }

    /// Waits until a cap is passed, and returns the first one.
    pub async fn exceeded(&self) -> ExceededCap {
        self.budget.exceeded().await
    }
}

impl Drop for ModelProxy {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
        let _missing = fs::remove_file(&self.socket);
    }
}

fn bind(socket: &Path) -> io::Result<UnixListener> {
    let folder = socket.parent().ok_or(io::ErrorKind::InvalidInput)?;
    if fs::metadata(folder)?.permissions().mode() & 0o077 != 0 {
        let message = "the folder of the model proxy's socket must have mode 0700";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    let listener = UnixListener::bind(socket)?;
    fs::set_permissions(socket, Permissions::from_mode(SOCKET_MODE))?;
    Ok(listener)
}
