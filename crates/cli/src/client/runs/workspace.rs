//! The `--workspace` argument: `empty`, a directory, or `copy:` or `git:` and a repository.

use anyhow::{Context, Result};
use guildhall_domain::runs::policy::WorkspaceRef;
use serde_json::{Value, json};

use crate::error::UsageError;

/// Parses the argument. The error does not repeat it: it may contain a credential.
pub(crate) fn parse(text: &str) -> Result<Value> {
    let value = to_json(text);
    let checked: Result<WorkspaceRef, _> = serde_json::from_value(value.clone());
    checked.context(UsageError(
        "invalid --workspace: expected empty, a directory on the runner's machine, copy:REPOSITORY or git:REPOSITORY#BRANCH",
    ))?;
    Ok(value)
}

fn to_json(text: &str) -> Value {
    if let Some(path) = text.strip_prefix("copy:") {
        return json!({ "kind": "copy", "path": path });
    }
    let Some(repository) = text.strip_prefix("git:") else {
        return if text == "empty" {
            json!({ "kind": "empty" })
        } else {
            json!({ "kind": "directory", "path": text })
        };
    };
    let (location, revision) = match repository.split_once('#') {
        Some((location, revision)) => (location, Some(revision)),
        None => (repository, None),
    };
    let mut value = json!({ "kind": "git" });
    value[if is_url(location) { "repoUrl" } else { "path" }] = location.into();
    if let Some(revision) = revision {
        let is_commit = matches!(revision.len(), 40 | 64) && revision.bytes().all(|b| b.is_ascii_hexdigit());
        value[if is_commit { "commitId" } else { "ref" }] = revision.into();
    }
    value
}

/// Returns whether a repository is a URL or `git@host:path`, and not a path.
fn is_url(location: &str) -> bool {
    let is_short_form =
        || location.split_once(':').is_some_and(|(host, _)| host.contains('@') && !host.contains('/'));
    location.contains("://") || is_short_form()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workspace_form_is_parsed() {
        let commit = "0123456789012345678901234567890123456789";
        let forms = [
            ("empty", json!({ "kind": "empty" })),
            ("/srv/notes", json!({ "kind": "directory", "path": "/srv/notes" })),
            ("copy:/srv/repo", json!({ "kind": "copy", "path": "/srv/repo" })),
            ("git:https://example.com/a/b", json!({ "kind": "git", "repoUrl": "https://example.com/a/b" })),
            (
                "git:git@example.com:a/b#main",
                json!({ "kind": "git", "repoUrl": "git@example.com:a/b", "ref": "main" }),
            ),
            ("git:/srv/a@b:c", json!({ "kind": "git", "path": "/srv/a@b:c" })),
            ("git:/srv/repo#main", json!({ "kind": "git", "path": "/srv/repo", "ref": "main" })),
            (
                &format!("git:/srv/repo#{commit}"),
                json!({ "kind": "git", "path": "/srv/repo", "commitId": commit }),
            ),
        ];
        for (text, expected) in forms {
            assert_eq!(parse(text).expect(text), expected);
        }
    }

    #[test]
    fn invalid_workspace_is_rejected_and_not_repeated() {
        for text in [
            "git:https://me:hunter2@example.com/a",
            "git:hunter2://x",
            "/a/../hunter2",
            "git:/a#..hunter2",
            "",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.is::<UsageError>() && !format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
