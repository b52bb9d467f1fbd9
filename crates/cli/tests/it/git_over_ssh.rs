//! Workspaces from repositories behind SSH, fetched from a real `sshd`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use guildhall_testkit::SshServer;
use tempfile::TempDir;

use crate::git_workspaces::{create_repository, git};
use crate::launched_runners::start_server;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// An SSH server with a repository, and a Guildhall server that may fetch from it.
struct SshFixture {
    repository: PathBuf,
    ssh: SshServer,
    user: CliUser,
    _server: DevServer,
    folder: TempDir,
}

impl SshFixture {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let repository = create_repository(folder.path());
        let ssh = SshServer::start();
        let settings = [
            ("GUILDHALL_GIT_HOSTS", ssh.host()),
            ("GUILDHALL_GIT_CREDENTIALS", folder.path().join("credentials").display().to_string()),
            ("GUILDHALL_GIT_KNOWN_HOSTS", folder.path().join("known_hosts").display().to_string()),
        ];
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (server, user) = start_server(&settings);
        let fixture = Self { repository, ssh, user, _server: server, folder };
        fixture.set_key(&fixture.ssh.client_key());
        fixture.set_known_hosts(&fixture.ssh.known_hosts_line());
        fixture
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("credentials/shared/ssh/localhost")
    }

    fn set_key(&self, key: &str) {
        let path = self.key_file();
        fs::create_dir_all(path.parent().expect("a parent")).expect("create directory");
        fs::write(&path, key).expect("write file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set mode");
    }

    fn set_known_hosts(&self, text: &str) {
        fs::write(self.folder.path().join("known_hosts"), text).expect("write file");
    }

    fn workspace(&self) -> String {
        format!("git:{}", self.ssh.url(&self.repository))
    }

    /// Runs a turn in a checkout. Returns the exit code and the events.
    fn run(&self, workspace: &str, prompt: &str) -> (Option<i32>, String) {
        let args =
            ["runs", "create", prompt, "--profile", "demo", "--workspace", workspace, "--watch", "--json"];
        let output = self.user.run(&args);
        (output.status.code(), format!("{}{}", stdout(&output), stderr(&output)))
    }
}

/// A line of the private key.
fn key_line(key: &str) -> &str {
    key.lines().nth(2).expect("three lines")
}

/// Looks for the key everywhere: the environment of all processes, sockets that may be those of an agent, and its file.
fn search_for_the_key(key_file: &Path) -> String {
    format!(
        "run:cat answer; git log --format=%s; cat .git/config; env; cat /proc/*/environ | tr '\\0' '\\n'; \
         echo \"variable:$SSH_AUTH_SOCK:\"; ls -R /run /tmp; \
         for socket in $(find / -path /proc -prune -o -type s -print); do \
         echo \"socket:$socket\"; SSH_AUTH_SOCK=$socket timeout 5 ssh-add -L; done; \
         find / -path /proc -prune -o -name known_hosts -printf 'file:%p'; cat {0}; ls $(dirname {0})",
        key_file.display()
    )
}

#[test]
fn repository_is_fetched_by_ssh_and_its_key_stays_outside() {
    let fixture = SshFixture::start();
    let (code, output) = fixture.run(&fixture.workspace(), &search_for_the_key(&fixture.key_file()));
    assert!(
        output.contains("41\\n") && output.contains("large\\n") && output.contains("answer\\n"),
        "{code:?} {output}"
    );
    let (key, public) = (fixture.ssh.client_key(), fixture.ssh.client_public_key());
    for secret in [key_line(&key), &public, "socket:/", "file:/"] {
        assert!(!output.contains(secret), "the agent saw {secret}: {output}");
    }
    assert!(output.contains("variable::"), "{output}");
    let missing = format!("cat: {}: No such file or directory", fixture.key_file().display());
    assert!(output.contains(&missing), "the key file is in the sandbox: {output}");

    let (code, output) = fixture.run(&format!("{}#old", fixture.workspace()), "run:ls");
    assert_eq!((code, output.contains("\"answer\\n\"")), (Some(0), true), "{output}");
    let proposal = git(&fixture.repository, &["rev-parse", "refs/pull/1/head"]);
    let (code, output) = fixture.run(&format!("{}#{proposal}", fixture.workspace()), "run:cat proposal");
    assert_eq!((code, output.contains("better")), (Some(0), true), "{output}");
    let expected = format!("git-upload-pack '{}'", fixture.repository.display());
    let commands = fixture.ssh.commands();
    assert!(commands.len() >= 3 && commands.iter().all(|command| *command == expected), "{commands:?}");
}

#[test]
fn repository_that_cannot_be_fetched_by_ssh_says_why() {
    let fixture = SshFixture::start();
    let check = |workspace: &str, reason: &str| {
        let (code, output) = fixture.run(workspace, "run:ls");
        assert!(code == Some(1) && output.contains(reason), "{workspace}: {code:?} {output}");
    };
    let workspace = fixture.workspace();
    fixture.set_known_hosts("");
    check(&workspace, "add the host to the file git.known_hosts (--git-known-hosts)");
    fixture.set_known_hosts(&fixture.ssh.wrong_known_hosts_line());
    check(&workspace, "its host has another SSH key than the file git.known_hosts");
    fs::remove_file(fixture.folder.path().join("known_hosts")).expect("removed");
    check(&workspace, "add the host to the file git.known_hosts (--git-known-hosts)");
    assert!(!fixture.ssh.log().contains("Accepted publickey"), "{}", fixture.ssh.log());

    fixture.set_known_hosts(&fixture.ssh.known_hosts_line());
    let other_port = workspace.replace(&fixture.ssh.host(), "localhost:22");
    check(&other_port, "does not allow repositories of the host localhost: add it to git.hosts");
    check("git:git@git.example:team/web.git", "does not allow repositories of the host git.example");
    fixture.set_key(&fixture.ssh.other_key());
    check(&workspace, "its host wants a credential, or refused the one it got");
    fixture.set_key("not a key\n");
    check(&workspace, "it must be a private key without a passphrase");
    fs::remove_file(fixture.key_file()).expect("removed");
    check(&workspace, "there is no SSH key for the host localhost");
    assert_eq!(fixture.ssh.commands(), Vec::<String>::new());

    let set = ["git-credentials", "set", "localhost", "--ssh-key"];
    let set = fixture.user.run_with_stdin(&set, &fixture.ssh.client_key());
    assert!(set.status.success(), "{}", stderr(&set));
    let (code, output) = fixture.run(&workspace, "run:ls");
    assert_eq!(code, Some(0), "the key that the tenant set is used: {output}");
    check(&format!("{workspace}-missing"), "there is no such repository");
}
