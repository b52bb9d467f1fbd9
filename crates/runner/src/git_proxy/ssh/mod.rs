//! Serves git in the sandbox over the git protocol: runs `git-upload-pack` of one repository by SSH, and nothing else.
//!
//! `ssh` runs in a sandbox without a network: it reaches the host through a socket behind which this program connects,
//! under the address rules. It has the socket of an `ssh-agent` with the key.

mod agent;
mod client;
mod programs;
mod request;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guildhall_egress::{ConnectError, Connector};
use guildhall_runtime::Tasks;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, copy_bidirectional, split};
use tokio::process::Child;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::{debug, warn};

use super::failure::{FetchFailure, LastFailure};
use super::listener::{ProxyListener, ProxyStream};
use super::{MAX_REQUEST_BYTES, SshAccess};
use crate::child::StderrTail;
use crate::sandbox::Containment;
use agent::SshAgent;
use client::SshFiles;
use programs::SshPrograms;
use request::UploadPackRequest;

/// A larger file of known hosts is a mistake.
const MAX_KNOWN_HOSTS_BYTES: u64 = 1024 * 1024;

/// Git sends its request at once.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for ssh to exit after its output has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// What a server needs besides the repository.
#[derive(Debug)]
pub(super) struct SshOptions<'a> {
    /// A private folder for its files.
    pub(super) folder: &'a Path,
    pub(super) containment: &'a Containment,
    /// The path that git asks for.
    pub(super) key: String,
    pub(super) connector: Connector,
    pub(super) max_bytes: usize,
    pub(super) failure: Arc<LastFailure>,
    pub(super) tasks: Tasks,
}

/// Forwards fetches to one repository.
#[derive(Debug)]
pub(super) struct SshServer {
    access: SshAccess,
    containment: Containment,
    programs: SshPrograms,
    files: SshFiles,
    key: String,
    max_bytes: usize,
    failure: Arc<LastFailure>,
    tasks: Tasks,
    _agent: SshAgent,
}

impl SshServer {
    /// Starts the agent with the key, and the relay to the host.
    pub(super) async fn start(access: SshAccess, options: SshOptions<'_>) -> Result<Self, FetchFailure> {
        let SshOptions { folder, containment, key, connector, max_bytes, failure, tasks } = options;
        let source = access.known_hosts.as_deref().ok_or(FetchFailure::UnknownHostKey)?;
        let known_hosts = folder.join("known_hosts");
        // A copy, since the user of the sandbox may not be able to read the file.
        copy_known_hosts(source, &known_hosts).map_err(|error| {
            warn!(error = &error as &dyn Error, "cannot read the file of known hosts {}", source.display());
            FetchFailure::UnknownHostKey
        })?;
        let programs = SshPrograms::find()?;
        let agent = SshAgent::start(&programs, containment, &access.key).await?;
        let relay_socket = folder.join("ssh.sock");
        let bound = ProxyListener::bind(containment, &relay_socket).await;
        let (relay, relay_port) = bound.map_err(|_| FetchFailure::Proxy)?;
        let (host, port, relay_failure) = (access.host.clone(), access.port, Arc::clone(&failure));
        let serve = relay.serve(tasks.clone(), move |mut stream: ProxyStream| {
            let (connector, host, failure) = (connector.clone(), host.clone(), Arc::clone(&relay_failure));
            async move {
                match connector.connect(&host, port).await {
                    Ok(mut connection) => {
                        let _closed = copy_bidirectional(&mut stream, &mut connection).await;
                    }
                    Err(ConnectError::Blocked(_)) => failure.set(FetchFailure::Blocked),
                    Err(ConnectError::Unreachable(_) | ConnectError::TimedOut(_)) => {
                        failure.set(FetchFailure::Unreachable);
                    }
                }
            }
        });
        tasks.spawn("relay of ssh", serve);
        let agent_socket = agent.socket().to_owned();
        let files = SshFiles { agent_socket, known_hosts, relay_socket, relay_port };
        let containment = containment.clone();
        Ok(Self { access, containment, programs, files, key, max_bytes, failure, tasks, _agent: agent })
    }

    /// Serves one connection of git.
    pub(super) async fn serve(self: Arc<Self>, mut stream: ProxyStream) {
        let read = timeout(REQUEST_TIMEOUT, UploadPackRequest::read(&mut stream, &self.key)).await;
        let Ok(Ok(Some(request))) = read else { return };
        let started = self.files.command(&self.programs, &self.containment, &self.access, request.version);
        let started = started.and_then(|(mut command, cgroups)| Ok((command.spawn()?, cgroups)));
        match started {
            Ok((mut ssh, _cgroups)) => self.forward(stream, &mut ssh).await,
            Err(error) => {
                warn!(error = &error as &dyn Error, "cannot start ssh");
                self.failure.set(FetchFailure::Proxy);
            }
        }
    }

    /// Connects git with ssh until either ends.
    async fn forward(&self, stream: ProxyStream, ssh: &mut Child) {
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (ssh.stdin.take(), ssh.stdout.take(), ssh.stderr.take())
        else {
            return;
        };
        let tail = StderrTail::default();
        let (read_all, stderr_ended) = oneshot::channel();
        let follow = tail.clone().follow(stderr);
        self.tasks.spawn("stderr of ssh", async move {
            follow.await;
            let _nobody_waits = read_all.send(());
        });
        let (from_git, mut to_git) = split(stream);
        let send = async {
            let _closed = copy(&mut from_git.take(MAX_REQUEST_BYTES as u64), &mut stdin).await;
            drop(stdin);
            std::future::pending::<()>().await;
        };
        let max_bytes = u64::try_from(self.max_bytes).unwrap_or(u64::MAX);
        let mut stdout = stdout.take(max_bytes.saturating_add(1));
        let received = tokio::select! {
            received = copy(&mut stdout, &mut to_git) => received.unwrap_or_default(),
            () = send => 0,
        };
        if received > max_bytes {
            self.failure.set(FetchFailure::TooLarge);
        } else {
            self.record_end(ssh, received, &tail, stderr_ended).await;
        }
        // Last: when git ends, the reason of a failure is known.
        let _closed = to_git.shutdown().await;
    }

    async fn record_end(
        &self,
        ssh: &mut Child,
        received: u64,
        tail: &StderrTail,
        stderr_ended: oneshot::Receiver<()>,
    ) {
        let Ok(Ok(status)) = timeout(EXIT_TIMEOUT, ssh.wait()).await else {
            return self.failure.set_first(FetchFailure::Unreachable);
        };
        // The reason may be written, and not read yet.
        let _left_open = timeout(EXIT_TIMEOUT, stderr_ended).await;
        debug!(bytes = received, "ssh ended: {status}");
        match client::failure_of(status, &tail.read()) {
            // The relay knows why there was no connection.
            Some(FetchFailure::Unreachable) => self.failure.set_first(FetchFailure::Unreachable),
            // A command that sent something found the repository; git knows why it ended.
            Some(FetchFailure::NotFound) if received > 0 => {}
            Some(failure) => self.failure.set(failure),
            None => {}
        }
    }
}

fn copy_known_hosts(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut text = Vec::new();
    let read = File::open(from)?.take(MAX_KNOWN_HOSTS_BYTES + 1).read_to_end(&mut text)?;
    if read as u64 > MAX_KNOWN_HOSTS_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::write(to, text)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o644))
}
