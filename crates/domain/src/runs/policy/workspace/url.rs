//! Repository URLs.

use super::InvalidWorkspace;
use crate::redact::redact;

pub(super) const SCHEMES: &str = "https, http, ssh or git";

const MAX_LENGTH: usize = 1024;

/// A repository URL without credentials. Other URL forms of Git are rejected, because some of them run programs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoUrl(String);

impl RepoUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RepoUrl {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidWorkspace::UrlForm);
        }
        let (scheme, rest) = text.split_once("://").ok_or(InvalidWorkspace::UrlForm)?;
        let (authority, path) = rest.split_once('/').ok_or(InvalidWorkspace::UrlForm)?;
        let host = match (scheme, authority.rsplit_once('@')) {
            ("https" | "http" | "ssh" | "git", None) => authority,
            // A user name such as `git@`; anything else in that position could be a token.
            ("ssh", Some((user, host))) if is_user_name(user) => host,
            (_, Some(_)) => return Err(InvalidWorkspace::UrlCredential),
            (_, None) => return Err(InvalidWorkspace::UrlForm),
        };
        // Queries can contain tokens.
        if path.contains(['?', '#', '@']) || !redact(&text).found.is_empty() {
            return Err(InvalidWorkspace::UrlCredential);
        }
        if is_host(host) && is_path(path) { Ok(Self(text)) } else { Err(InvalidWorkspace::UrlForm) }
    }
}

fn is_user_name(user: &str) -> bool {
    (1..=32).contains(&user.len())
        && user.starts_with(|c: char| c.is_ascii_lowercase())
        && user.bytes().all(|b| b.is_ascii_lowercase() || b"_-".contains(&b))
}

fn is_host(authority: &str) -> bool {
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "1"));
    host.starts_with(|c: char| c.is_ascii_alphanumeric())
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        && port.parse::<u16>().is_ok_and(|port| port > 0)
        && port.bytes().all(|b| b.is_ascii_digit())
}

/// Rejects percent signs, whose decoded form would need the same checks.
fn is_path(path: &str) -> bool {
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.starts_with('-');
    path.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~+/-".contains(&b)) && path.split('/').all(is_plain)
}

impl From<RepoUrl> for String {
    fn from(url: RepoUrl) -> Self {
        url.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> Option<InvalidWorkspace> {
        RepoUrl::try_from(text.to_owned()).err()
    }

    // covers: R24
    #[test]
    fn url_with_a_credential_is_rejected() {
        for text in [
            "https://user:pw@git.example/a",
            "https://token@git.example/a",
            "ssh://git:pw@git.example/a",
            "ssh://x-access-token9@git.example/a",
            "https://git.example/a?private_token=abc",
            "https://git.example/a#abc",
        ] {
            assert_eq!(error(text), Some(InvalidWorkspace::UrlCredential), "{text}");
        }
        let key = format!("https://git.example/glpat-{}/a", "a1".repeat(10));
        assert_eq!(error(&key), Some(InvalidWorkspace::UrlCredential));
    }

    #[test]
    fn urls_that_git_reads_as_program_option_or_file_are_rejected() {
        for text in [
            "ext::sh -c whoami",
            "file:///etc",
            "-uroot",
            "git.example/a",
            "https://git.example",
            "https://git.example/../a",
            "https://git.example/%2e%2e/a",
            "https://git.example/-x",
            "https://-host/a",
            "https://git.example:0/a",
            "https://git.example:+80/a",
            "https://git.example/a b",
            "https:///a",
        ] {
            assert_eq!(error(text), Some(InvalidWorkspace::UrlForm), "{text}");
        }
        assert_eq!(error("https://git.example:8443/a/b.git"), None);
        assert_eq!(error("ssh://git@git.example/~me/b"), None);
    }
}
