//! Setup of a project: prepares the workspace of a run before its agent starts.

use serde::{Deserialize, Serialize};
use url::Host;

/// A shell command, the hosts that it may reach, and the files that make the key of its cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "UncheckedSetup")]
pub struct ProjectSetup {
    command: String,
    allowed_hosts: Vec<String>,
    cache_files: Vec<String>,
}

/// An invalid setup. The value is not repeated, because it may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProjectSetupError {
    #[error(
        "command: use 1 to {} bytes, not only white space, and no control characters except tabs and line breaks",
        ProjectSetup::MAX_COMMAND_BYTES
    )]
    Command,
    #[error("allowedHosts: at most {} hosts", ProjectSetup::MAX_HOSTS)]
    TooManyHosts,
    #[error(
        "allowedHosts[{index}]: use a host in lower case, such as `packages.example.com`, `*.example.com` or \
         `packages.example.com:8443`, of at most {} characters",
        ProjectSetup::MAX_HOST_LENGTH
    )]
    Host { index: usize },
    #[error("cacheFiles: at most {} files", ProjectSetup::MAX_CACHE_FILES)]
    TooManyCacheFiles,
    #[error(
        "cacheFiles[{index}]: use a relative path such as `web/package-lock.json`, of at most {} bytes, without `.`, \
         `..`, empty parts and control characters",
        ProjectSetup::MAX_CACHE_FILE_BYTES
    )]
    CacheFile { index: usize },
}

impl ProjectSetup {
    /// A longer setup is a script in the repository.
    pub const MAX_COMMAND_BYTES: usize = 4096;
    pub const MAX_HOSTS: usize = 32;
    /// The longest name in DNS.
    pub const MAX_HOST_LENGTH: usize = 253;
    pub const MAX_CACHE_FILES: usize = 16;
    pub const MAX_CACHE_FILE_BYTES: usize = 256;

    pub fn new(
        command: String,
        allowed_hosts: Vec<String>,
        cache_files: Vec<String>,
    ) -> Result<Self, ProjectSetupError> {
        if !is_command(&command) {
            return Err(ProjectSetupError::Command);
        }
        if allowed_hosts.len() > Self::MAX_HOSTS {
            return Err(ProjectSetupError::TooManyHosts);
        }
        if let Some(index) = allowed_hosts.iter().position(|host| !is_host_pattern(host)) {
            return Err(ProjectSetupError::Host { index });
        }
        if cache_files.len() > Self::MAX_CACHE_FILES {
            return Err(ProjectSetupError::TooManyCacheFiles);
        }
        if let Some(index) = cache_files.iter().position(|file| !is_cache_file(file)) {
            return Err(ProjectSetupError::CacheFile { index });
        }
        Ok(Self { command, allowed_hosts, cache_files })
    }

    /// Parses a stored setup.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the setup as it is stored: at most 32 KiB, because no allowed character needs more than two bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Returns the hosts, as patterns of the runner: `example.com`, `*.example.com` or `example.com:8443`.
    #[must_use]
    pub fn allowed_hosts(&self) -> &[String] {
        &self.allowed_hosts
    }

    /// Returns the files, as paths relative to the workspace.
    #[must_use]
    pub fn cache_files(&self) -> &[String] {
        &self.cache_files
    }
}

/// The fields of a setup before they are checked.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UncheckedSetup {
    command: String,
    allowed_hosts: Vec<String>,
    cache_files: Vec<String>,
}

impl TryFrom<UncheckedSetup> for ProjectSetup {
    type Error = ProjectSetupError;

    fn try_from(setup: UncheckedSetup) -> Result<Self, ProjectSetupError> {
        Self::new(setup.command, setup.allowed_hosts, setup.cache_files)
    }
}

fn is_command(text: &str) -> bool {
    let is_allowed = |c: char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    text.len() <= ProjectSetup::MAX_COMMAND_BYTES && !text.trim().is_empty() && text.chars().all(is_allowed)
}

/// Accepts the host patterns of the runner in their normal form.
fn is_host_pattern(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_valid_host = match host.strip_prefix("*.") {
        Some(parent) => matches!(parse_host(parent), Some(Host::Domain(_))),
        None => parse_host(host).is_some(),
    };
    text.len() <= ProjectSetup::MAX_HOST_LENGTH && is_valid_host && port.is_none_or(is_port)
}

