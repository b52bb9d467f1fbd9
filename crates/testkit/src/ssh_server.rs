//! A real SSH server for Git: `sshd` on a free port of loopback, as the user of the test.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Logs the command of the client, and runs it only if it is one of git.
const COMMAND: &str = "#!/bin/sh\nprintf '%s\\n' \"$SSH_ORIGINAL_COMMAND\" >> 'LOG'\nexec git-shell -c \"$SSH_ORIGINAL_COMMAND\"\n";

/// A server that accepts one key.
#[derive(Debug)]
pub struct SshServer {
    port: u16,
    process: Child,
    folder: TempDir,
}

impl SshServer {
    /// Starts a server with a new host key and a new key for its client.
    #[must_use]
    pub fn start() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("guildhall-sshd-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .expect("a folder");
        create_key(&folder.path().join("host_key"));
        create_key(&folder.path().join("client_key"));
        let command = folder.path().join("command");
        let log = folder.path().join("commands.log");
        fs::write(&command, COMMAND.replace("LOG", &log.display().to_string())).expect("write file");
        fs::set_permissions(&command, fs::Permissions::from_mode(0o755)).expect("set mode");
        // Only root needs it. A package creates it at boot, which a container does not have.
        let _exists_or_not_root = fs::create_dir_all("/run/sshd");
        let port = free_port();
        fs::write(folder.path().join("config"), config(folder.path(), port)).expect("write file");
        let process = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(folder.path().join("config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(folder.path().join("sshd.log")).expect("create file"))
            .spawn()
            .expect("start sshd: install the package openssh-server");
        let server = Self { port, process, folder };
        server.wait_until_ready();
        server
    }

    /// Returns the URL of a repository by its absolute path.
    #[must_use]
    pub fn url(&self, repository: &Path) -> String {
        format!("ssh://{}@{}{}", user(), self.host(), repository.display())
    }

    /// Returns the host with its port.
    #[must_use]
    pub fn host(&self) -> String {
        format!("localhost:{}", self.port)
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the line of this host for a file of known hosts.
    #[must_use]
    pub fn known_hosts_line(&self) -> String {
        known_hosts_line(self.port, &self.path("host_key.pub"))
    }

    /// Returns a line for this host with a key that it does not have.
    #[must_use]
    pub fn wrong_known_hosts_line(&self) -> String {
        known_hosts_line(self.port, &self.path("client_key.pub"))
    }

    /// Returns the private key that the server accepts.
    #[must_use]
    pub fn client_key(&self) -> String {
        fs::read_to_string(self.path("client_key")).expect("readable")
    }

    /// Returns the public part of this key, without its kind and comment.
    #[must_use]
    pub fn client_public_key(&self) -> String {
        let key = fs::read_to_string(self.path("client_key.pub")).expect("readable");
        key.split_whitespace().nth(1).expect("a key").to_owned()
    }

    /// Returns a private key that the server does not accept.
    #[must_use]
    pub fn other_key(&self) -> String {
        fs::read_to_string(self.path("host_key")).expect("readable")
    }

    /// Returns the commands that clients ran until now.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let log = fs::read_to_string(self.path("commands.log")).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// Returns what the server logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.path("sshd.log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait_until_ready(&self) {
        let deadline = Instant::now() + START_TIMEOUT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(Instant::now() < deadline, "sshd does not listen: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _exited = self.process.kill();
        let _exited = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("bound").port()
}

fn config(folder: &Path, port: u16) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    [
        format!("Port {port}"),
        "ListenAddress 127.0.0.1".to_owned(),
        format!("HostKey {}", at("host_key")),
        format!("AuthorizedKeysFile {}", at("client_key.pub")),
        format!("PidFile {}", at("sshd.pid")),
        format!("ForceCommand {}", at("command")),
        "AcceptEnv GIT_PROTOCOL".to_owned(),
        "PermitRootLogin prohibit-password".to_owned(),
        "PasswordAuthentication no".to_owned(),
        "KbdInteractiveAuthentication no".to_owned(),
        "UsePAM no".to_owned(),
        "StrictModes no".to_owned(),
        "LogLevel VERBOSE".to_owned(),
        String::new(),
    ]
    .join("\n")
}

fn known_hosts_line(port: u16, public_key: &Path) -> String {
    let key = fs::read_to_string(public_key).expect("readable");
    format!("[localhost]:{port} {key}")
}

fn create_key(path: &Path) {
    let created = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .status()
        .expect("start ssh-keygen");
    assert!(created.success(), "ssh-keygen failed: {created}");
}

fn user() -> String {
    let output = Command::new("id").arg("-un").output().expect("start id");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}
