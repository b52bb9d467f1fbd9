//! The `ssh` of a fetch: runs one command on a host with a known key.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use tokio::process::Command;

use super::super::SshAccess;
use super::super::failure::FetchFailure;
use super::programs::SshPrograms;
use super::request::ProtocolVersion;
use crate::sandbox::{Cgroups, Containment, Mount, MountAccess, OWN_DIR, ProcessAccess};

/// What ssh exits with if it fails itself; other codes are those of the command.
const SSH_FAILED: i32 = 255;

/// No configuration of the machine, no question, no key but the agent's, no host that is not known, and nothing forwarded.
const OPTIONS: [&str; 21] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=none",
    "VerifyHostKeyDNS=no",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "KnownHostsCommand=none",
    "IdentityFile=none",
    "PreferredAuthentications=publickey",
    "PubkeyAuthentication=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlPath=none",
    "ProxyCommand=none",
    "ConnectTimeout=30",
    "ServerAliveInterval=30",
    "ServerAliveCountMax=4",
    "SendEnv=GIT_PROTOCOL",
    "LogLevel=ERROR",
];

/// Where ssh finds what it needs, outside of its sandbox.
#[derive(Debug)]
pub(super) struct SshFiles {
    pub(super) agent_socket: PathBuf,
    pub(super) known_hosts: PathBuf,
    /// The socket and the port behind which the host is.
    pub(super) relay_socket: PathBuf,
    pub(super) relay_port: u16,
}

impl SshFiles {
    /// Returns the command that runs `git-upload-pack` on the host.
    pub(super) fn command(
        &self,
        programs: &SshPrograms,
        containment: &Containment,
        access: &SshAccess,
        version: ProtocolVersion,
    ) -> io::Result<(Command, Cgroups)> {
        let (agent_socket, known_hosts, sandbox) = match containment {
            Containment::Sandboxed(_) => {
                let own = |name: &str| Path::new(OWN_DIR).join(name);
                let (agent, hosts) = (own("agent.sock"), own("known_hosts"));
                let mounts = vec![
                    Mount {
                        source: self.agent_socket.clone(),
                        target: agent.clone(),
                        access: MountAccess::Write,
                    },
                    Mount {
                        source: self.known_hosts.clone(),
                        target: hosts.clone(),
                        access: MountAccess::Read,
                    },
                ];
                let sandbox = ProcessAccess {
                    mounts,
                    proxy: Some(self.relay_socket.clone()),
                    user: containment.program_user(),
                    ..ProcessAccess::default()
                };
                (agent, hosts, sandbox)
            }
            Containment::Uncontained => {
                (self.agent_socket.clone(), self.known_hosts.clone(), ProcessAccess::default())
            }
        };
        let (mut command, cgroups) = containment.command(&programs.ssh, &sandbox, Path::new("/"))?;
        command.args(["-F", "none", "-T", "-p", &self.relay_port.to_string(), "-l", &access.user]);
        command.args(OPTIONS.iter().flat_map(|option| ["-o", option]));
        command.arg("-o").arg(format!("IdentityAgent={}", agent_socket.display()));
        command.arg("-o").arg(format!("UserKnownHostsFile={}", known_hosts.display()));
        command.arg("-o").arg(format!("HostKeyAlias={}", host_key_name(access)));
        command.args(["127.0.0.1", &format!("git-upload-pack '{}'", access.path)]);
        match version {
            ProtocolVersion::Original => {}
            ProtocolVersion::Two => {
                command.env("GIT_PROTOCOL", "version=2");
            }
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok((command, cgroups))
    }
}

/// Returns the name of a host in a file of known hosts.
fn host_key_name(access: &SshAccess) -> String {
    match access.port {
        22 => access.host.to_string(),
        port => format!("[{}]:{port}", access.host),
    }
}

/// Returns why ssh failed. The text is used for nothing else: the host may have written a part of it.
pub(super) fn failure_of(status: ExitStatus, stderr: &str) -> Option<FetchFailure> {
    match status.code() {
        Some(0) => None,
        Some(SSH_FAILED) if stderr.contains("HOST IDENTIFICATION HAS CHANGED") => {
            Some(FetchFailure::ChangedHostKey)
        }
        Some(SSH_FAILED) if stderr.contains("Host key verification failed") => {
            Some(FetchFailure::UnknownHostKey)
        }
        Some(SSH_FAILED) if stderr.contains("Permission denied") => Some(FetchFailure::Refused),
        Some(SSH_FAILED) | None => Some(FetchFailure::Unreachable),
        Some(_) => Some(FetchFailure::NotFound),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use secrecy::SecretString;
    use url::Host;

    use super::*;

    #[test]
    fn failures_of_ssh_are_told_apart() {
        let failure = |code: i32, stderr| failure_of(ExitStatus::from_raw(code << 8), stderr);
        let unknown = "No ED25519 host key is known for git.example and you have requested strict checking.\r\n\
                       Host key verification failed.\r\n";
        assert_eq!(failure(0, unknown), None);
        assert_eq!(failure(255, unknown), Some(FetchFailure::UnknownHostKey));
        let changed =
            "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\nHost key verification failed.";
        assert_eq!(failure(255, changed), Some(FetchFailure::ChangedHostKey));
        assert_eq!(failure(255, "git@host: Permission denied (publickey)."), Some(FetchFailure::Refused));
        assert_eq!(failure(255, "Connection closed"), Some(FetchFailure::Unreachable));
        assert_eq!(failure(128, "Host key verification failed"), Some(FetchFailure::NotFound));
    }

    #[test]
    fn host_with_another_port_has_the_name_that_ssh_keyscan_prints() {
        let name = |port| {
            host_key_name(&SshAccess {
                user: "git".to_owned(),
                host: Host::Domain("git.example".to_owned()),
                port,
                path: "a".to_owned(),
                key: SecretString::default(),
                known_hosts: None,
            })
        };
        assert_eq!([name(22), name(2222)], ["git.example", "[git.example]:2222"]);
    }
}