/// Parses a name or IPv4 address that is written as the runner compares it.
fn parse_host(text: &str) -> Option<Host<String>> {
    let is_label_byte = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let has_valid_labels = text.split('.').all(|label| !label.is_empty() && label.bytes().all(is_label_byte));
    let host = Host::parse(text).ok()?;
    (has_valid_labels && host.to_string() == text).then_some(host)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_cache_file(path: &str) -> bool {
    let is_part = |part: &str| !matches!(part, "" | "." | "..");
    path.len() <= ProjectSetup::MAX_CACHE_FILE_BYTES
        && path.split('/').all(is_part)
        && !path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Checks a setup that is valid except for what the test passes.
    fn check(command: &str, hosts: &[&str], files: &[&str]) -> Result<(), ProjectSetupError> {
        let texts = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
        ProjectSetup::new(command.to_owned(), texts(hosts), texts(files)).map(drop)
    }

    #[test]
    fn command_has_text_within_its_length() {
        for valid in ["npm ci", "set -e\n\tmake deps\r\n", " é ", &"x".repeat(4096)] {
            assert_eq!(check(valid, &[], &[]), Ok(()), "{valid:?}");
        }
        for invalid in ["", " \n\t", "a\0b", "a\u{1b}[2J", "a\u{85}", &"x".repeat(4097), &"é".repeat(2049)] {
            assert_eq!(check(invalid, &[], &[]), Err(ProjectSetupError::Command), "{invalid:?}");
        }
    }

    #[test]
    fn hosts_are_patterns_of_the_runner_in_lower_case() {
        let longest = format!("{}example.com", "a.".repeat(121));
        for valid in [
            "packages.example.com",
            "localhost",
            "*.example.com",
            "*.com",
            "-a.b-.example.com",
            "xn--bcher-kva.example",
            "packages.example.com:8443",
            "*.example.com:1",
            "192.0.2.7",
            "192.0.2.7:65535",
            &longest,
        ] {
            assert_eq!(check("x", &[valid], &[]), Ok(()), "{valid}");
        }
        let too_long = format!("a{longest}");
        for invalid in [
            "",
            "*",
            "*.",
            "*.*.com",
            "a.*.com",
            "*a.com",
            ".a.com",
            "a.com.",
            "a..com",
            "Example.com",
            "bücher.example",
            "a_b.example.com",
            "xn--a.example",
            "example.123",
            "1.2.3",
            "0x7f.0.0.1",
            "*.192.0.2.7",
            "[::1]",
            "::1",
            "a.com:",
            "a.com:0",
            "a.com:+1",
            "a.com:70000",
            "a.com:1:2",
            "a b",
            "a\0b",
            "https://a.com",
            "a.com/x",
            "u@a.com",
            &too_long,
        ] {
            let error = ProjectSetupError::Host { index: 1 };
            assert_eq!(check("x", &["example.com", invalid], &[]), Err(error), "{invalid}");
        }
    }

    #[test]
    fn cache_files_are_paths_below_the_workspace() {
        for valid in ["package-lock.json", "web/package lock.json", ".npmrc", "a/...", &"x".repeat(256)] {
            assert_eq!(check("x", &[], &[valid]), Ok(()), "{valid}");
        }
        for invalid in [
            "",
            "/etc/passwd",
            "a/",
            "a//b",
            ".",
            "..",
            "../a",
            "a/../b",
            "./a",
            "a\0",
            "a\n",
            &"x".repeat(257),
        ] {
            let error = ProjectSetupError::CacheFile { index: 0 };
            assert_eq!(check("x", &[], &[invalid, "b"]), Err(error), "{invalid:?}");
        }
    }

    #[test]
    fn lists_have_a_maximum_length() {
        assert_eq!(check("x", &["a"; 32], &["a"; 16]), Ok(()));
        assert_eq!(check("x", &["a"; 33], &[]), Err(ProjectSetupError::TooManyHosts));
        assert_eq!(check("x", &[], &["a"; 17]), Err(ProjectSetupError::TooManyCacheFiles));
    }

    #[test]
    fn each_error_starts_with_the_name_of_its_field() {
        for (error, field) in [
            (check("", &[], &[]), "command: "),
            (check("x", &["a"; 33], &[]), "allowedHosts: "),
            (check("x", &["*"], &[]), "allowedHosts[0]: "),
            (check("x", &[], &["a"; 17]), "cacheFiles: "),
            (check("x", &[], &["/"]), "cacheFiles[0]: "),
        ] {
            let message = error.expect_err("an error").to_string();
            assert!(message.starts_with(field), "{message}");
        }
    }

    #[test]
    fn largest_setup_fits_into_its_column() {
        let host = format!("{}example.com", "a.".repeat(121));
        let (command, file) = ("\"".repeat(4096), "\\".repeat(256));
        let largest = ProjectSetup::new(command, vec![host; 32], vec![file; 16]).expect("valid");
        assert!(largest.to_json().len() <= 32768, "{} bytes", largest.to_json().len());
    }

    #[test]
    fn stored_setup_is_checked_when_it_is_read() {
        let text = r#"{"allowedHosts":["packages.example.com"],"cacheFiles":["package-lock.json"],"command":"npm ci"}"#;
        let expected = ProjectSetup {
            command: "npm ci".to_owned(),
            allowed_hosts: vec!["packages.example.com".to_owned()],
            cache_files: vec!["package-lock.json".to_owned()],
        };
        let read = ProjectSetup::from_json(text).expect("a setup");
        assert_eq!((&read, read.to_json().as_str()), (&expected, text));
        for unreadable in [
            "",
            "null",
            "{}",
            r#"{"command":" ","allowedHosts":[],"cacheFiles":[]}"#,
            r#"{"command":"x","allowedHosts":["*"],"cacheFiles":[]}"#,
            r#"{"command":"x","allowedHosts":[],"cacheFiles":["../x"]}"#,
            r#"{"command":"x","allowedHosts":[],"cacheFiles":[],"ofANewerVersion":1}"#,
        ] {
            assert!(ProjectSetup::from_json(unreadable).is_err(), "{unreadable}");
        }
    }

    proptest! {
        #[test]
        fn accepted_setup_round_trips_through_json(
            command in r#"[ -~\t\n\ré€"\\]{1,40}"#,
            hosts in vec(r"(\*\.)?[a-z0-9-]{1,8}(\.[a-z0-9-]{1,4}){0,2}(:[0-9]{1,4})?", 0..4),
            files in vec(r"[a-z._ é-]{1,8}(/[a-z.]{1,4})?", 0..4),
        ) {
            if let Ok(setup) = ProjectSetup::new(command, hosts, files) {
                prop_assert_eq!(ProjectSetup::from_json(&setup.to_json()).expect("readable"), setup);
            }
        }
    }
}
