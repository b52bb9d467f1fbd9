//! `guildhall manifest lint`, `guildhall manifest diff` and `guildhall manifest push`.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::guildhall;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

fn manifest() -> Value {
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [{
            "name": "read_file",
            "description_i18n_key": "agent.read_file",
            "description_fallback": "Read a file",
            "input_schema": {
                "type": "object",
                "properties": { "path": { "type": "string" }, "mode": { "enum": ["text", "bytes"] } },
                "required": ["path"],
                "additionalProperties": false
            },
            "permission_scope": "filesystem:read"
        }],
        "permission_scopes": [{
            "id": "filesystem:read",
            "label_i18n_key": "scope.label",
            "description_i18n_key": "scope.description",
            "sensitivity": "medium"
        }],
        "capability_flags": {
            "supports_streaming": true,
            "supports_artifacts": true,
            "supports_voice": false,
            "supports_group_chat": false
        }
    })
}

/// A folder with the manifest and a changed one.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(edit: impl FnOnce(&mut Value)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut changed = manifest();
        edit(&mut changed);
        let files = Self { folder };
        std::fs::write(files.path("old.json"), manifest().to_string()).expect("written");
        std::fs::write(files.path("new.json"), format!("{changed:#}")).expect("written");
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = guildhall();
        command.arg("manifest").args(args).current_dir(self.folder.path());
        command.output().expect("the command runs")
    }

    fn diff(&self, more: &[&str]) -> Output {
        self.run(&[&["diff", "old.json", "new.json"], more].concat())
    }
}

fn json_of(output: &Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap_or_else(|_| panic!("{output:?}"))
}

#[test]
fn exit_code_of_manifest_diff_says_what_users_are_told() {
    type Edit = fn(&mut Value);
    let cases: [(Edit, i32, &str); 6] = [
        (|_| {}, 0, "same"),
        (|value| value["agent_version"] = json!("1.0.1"), 0, "same"),
        (|value| value["tools"] = json!([]), 0, "same"),
        (|value| value["capability_flags"]["supports_voice"] = json!(true), 10, "notify"),
        (|value| value["tools"][0]["description_fallback"] = json!("Read all files"), 20, "re-consent"),
        (
            |value| value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]),
            30,
            "contract-break",
        ),
    ];
    for (edit, code, outcome) in cases {
        let files = Files::new(edit);
        let output = files.diff(&["--json"]);
        assert_eq!((output.status.code(), json_of(&output)["outcome"].as_str()), (Some(code), Some(outcome)));
        assert_eq!((files.diff(&[]).status.code(), stderr(&output).as_str()), (Some(code), ""), "{outcome}");
    }
}

#[test]
fn manifest_diff_prints_each_change_in_the_chosen_language() {
    let files = Files::new(|value| {
        value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
        value["capability_flags"]["supports_voice"] = json!(true);
    });
    insta::assert_snapshot!(stdout(&files.diff(&[])), @r#"
    VERDICT         TOOL OR SCOPE  PLACE                             CHANGE
    contract break  read_file      /tools/0/input_schema/required/1  The field "mode" is now required.
    notify          -              /capability_flags/supports_voice  The capability "supports_voice" changed from "false" to "true".

    contract: breaking, consent: re-consent
    "#);
    let chinese = stdout(&files.diff(&["--lang", "zh-CN"]));
    assert!(chinese.contains("字段 \"mode\" 现在为必填。"), "{chinese}");
    let mut value = json_of(&files.diff(&["--json"]));
    assert_ne!(value["oldHash"].take(), value["newHash"].take());
    let expected = json!({
        "outcome": "contract-break",
        "contract": "breaking",
        "consent": "re-consent",
        "oldHash": null,
        "newHash": null,
        "scopesRequiringReauth": ["filesystem:read"],
        "toolsRequiringReauth": ["read_file"],
        "changes": [
            {
                "kind": "required-added",
                "contract": "breaking",
                "consent": "re-consent",
                "manifest": "new",
                "pointer": "/tools/0/input_schema/required/1",
                "subject": "mode",
                "before": null,
                "after": null,
                "tool": "read_file",
                "scope": "filesystem:read",
                "sentence": { "en": "The field \"mode\" is now required.", "zh-CN": "字段 \"mode\" 现在为必填。" }
            },
            {
                "kind": "flag-changed",
                "contract": "compatible",
                "consent": "notify",
                "manifest": "new",
                "pointer": "/capability_flags/supports_voice",
                "subject": "supports_voice",
                "before": "false",
                "after": "true",
                "tool": null,
                "scope": null,
                "sentence": {
                    "en": "The capability \"supports_voice\" changed from \"false\" to \"true\".",
                    "zh-CN": "能力 \"supports_voice\" 从 \"false\" 改为 \"true\"。"
                }
            }
        ]
    });
    assert_eq!(value, expected);
}

#[test]
fn manifest_lint_prints_all_errors_with_their_places() {
    let files = Files::new(|value| {
        value["tools"][0]["name"] = json!("Read");
        value["tools"][0]["input_schema"]["properties"]["path"]["type"] = json!("text");
        value["permission_scopes"][0]["sensitivity"] = json!("low");
    });
    let output = files.run(&["lint", "new.json"]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), ""));
    insta::assert_snapshot!(stdout(&output), @r#"
    SEVERITY  PLACE                                       RULE                MESSAGE
    error     /permission_scopes/0/sensitivity            preset-sensitivity  "filesystem:read" is "medium" at least: it is a preset scope
    error     /tools/0/name                               tool-name           use 2 to 32 lower-case ASCII letters, digits and `_`, with a letter first
    error     /tools/0/input_schema/properties/path/type  input-schema        "text" is not valid under any of the schemas listed in the 'anyOf' keyword

    not valid: 3 errors, 0 warnings
    "#);
    let value = json_of(&files.run(&["lint", "new.json", "--json"]));
    assert_eq!((&value["valid"], &value["hash"]), (&json!(false), &Value::Null));
    let finding = &value["findings"][0];
    assert_eq!((&finding["rule"], &finding["severity"]), (&json!("preset-sensitivity"), &json!("error")));
    let diff = files.diff(&["--json"]);
    assert_eq!(diff.status.code(), Some(1));
    assert!(stderr(&diff).contains("new.json is not a valid manifest: 3 errors"), "{}", stderr(&diff));
}

