//! Repository URLs.

use super::InvalidWorkspace;
use crate::redact::redact;

pub(super) const SCHEMES: &str = "https, http, ssh or git";

const MAX_LENGTH: usize = 1024;

const SSH_PORT: u16 = 22;

/// The user of an SSH URL that names none. Git hosts use this one.
const DEFAULT_SSH_USER: &str = "git";

/// A repository URL without credentials, or `USER@HOST:PATH` for SSH. Other URL forms of Git are rejected, because some
/// of them run programs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoUrl(String);

/// A repository that is fetched by SSH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshRepository {
    pub user: String,
    pub host: String,
    pub port: u16,
    /// As the host gets it: `/team/web.git`, or `team/web.git` and `~me/web.git` for paths below a home.
    pub path: String,
}

impl RepoUrl {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns where the repository is, if it is fetched by SSH.
    #[must_use]
    pub fn ssh(&self) -> Option<SshRepository> {
        let (user, host, port, path) = match self.0.split_once("://") {
            Some(("ssh", rest)) => {
                let (authority, path) = rest.split_once('/')?;
                let (user, host) = authority.rsplit_once('@').unwrap_or((DEFAULT_SSH_USER, authority));
                let (host, port) = match host.rsplit_once(':') {
                    Some((host, port)) => (host, port.parse().ok()?),
                    None => (host, SSH_PORT),
                };
                let path = if path.starts_with('~') { path.to_owned() } else { format!("/{path}") };
                (user, host, port, path)
            }
            Some(_) => return None,
            None => {
                let (user, host, path) = split_short_form(&self.0)?;
                (user, host, SSH_PORT, path.to_owned())
            }
        };
        Some(SshRepository { user: user.to_owned(), host: host.to_owned(), port, path })
    }
}

/// Splits `USER@HOST:PATH`.
fn split_short_form(text: &str) -> Option<(&str, &str, &str)> {
    let (authority, path) = text.split_once(':')?;
    let (user, host) = authority.split_once('@')?;
    Some((user, host, path))
}

impl TryFrom<String> for RepoUrl {
    type Error = InvalidWorkspace;

    fn try_from(text: String) -> Result<Self, InvalidWorkspace> {
        if text.len() > MAX_LENGTH {
            return Err(InvalidWorkspace::UrlForm);
        }
        let (host, path) = match text.split_once("://") {
            Some((scheme, rest)) => {
                let (authority, path) = rest.split_once('/').ok_or(InvalidWorkspace::UrlForm)?;
                (host_of(scheme, authority)?, path)
            }
            None => {
                let (user, host, path) = split_short_form(&text).ok_or(InvalidWorkspace::UrlForm)?;
                let authority = &text[..user.len() + 1 + host.len()];
                (host_of("ssh", authority)?, path.strip_prefix('/').unwrap_or(path))
            }
        };
        // Queries can contain tokens.
        if path.contains(['?', '#', '@']) || !redact(&text).found.is_empty() {
            return Err(InvalidWorkspace::UrlCredential);
        }
        if is_host(host) && is_path(path) { Ok(Self(text)) } else { Err(InvalidWorkspace::UrlForm) }
    }
}

/// Returns the host of an authority, with its port.
fn host_of<'a>(scheme: &str, authority: &'a str) -> Result<&'a str, InvalidWorkspace> {
    match (scheme, authority.rsplit_once('@')) {
        ("https" | "http" | "ssh" | "git", None) => Ok(authority),
        // A user name such as `git@`; anything else in that position could be a token.
        ("ssh", Some((user, host))) if is_user_name(user) => Ok(host),
        (_, Some(_)) => Err(InvalidWorkspace::UrlCredential),
        (_, None) => Err(InvalidWorkspace::UrlForm),
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
    use proptest::prelude::*;

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
            "x-access-token9@git.example:a",
            "git@git.example:a?private_token=abc",
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
            "git.example:a",
            "git:pw@git.example:a",
            "git@git.example",
            "git@git.example:",
            "git@git.example:../a",
            "git@git.example:a//b",
            "git@git.example:-a",
            "git@git.example:a'b",
            "git@git.example:a;b",
            "git@-oProxyCommand=x:a",
            "git@[::1]:a",
            "git@host/x:a",
        ] {
            assert_eq!(error(text), Some(InvalidWorkspace::UrlForm), "{text}");
        }
        assert_eq!(error("https://git.example:8443/a/b.git"), None);
        assert_eq!(error("ssh://git@git.example/~me/b"), None);
    }

    #[test]
    fn ssh_forms_name_user_host_port_and_path() {
        let parse = |text: &str| {
            let url = RepoUrl::try_from(text.to_owned()).expect(text);
            url.ssh().map(|found| (found.user, found.host, found.port, found.path))
        };
        let found = |user: &str, port, path: &str| {
            Some((user.to_owned(), "git.example".to_owned(), port, path.to_owned()))
        };
        assert_eq!(parse("ssh://git@git.example/team/web.git"), found("git", 22, "/team/web.git"));
        assert_eq!(parse("ssh://git.example:2222/web"), found("git", 2222, "/web"));
        assert_eq!(parse("ssh://me@git.example/~me/web"), found("me", 22, "~me/web"));
        assert_eq!(parse("git@git.example:team/web.git"), found("git", 22, "team/web.git"));
        assert_eq!(parse("git@git.example:/srv/web.git"), found("git", 22, "/srv/web.git"));
        // Not a port, as in git.
        assert_eq!(parse("git@git.example:2222/web"), found("git", 22, "2222/web"));
        assert_eq!(parse("https://git.example/web"), None);
    }

    proptest! {
        /// The path is an argument of a shell on the host, and the others are arguments of ssh.
        #[test]
        fn parts_of_ssh_urls_need_no_quoting(text in r"(ssh://)?[a-z@:/'$`; ~.-]{0,30}|(ssh://)?git@h[a-z.]{0,3}[:/]{1,2}.{0,20}") {
            let Ok(url) = RepoUrl::try_from(text) else { return Ok(()) };
            let Some(found) = url.ssh() else { return Ok(()) };
            let is_plain = |text: &str| {
                !text.is_empty()
                    && !text.starts_with('-')
                    && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._~+/-".contains(&b))
            };
            prop_assert!(is_plain(&found.user) && is_plain(&found.host) && is_plain(&found.path), "{found:?}");
            prop_assert!(found.path.split('/').all(|part| part != ".."), "{found:?}");
        }
    }
}
