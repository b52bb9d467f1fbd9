//! The git proxy: the only way out of the sandbox in which a repository is fetched.
//!
//! Git in the sandbox asks for a URL on loopback. The proxy knows the repository, sends the two requests of a fetch to it
//! over HTTPS, and adds the credential, which never enters the sandbox. All other requests are refused: nothing can be
//! pushed, and no other repository can be read. The address rules of [`guildhall_egress`] hold, and redirects are not
//! followed.

mod credential;
mod failure;
mod server;

use std::fs::Permissions;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::Connector;
use guildhall_runtime::Tasks;
use tempfile::TempDir;
use tokio::net::{TcpListener, UnixListener};
use url::{Host, Url};
use uuid::Uuid;

pub use credential::{CredentialError, GitCredential, read_credential};
pub use failure::FetchFailure;

use crate::sandbox::{Containment, PROXY_PORT};
use failure::LastFailure;
use server::{ProxyListener, RepositoryServer};

/// A server may compress a large repository for minutes before its first byte.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// Everyone may connect. Only the owner of its folder can reach it, and one sandbox has the socket.
const SOCKET_MODE: u32 = 0o666;

/// The repository that a proxy gives access to.
#[derive(Debug)]
pub struct RemoteRepository {
    /// `https`, with a host and a path and nothing else.
    pub url: Url,
    pub credential: Option<GitCredential>,
    pub connector: Connector,
    /// Bytes of one response.
    pub max_bytes: usize,
}

/// A running proxy. Dropping it closes all connections and removes the socket.
#[derive(Debug)]
pub struct GitProxy {
    /// The URL of the repository for git.
    url: String,
    /// The folder of the socket; none without a sandbox.
    folder: Option<TempDir>,
    failure: Arc<LastFailure>,
    tasks: Tasks,
}

impl GitProxy {
    /// Starts a proxy: on a socket for a sandbox, or on a free port of loopback without one.
    pub async fn start(
        repository: RemoteRepository,
        containment: &Containment,
    ) -> Result<Self, FetchFailure> {
        let host = repository.url.host().map(|host| host.to_owned()).ok_or(FetchFailure::Blocked)?;
        if repository.url.scheme() != "https" {
            return Err(FetchFailure::Blocked);
        }
        let host: Host<String> = host;
        let client =
            repository.connector.streaming_client(&host, READ_TIMEOUT).map_err(|_| FetchFailure::Blocked)?;
        // Without a sandbox every process of this machine can connect: only git knows the key.
        let key = Uuid::now_v7().simple().to_string();
        let (tasks, failure) = (Tasks::new(), Arc::new(LastFailure::default()));
        let server = Arc::new(RepositoryServer {
            client,
            repository,
            key: key.clone(),
            failure: Arc::clone(&failure),
            tasks: tasks.clone(),
        });
        let (port, folder) = match containment {
            Containment::Sandboxed(_) => {
                let (listener, folder) = bind_socket().map_err(|_| FetchFailure::Proxy)?;
                tasks.spawn("git proxy", server.accept(ProxyListener::Unix(listener)));
                (PROXY_PORT, Some(folder))
            }
            Containment::Uncontained => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
                let listener = listener.map_err(|_| FetchFailure::Proxy)?;
                let port = listener.local_addr().map_err(|_| FetchFailure::Proxy)?.port();
                tasks.spawn("git proxy", server.accept(ProxyListener::Tcp(listener)));
                (port, None)
            }
        };
        Ok(Self { url: format!("http://127.0.0.1:{port}/{key}"), folder, failure, tasks })
    }

    /// Returns the URL that git fetches from.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the socket for the sandbox.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| socket_in(folder.path()))
    }

    /// Returns why the last request that failed did so.
    #[must_use]
    pub fn last_failure(&self) -> Option<FetchFailure> {
        self.failure.get()
    }
}

impl Drop for GitProxy {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}

fn socket_in(folder: &Path) -> PathBuf {
    folder.join("git.sock")
}

/// Binds a socket in a new private folder. The path is short, because that of a socket has at most 107 bytes.
fn bind_socket() -> io::Result<(UnixListener, TempDir)> {
    let private = Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new().prefix("guildhall-").permissions(private).tempdir()?;
    let socket = socket_in(folder.path());
    let listener = UnixListener::bind(&socket)?;
    std::fs::set_permissions(&socket, Permissions::from_mode(SOCKET_MODE))?;
    Ok((listener, folder))
}
