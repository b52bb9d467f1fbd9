use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::*;
use crate::backend::test_config::test_config;

/// A temporary directory of profiles.
struct ProfileDir(TempDir);

impl ProfileDir {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("temporary directory"))
    }

    fn write(&self, slug: &str, name: &str, text: &str, mode: u32) {
        let dir = self.0.path().join(slug);
        fs::create_dir_all(&dir).expect("create directory");
        fs::write(dir.join(name), text).expect("write file");
        fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).expect("set permissions");
    }

    fn catalog(&self) -> BackendCatalog {
        BackendCatalog { profiles: Some(self.0.path().to_owned()), codex: Some("/usr/bin/codex".into()) }
    }

    fn select_error(&self, slug: &str) -> (FailureKind, String) {
        let error = self.catalog().select(slug).expect_err("selection fails");
        (error.kind(), error.to_string())
    }
}

fn backend_name(selected: SelectedBackend) -> &'static str {
    selected.build(test_config(Path::new(""), "KEY")).capabilities().name
}

#[test]
fn profile_selects_its_backend_and_credential() {
    let profiles = ProfileDir::new();
    profiles.write("mine", "profile.toml", "backend = \"codex\"\nenv_key = \"MY_KEY\"", 0o600);
    profiles.write("mine", "credential", "sk-canary\n", 0o600);
    let selected = profiles.catalog().select("mine").expect("select");
    let secrets = selected.secrets();
    assert_eq!(secrets.len(), 1);
    assert_eq!((secrets[0].0.as_str(), secrets[0].1.expose_secret()), ("MY_KEY", "sk-canary"));
    assert!(!format!("{selected:?}").contains("canary"));
    assert_eq!(backend_name(selected), "codex");
}

#[test]
fn only_the_demo_profile_needs_no_directory() {
    let demo = BackendCatalog::default().select("demo").expect("built in");
    assert!(demo.secrets().is_empty());
    assert_eq!(backend_name(demo), "script");
    for slug in ["codex", "deepseek", "mine"] {
        let error = BackendCatalog::default().select(slug).expect_err("no fallback");
        assert_eq!(error.kind(), FailureKind::SecretUnavailable, "{slug}");
    }
}

#[test]
fn invalid_profile_is_an_error_without_fallback() {
    let profiles = ProfileDir::new();
    profiles.write("demo", "profile.toml", "backend = \"sk-canary\"", 0o600);
    let expected = format!("the profile `demo` is invalid: {}", ProfileError::Line(1));
    assert_eq!(profiles.select_error("demo"), (FailureKind::InfraFailed, expected));
    profiles.write("bare", "credential", "sk-canary", 0o600);
    assert_eq!(
        profiles.select_error("bare"),
        (FailureKind::InfraFailed, "cannot read the profile `bare`: entity not found".to_owned())
    );
    for slug in ["../mine", "", "a/b", "."] {
        assert_eq!(profiles.select_error(slug).0, FailureKind::InfraFailed, "{slug}");
    }
}

#[test]
fn invalid_credential_is_rejected_and_not_shown() {
    for (text, mode) in
        [("", 0o600), ("sk-canary\nsk-other", 0o600), ("sk-canary", 0o644), (&"c".repeat(20_000), 0o600)]
    {
        let profiles = ProfileDir::new();
        profiles.write("mine", "profile.toml", "backend = \"codex\"", 0o600);
        profiles.write("mine", "credential", text, mode);
        let (kind, message) = profiles.select_error("mine");
        assert_eq!(kind, FailureKind::SecretUnavailable, "{message}");
        assert!(!message.contains("canary") && !message.contains("ccc"), "{message}");
    }
}

#[test]
fn acp_profile_needs_an_installed_program() {
    let profiles = ProfileDir::new();
    profiles.write("mine", "profile.toml", "backend = \"acp\"\ncommand = [\"sh\", \"-c\", \"true\"]", 0o600);
    assert_eq!(backend_name(profiles.catalog().select("mine").expect("sh is installed")), "acp");
    for (program, name) in [("no-such-agent-here", "no-such-agent-here"), ("/nonexistent/agent", "agent")] {
        let text = format!("backend = \"acp\"\ncommand = [\"{program}\"]");
        profiles.write("mine", "profile.toml", &text, 0o600);
        let expected = format!(
            "`{name}`, the agent of the profile `mine`, is not installed on the runner's machine: install it there, in \
             a directory of the PATH"
        );
        assert_eq!(profiles.select_error("mine"), (FailureKind::InfraFailed, expected));
    }
}
