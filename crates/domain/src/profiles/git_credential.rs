//! Credentials of git hosts, which tenants set for their runs.

use std::fmt;

use jiff::Timestamp;

use crate::named_enum::named_enum;

/// Longer than any host name.
const MAX_HOST_LENGTH: usize = 253;

/// Longer than any token or key.
const MAX_BYTES: usize = 16 * 1024;

named_enum! {
    /// What a credential of a git host is.
    GitCredentialKind, "kind of credential";
    /// `TOKEN` or `USER:TOKEN`, for HTTPS.
    Token = "token",
    /// A private key without a passphrase, for SSH.
    SshKey = "ssh-key",
}

/// The name of a host, without a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct GitHost(String);

/// A stored credential, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredGitCredential {
    pub host: GitHost,
    pub kind: GitCredentialKind,
    /// The last digits of a hash of the value: enough to tell two values apart, too few to guess one.
    pub sha256_suffix: String,
    pub updated_at: Timestamp,
}

/// Why a credential of a git host is invalid. Messages contain nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGitCredential {
    #[error("invalid host: use a name such as git.example.org, in lower case and without a port")]
    Host,
    #[error("credential: use TOKEN or USER:TOKEN, in one line without spaces")]
    Token,
    #[error("credential: use a private key without a passphrase, such as from `ssh-keygen -t ed25519 -N ''`")]
    SshKey,
}

impl GitCredentialKind {
    /// Checks the form of a value, so that a mistake is found before a run fails.
    pub fn check(self, value: &str) -> Result<(), InvalidGitCredential> {
        let fits = (1..=MAX_BYTES).contains(&value.len());
        match self {
            Self::Token => {
                let (user, token) = value.split_once(':').unwrap_or(("git", value));
                let is_text =
                    |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
                if fits && is_text(user) && is_text(token) {
                    Ok(())
                } else {
                    Err(InvalidGitCredential::Token)
                }
            }
            Self::SshKey => {
                let is_key = value.trim_start().starts_with("-----BEGIN ")
                    && value.lines().next().is_some_and(|line| line.ends_with("PRIVATE KEY-----"))
                    && value.is_ascii()
                    // The header of a key in the old format with a passphrase.
                    && !value.contains("ENCRYPTED");
                if fits && is_key { Ok(()) } else { Err(InvalidGitCredential::SshKey) }
            }
        }
    }
}

impl GitHost {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for GitHost {
    type Error = InvalidGitCredential;

    fn try_from(text: String) -> Result<Self, InvalidGitCredential> {
        let is_label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        // `ssh` is the folder of the SSH keys.
        if text.len() <= MAX_HOST_LENGTH && text.split('.').all(is_label) && text != "ssh" {
            Ok(Self(text))
        } else {
            Err(InvalidGitCredential::Host)
        }
    }
}

impl From<GitHost> for String {
    fn from(host: GitHost) -> Self {
        host.0
    }
}

impl fmt::Display for GitHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The name is a file name.
        #[test]
        fn host_is_a_plain_file_name(text in r"[a-zA-Z0-9./ :@-]{0,12}|\PC{0,6}") {
            if let Ok(host) = GitHost::try_from(text) {
                let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
                prop_assert!(host.as_str().bytes().all(plain) && !host.as_str().starts_with('.'));
                prop_assert!(host.as_str() != ".." && host.as_str() != "ssh");
            }
        }
    }

    #[test]
    fn credential_of_another_form_is_rejected() {
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
        let encrypted = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n";
        let (token, ssh) = (GitCredentialKind::Token, GitCredentialKind::SshKey);
        assert_eq!(
            (token.check("hunter2"), token.check("me:hunter2"), ssh.check(key)),
            (Ok(()), Ok(()), Ok(()))
        );
        for text in ["", ":a", "a:", "two words", "two\nlines", key, &"a".repeat(20_000)] {
            assert_eq!(token.check(text), Err(InvalidGitCredential::Token), "{text:?}");
        }
        for text in ["", "hunter2", "ssh-ed25519 AAAA", encrypted] {
            assert_eq!(ssh.check(text), Err(InvalidGitCredential::SshKey), "{text:?}");
        }
    }
}
