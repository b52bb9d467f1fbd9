//! The git proxy for SSH, with a real `sshd` and real sandboxes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use guildhall_egress::{AddressRules, Connector};
use guildhall_runner::child::descendant_ids;
use guildhall_runner::git_proxy::{FetchFailure, GitProxy, RemoteRepository, RepositoryAccess, SshAccess};
use guildhall_runner::sandbox::Containment;
use guildhall_testkit::SshServer;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;
use url::Host;

use crate::suite::harness::containment;

const WAIT: Duration = Duration::from_secs(60);

struct ProxyFixture {
    ssh: SshServer,
    repository: PathBuf,
    containment: Containment,
    folder: TempDir,
}

impl ProxyFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = folder.path().join("web.git");
        let created = Command::new("git").args(["init", "-q", "--bare"]).arg(&repository).status();
        assert!(created.expect("start git").success());
        let ssh = SshServer::start();
        fs::write(folder.path().join("known_hosts"), ssh.known_hosts_line()).expect("write file");
        Self { ssh, repository, containment: containment(folder.path()), folder }
    }

    async fn start(&self, connector: Connector) -> Result<GitProxy, FetchFailure> {
        let user = self.ssh.url(Path::new("/"));
        let user = user.trim_start_matches("ssh://").split('@').next().expect("a user").to_owned();
        let access = SshAccess {
            user,
            host: Host::Domain("localhost".to_owned()),
            port: self.ssh.port(),
            path: self.repository.display().to_string(),
            key: SecretString::from(self.ssh.client_key()),
            known_hosts: Some(self.folder.path().join("known_hosts")),
        };
        let access = RepositoryAccess::Ssh(access);
        let repository = RemoteRepository { access, connector, max_bytes: 1 << 20 };
        GitProxy::start(repository, &self.containment).await
    }
}

fn to_loopback() -> Connector {
    Connector::new(AddressRules { allow_loopback: true, allow: Vec::new() })
}

/// Sends the first packet of the git protocol, and a packet that ends the conversation. Returns the answer.
async fn ask(proxy: &GitProxy, service: &str, path: &str) -> String {
    let mut stream = UnixStream::connect(proxy.socket().expect("a socket")).await.expect("connected");
    let request = format!("{service} {path}\0host=127.0.0.1\0");
    let packets = format!("{:04x}{request}0000", request.len() + 4);
    stream.write_all(packets.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let _reset = timeout(WAIT, stream.read_to_end(&mut answer)).await.expect("the stream ends");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns the names of the processes of OpenSSH below this one, except those of the server.
fn ssh_processes() -> Vec<String> {
    let names = descendant_ids(std::process::id()).into_iter().filter_map(|id| {
        fs::read_to_string(format!("/proc/{id}/comm")).ok().map(|name| name.trim().to_owned())
    });
    names.filter(|name| name.starts_with("ssh") && name != "sshd").collect()
}

#[tokio::test]
async fn proxy_runs_upload_pack_of_its_repository_and_nothing_else() {
    let fixture = ProxyFixture::new();
    let proxy = fixture.start(to_loopback()).await.expect("started");
    let path = proxy.url().strip_prefix("git://127.0.0.1:3117").expect("a git URL").to_owned();
    for (service, path) in [
        ("git-receive-pack", path.as_str()),
        ("git-upload-archive", &path),
        ("git-upload-pack", "/other"),
        ("git-upload-pack", &format!("{path}/../../other")),
        ("sh", &path),
    ] {
        assert_eq!(ask(&proxy, service, path).await, "", "{service} {path}");
    }
    assert_eq!(fixture.ssh.commands(), Vec::<String>::new());
    let answer = ask(&proxy, "git-upload-pack", &path).await;
    assert!(answer.contains("capabilities^{}"), "{answer} {:?}", proxy.last_failure());
    assert_eq!(fixture.ssh.commands(), [format!("git-upload-pack '{}'", fixture.repository.display())]);
    assert_eq!(ssh_processes(), ["ssh-agent"]);
    proxy.close().await;
    let deadline = tokio::time::Instant::now() + WAIT;
    while !ssh_processes().is_empty() {
        assert!(tokio::time::Instant::now() < deadline, "{:?}", ssh_processes());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn ssh_host_with_a_private_address_is_blocked() {
    let fixture = ProxyFixture::new();
    let proxy = fixture.start(Connector::default()).await.expect("started");
    let path = proxy.url().strip_prefix("git://127.0.0.1:3117").expect("a git URL").to_owned();
    assert_eq!(ask(&proxy, "git-upload-pack", &path).await, "");
    assert_eq!(proxy.last_failure(), Some(FetchFailure::Blocked));
    assert_eq!(fixture.ssh.commands(), Vec::<String>::new());
}
