//! The git proxy: the only way out of the sandbox in which a repository is fetched.
//!
//! Git in the sandbox asks for a URL on loopback. The proxy knows the repository, forwards the requests of a fetch to it,
//! and adds the credential, which never enters the sandbox. All other requests are refused: nothing can be pushed, and no
//! other repository can be read. The address rules of [`guildhall_egress`] hold.
//!
//! - HTTPS: git speaks HTTP to the proxy, which sends the two requests of a fetch with the token. It follows no redirect.
//! - SSH: git speaks the git protocol to the proxy, which starts `ssh` with the command `git-upload-pack`, in a sandbox of
//!   its own. The key is in an `ssh-agent` in a third sandbox.

mod credential;
mod failure;
mod https;
mod listener;
mod ssh;

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::Connector;
use guildhall_runtime::Tasks;
use secrecy::SecretString;
use tempfile::TempDir;
use url::{Host, Url};
use uuid::Uuid;

pub use credential::{CredentialError, GitCredential, read_credential, read_ssh_key};
pub use failure::FetchFailure;

use crate::sandbox::Containment;
use failure::LastFailure;
use https::{HttpsOptions, HttpsServer};
use listener::ProxyListener;
use ssh::{SshOptions, SshServer};

/// Time for the processes of a proxy to end after they were killed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// What git says that it has and wants.
const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// The repository that a proxy gives access to.
#[derive(Debug)]
pub struct RemoteRepository {
    pub access: RepositoryAccess,
    pub connector: Connector,
    /// Bytes of one response.
    pub max_bytes: usize,
}

/// How a repository is fetched.
#[derive(Debug)]
pub enum RepositoryAccess {
    Https {
        /// `https`, with a host and a path and nothing else.
        url: Url,
        credential: Option<GitCredential>,
    },
    Ssh(SshAccess),
}

/// A repository behind SSH.
#[derive(Debug)]
pub struct SshAccess {
    pub user: String,
    pub host: Host<String>,
    pub port: u16,
    /// Needs no quoting in a shell.
    pub path: String,
    pub key: SecretString,
    /// The keys of the hosts, in the format of OpenSSH. Without one no host is known.
    pub known_hosts: Option<PathBuf>,
}

/// What git speaks to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    Http,
    Git,
}

impl ProxyProtocol {
    /// Returns the name in URLs and in `GIT_ALLOW_PROTOCOL`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Git => "git",
        }
    }
}

/// A running proxy. Dropping it closes all connections and removes the socket.
#[derive(Debug)]
pub struct GitProxy {
    /// The URL of the repository for git.
    url: String,
    protocol: ProxyProtocol,
    /// The socket; none without a sandbox.
    socket: Option<PathBuf>,
    failure: Arc<LastFailure>,
    tasks: Tasks,
    _folder: TempDir,
}

impl GitProxy {
    /// Starts a proxy: on a socket for a sandbox, or on a free port of loopback without one.
    pub async fn start(
        repository: RemoteRepository,
        containment: &Containment,
    ) -> Result<Self, FetchFailure> {
        // Without a sandbox every process of this machine can connect: only git knows the key.
        let key = Uuid::now_v7().simple().to_string();
        let (tasks, failure) = (Tasks::new(), Arc::new(LastFailure::default()));
        let folder = private_folder().map_err(|_| FetchFailure::Proxy)?;
        let socket = folder.path().join("git.sock");
        let bound = ProxyListener::bind(containment, &socket).await;
        let (listener, port) = bound.map_err(|_| FetchFailure::Proxy)?;
        let RemoteRepository { access, connector, max_bytes } = repository;
        let protocol = match access {
            RepositoryAccess::Https { url, credential } => {
                let (key, failure) = (key.clone(), Arc::clone(&failure));
                let options = HttpsOptions { url, credential, connector, max_bytes, key, failure };
                let server = Arc::new(HttpsServer::new(options)?);
                let serve = listener.serve(tasks.clone(), move |stream| Arc::clone(&server).serve(stream));
                tasks.spawn("git proxy", serve);
                ProxyProtocol::Http
            }
            RepositoryAccess::Ssh(access) => {
                let options = SshOptions {
                    folder: folder.path(),
                    containment,
                    key: key.clone(),
                    connector,
                    max_bytes,
                    failure: Arc::clone(&failure),
                    tasks: tasks.clone(),
                };
                let server = Arc::new(SshServer::start(access, options).await?);
                let serve = listener.serve(tasks.clone(), move |stream| Arc::clone(&server).serve(stream));
                tasks.spawn("git proxy", serve);
                ProxyProtocol::Git
            }
        };
        let socket = match containment {
            Containment::Sandboxed(_) => Some(socket),
            Containment::Uncontained => None,
        };
        let url = format!("{}://127.0.0.1:{port}/{key}", protocol.name());
        Ok(Self { url, protocol, socket, failure, tasks, _folder: folder })
    }

    /// Returns the URL that git fetches from.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    #[must_use]
    pub fn protocol(&self) -> ProxyProtocol {
        self.protocol
    }

    /// Returns the socket for the sandbox.
    #[must_use]
    pub fn socket(&self) -> Option<PathBuf> {
        self.socket.clone()
    }

    /// Returns why the last request that failed did so.
    #[must_use]
    pub fn last_failure(&self) -> Option<FetchFailure> {
        self.failure.get()
    }

    /// Closes all connections, and waits until the processes of the proxy have ended.
    pub async fn close(self) {
        self.tasks.shutdown(CLOSE_TIMEOUT).await;
    }
}

impl Drop for GitProxy {
    fn drop(&mut self) {
        self.tasks.stop().cancel();
    }
}

/// Creates a private folder. Its path is short, because that of a socket has at most 107 bytes.
fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("guildhall-").permissions(Permissions::from_mode(0o700)).tempdir()
}
