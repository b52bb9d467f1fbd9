//! `guildhall manifest lint` and `guildhall manifest diff`.

use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::guildhall;
use crate::support::user::{stderr, stdout};

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
