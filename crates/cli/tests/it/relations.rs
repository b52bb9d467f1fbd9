//! `guildhall relations` and `guildhall agents aid`.

use serde_json::{Value, json};

use crate::support::terminal::TerminalSession;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

fn manifest(words: &str) -> Value {
    let tool = |name: &str, scope: &str, words: &str| {
        json!({
            "name": name, "description_i18n_key": "agent.tool", "description_fallback": words,
            "input_schema": { "type": "object" }, "permission_scope": scope
        })
    };
    let scope = |id: &str, sensitivity: &str| {
        json!({
            "id": id, "label_i18n_key": "label", "description_i18n_key": "description", "sensitivity": sensitivity
        })
    };
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [tool("read_file", "filesystem:read", words), tool("locate", "location:read", "Find you")],
        "permission_scopes": [scope("filesystem:read", "medium"), scope("location:read", "high")],
        "capability_flags": {
            "supports_streaming": true, "supports_artifacts": true, "supports_voice": false, "supports_group_chat": false
        }
    })
}

/// A server with a published agent, and its owner.
struct Fixture {
    _server: DevServer,
    user: CliUser,
    agent: String,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let (server, user) = (DevServer::ephemeral(), CliUser::new());
        user.login(&server);
        user.json(&["tenants", "create", "acme"]);
        let created = user.json(&["agents", "create", "helper"]);
        let agent = created["id"].as_str().expect("an id").to_owned();
        let fixture = Self { _server: server, user, agent, folder: tempfile::tempdir().expect("a folder") };
        fixture.declare("Read a file");
        fixture
    }

    fn declare(&self, words: &str) {
        let file = self.folder.path().join("manifest.json");
        std::fs::write(&file, manifest(words).to_string()).expect("written");
        let file = file.display().to_string();
        let pushed = self.user.run(&["manifest", "push", &file, "--agent", "helper", "--publish"]);
        assert!(matches!(pushed.status.code(), Some(0 | 20)), "{pushed:?}");
    }
}

#[test]
fn grant_is_listed_asked_again_and_taken_back() {
    let fixture = Fixture::new();
    let (user, agent) = (&fixture.user, fixture.agent.as_str());
    let unknown = user.run(&["relations", "grant", "nobody", "--scope", "filesystem:read", "--yes"]);
    assert_eq!(unknown.status.code(), Some(4), "{unknown:?}");
    let granted = user.json(&["relations", "grant", "helper", "--scope", "filesystem:read", "--yes"]);
    let relation = granted["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        json!([granted["granted_scopes"], granted["manifest_version"]]),
        json!([["filesystem:read"], 1])
    );
    let listed = stdout(&user.run(&["relations", "ls"]));
    assert!(
        listed.contains("helper") && listed.contains("filesystem:read") && listed.contains("active"),
        "{listed}"
    );

    fixture.declare("Read any file");
    let shown = stdout(&user.run(&["relations", "show", &relation]));
    for text in ["changed: grant again", "waiting tools   read_file"] {
        assert!(shown.contains(text), "{text} is not in {shown}");
    }
    let undeclared = user.run(&["relations", "grant", agent, "--scope", "shell:run", "--yes"]);
    assert!(!undeclared.status.success(), "{undeclared:?}");
    let both = ["--scope", "filesystem:read", "--scope", "location:read", "--yes"];
    let again = user.json(&[&["relations", "grant", agent][..], &both].concat());
    assert_eq!(json!([again["id"], again["manifest_version"]]), json!([relation, 2]));
    // What the user has typed before names the relation too.
    let ended = stdout(&user.run(&["relations", "revoke", "helper"]));
    assert!(ended.contains("took back from helper: filesystem:read,location:read"), "{ended}");
    let history = user.json(&["relations", "history", agent]);
    let kinds: Vec<&str> = history["changes"]
        .as_array()
        .expect("changes")
        .iter()
        .filter_map(|change| change["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["revoked", "reconsented", "granted"]);
    assert_eq!(user.json(&["relations", "history", &relation]), history);
    assert_eq!(user.json(&["relations", "ls"]), json!({ "relations": [] }));
}

#[test]
fn grant_on_a_terminal_asks_about_each_scope() {
    let fixture = Fixture::new();
    let (user, agent) = (&fixture.user, fixture.agent.as_str());
    let no_terminal = user.run(&["relations", "grant", agent]);
    assert_eq!(no_terminal.status.code(), Some(2), "{no_terminal:?}");
    assert!(stderr(&no_terminal).contains("name scopes with --scope"), "{}", stderr(&no_terminal));
    let mut terminal = TerminalSession::start(&user.command(&["relations", "grant", agent]));
    let shown = terminal.wait_for("Grant 1. location:read? [y/N]");
    let (high, medium) = (shown.find("[high: you are asked every time]"), shown.find("[medium: you are"));
    assert!(high.is_some() && high < medium, "{shown}");
    assert!(shown.contains("Read your location") && shown.contains("- read_file: Read a file"), "{shown}");
    terminal.type_keys("\n");
    terminal.wait_for("Grant 2. filesystem:read? [y/N]");
    terminal.type_keys("y\n");
    terminal.wait_for("Agree to exactly these scopes: filesystem:read? [y/N]");
    terminal.type_keys("y\n");
    let (code, text) = terminal.wait();
    assert_eq!(code, Some(0), "{text}");
    let listed = user.json(&["relations", "ls"]);
    assert_eq!(listed["relations"][0]["granted_scopes"], json!(["filesystem:read"]));
}