#[test]
fn manifest_lint_accepts_a_valid_manifest_with_warnings() {
    let files = Files::new(|value| value["x-own"] = json!(1));
    let output = files.run(&["lint", "old.json", "--json"]);
    assert_eq!((output.status.code(), &json_of(&output)["findings"]), (Some(0), &json!([])));
    let output = files.run(&["lint", "new.json"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("warning   /x-own") && text.contains("valid: 0 errors, 1 warning, "), "{text}");
}

#[test]
fn file_that_is_no_manifest_is_an_error() {
    let files = Files::new(|_| {});
    std::fs::write(files.path("twice.json"), r#"{"tools": [], "tools": []}"#).expect("written");
    let twice = files.run(&["lint", "twice.json"]);
    assert_eq!(twice.status.code(), Some(1));
    assert!(stdout(&twice).contains("duplicate key \"tools\""), "{}", stdout(&twice));
    std::fs::write(files.path("large.json"), " ".repeat(2 << 20)).expect("written");
    for (name, message) in [("large.json", "is no manifest"), ("missing.json", "cannot read")] {
        let output = files.run(&["lint", name]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

fn push(user: &CliUser, file: &std::path::Path, more: &[&str]) -> Output {
    let file = file.display().to_string();
    user.run(&[&["manifest", "push", &file, "--agent", "helper"], more].concat())
}

/// Returns version, outcome, and whether the agent is published.
fn pushed(output: &Output) -> Value {
    let value = json_of(output);
    json!([value["agent"]["version"], value["outcome"], value["agent"]["published"]])
}

// covers: M1
#[test]
fn manifest_push_shows_the_changes_and_makes_the_next_version() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    user.json(&["tenants", "create", "acme"]);
    user.json(&["agents", "create", "helper"]);
    let files = Files::new(|value| {
        value["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
    });
    let (old, new) = (files.path("old.json"), files.path("new.json"));
    let first = push(&user, &old, &["--json"]);
    assert_eq!((first.status.code(), pushed(&first)), (Some(0), json!([1, "same", false])), "{first:?}");
    let again = push(&user, &old, &["--json"]);
    assert_eq!((again.status.code(), pushed(&again)), (Some(0), json!([1, "same", false])), "{again:?}");

    let dry = push(&user, &new, &["--dry-run"]);
    assert_eq!(dry.status.code(), Some(30), "{dry:?}");
    assert!(stdout(&dry).contains("The field \"mode\" is now required."), "{}", stdout(&dry));
    assert!(!stdout(&dry).contains("helper: version"), "{}", stdout(&dry));
    let sent = push(&user, &new, &["--publish"]);
    assert_eq!(sent.status.code(), Some(30), "{sent:?}");
    let text = stdout(&sent);
    let (shown, made) = (text.find("contract: breaking"), text.find("helper: version 2, published, hash "));
    assert!(shown.is_some() && shown < made, "{text}");

    let shown = user.run(&["agents", "show", "helper"]);
    assert!(stdout(&shown).contains("version 2, published, "), "{}", stdout(&shown));
    let verified = user.run(&["transparency", "verify", "--entries"]);
    assert!(verified.status.success(), "{}", stderr(&verified));
    assert!(stdout(&verified).contains(" entries verified"), "{}", stdout(&verified));

    let voice = files.path("voice.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&new).expect("read")).expect("JSON");
    manifest["capability_flags"]["supports_voice"] = json!(true);
    std::fs::write(&voice, manifest.to_string()).expect("written");
    let notified = push(&user, &voice, &["--json"]);
    assert_eq!(
        (notified.status.code(), pushed(&notified)),
        (Some(10), json!([3, "notify", true])),
        "{notified:?}"
    );
    manifest["tools"][0]["name"] = json!("Read");
    std::fs::write(&voice, manifest.to_string()).expect("written");
    assert_eq!(push(&user, &voice, &[]).status.code(), Some(1), "an invalid one is not sent");
    let unknown = user.run(&["manifest", "push", &old.display().to_string(), "--agent", "nobody"]);
    assert_eq!(unknown.status.code(), Some(4), "{unknown:?}");
}
