use std::time::Duration;

use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use secrecy::ExposeSecret;
use tempfile::TempDir;

use super::*;

/// Profiles in a folder that goes with this value.
struct Shelf(TempDir);

impl Shelf {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, slug: &str, name: &str, text: &str, mode: u32) {
        let folder = self.0.path().join(slug);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(name), text).expect("written");
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(mode)).expect("set");
    }

    fn backends(&self) -> Backends {
        Backends { profiles: Some(self.0.path().to_owned()), codex: Some("/usr/bin/codex".into()) }
    }

    fn refused(&self, slug: &str) -> (FailureKind, String) {
        let error = self.backends().choose(slug).expect_err("there is none");
        (error.kind(), error.to_string())
    }
}

fn setting() -> Setting {
    Setting {
        workspace: PathBuf::new(),
        state: PathBuf::new(),
        sandbox: Sandbox::ReadOnly,
        approval: Approval::Never,
        network: Network::Disabled,
        secrets: Vec::new(),
        turn_timeout: Duration::from_secs(1),
        out_of_reach: crate::child::OutOfReach::default(),
        tool_calls_at_most: 1,
    }
}

fn name_of(chosen: Chosen) -> &'static str {
    chosen.make(setting()).capabilities().name
}

#[test]
fn a_profile_has_its_own_backend_and_credential() {
    let shelf = Shelf::new();
    shelf.put("mine", "profile.toml", "backend = \"codex\"\nenv_key = \"MY_KEY\"", 0o600);
    shelf.put("mine", "credential", "sk-canary\n", 0o600);
    let chosen = shelf.backends().choose("mine").expect("it is there");
    let secrets = chosen.secrets();
    assert_eq!(secrets.len(), 1);
    assert_eq!((secrets[0].0.as_str(), secrets[0].1.expose_secret()), ("MY_KEY", "sk-canary"));
    assert!(!format!("{chosen:?}").contains("canary"));
    assert_eq!(name_of(chosen), "codex");
}

#[test]
fn the_demonstration_needs_no_folder_and_everything_else_does() {
    let demo = Backends::default().choose("demo").expect("built in");
    assert!(demo.secrets().is_empty());
    assert_eq!(name_of(demo), "script");
    for slug in ["codex", "deepseek", "mine"] {
        let error = Backends::default().choose(slug).expect_err("nothing takes its place");
        assert_eq!(error.kind(), FailureKind::SecretUnavailable, "{slug}");
    }
}

#[test]
fn a_broken_profile_is_an_error_and_no_other_takes_its_place() {
    let shelf = Shelf::new();
    shelf.put("demo", "profile.toml", "backend = \"sk-canary\"", 0o600);
    assert_eq!(
        shelf.refused("demo"),
        (
            FailureKind::InfraFailed,
            "the profile `demo` is broken: line 1 of the profile cannot be read".to_owned()
        )
    );
    shelf.put("bare", "credential", "sk-canary", 0o600);
    assert_eq!(
        shelf.refused("bare"),
        (FailureKind::InfraFailed, "the profile `bare` cannot be read: entity not found".to_owned())
    );
    for slug in ["../mine", "", "a/b", "."] {
        assert_eq!(shelf.refused(slug).0, FailureKind::InfraFailed, "{slug}");
    }
}

#[test]
fn a_credential_that_cannot_be_one_is_refused_and_not_told() {
    for (text, mode) in
        [("", 0o600), ("sk-canary\nsk-other", 0o600), ("sk-canary", 0o644), (&"c".repeat(20_000), 0o600)]
    {
        let shelf = Shelf::new();
        shelf.put("mine", "profile.toml", "backend = \"codex\"", 0o600);
        shelf.put("mine", "credential", text, mode);
        let (kind, words) = shelf.refused("mine");
        assert_eq!(kind, FailureKind::SecretUnavailable, "{words}");
        assert!(!words.contains("canary") && !words.contains("ccc"), "{words}");
    }
}

#[test]
fn an_agent_of_the_protocol_is_chosen_by_its_program_which_must_be_there() {
    let shelf = Shelf::new();
    shelf.put("mine", "profile.toml", "backend = \"acp\"\ncommand = [\"sh\", \"-c\", \"true\"]", 0o600);
    assert_eq!(name_of(shelf.backends().choose("mine").expect("a shell is everywhere")), "acp");
    for program in ["no-such-agent-here", "/nonexistent/agent"] {
        shelf.put("mine", "profile.toml", &format!("backend = \"acp\"\ncommand = [\"{program}\"]"), 0o600);
        let expected = "the program of the profile `mine` is not on this machine".to_owned();
        assert_eq!(shelf.refused("mine"), (FailureKind::InfraFailed, expected));
    }
}
