//! A workspace as it is written on a command line: `empty`, a folder, or `git:` and a repository.

use anyhow::{Context, Result};
use guildhall_domain::runs::policy::WorkspaceRef;
use serde_json::{Value, json};

use crate::failure::Usage;

/// Reads a workspace. What was written is not repeated in the failure: it may hold a credential.
pub(super) fn read(text: &str) -> Result<Value> {
    let value = value(text);
    let checked: Result<WorkspaceRef, _> = serde_json::from_value(value.clone());
    checked
        .context(Usage("--workspace: use empty, a folder of the runner's machine, or git:ADDRESS#BRANCH"))?;
    Ok(value)
}

fn value(text: &str) -> Value {
    let Some(repository) = text.strip_prefix("git:") else {
        return if text == "empty" {
            json!({ "kind": "empty" })
        } else {
            json!({ "kind": "directory", "path": text })
        };
    };
    let (place, point) = match repository.split_once('#') {
        Some((place, point)) => (place, Some(point)),
        None => (repository, None),
    };
    let mut value = json!({ "kind": "git" });
    value[if place.contains("://") { "repoUrl" } else { "path" }] = place.into();
    if let Some(point) = point {
        let is_commit = matches!(point.len(), 40 | 64) && point.bytes().all(|b| b.is_ascii_hexdigit());
        value[if is_commit { "commitId" } else { "ref" }] = point.into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_told_apart() {
        let commit = "0123456789012345678901234567890123456789";
        let forms = [
            ("empty", json!({ "kind": "empty" })),
            ("/srv/notes", json!({ "kind": "directory", "path": "/srv/notes" })),
            ("git:https://example.com/a/b", json!({ "kind": "git", "repoUrl": "https://example.com/a/b" })),
            ("git:/srv/repo#main", json!({ "kind": "git", "path": "/srv/repo", "ref": "main" })),
            (
                &format!("git:/srv/repo#{commit}"),
                json!({ "kind": "git", "path": "/srv/repo", "commitId": commit }),
            ),
        ];
        for (text, expected) in forms {
            assert_eq!(read(text).expect(text), expected);
        }
    }

    #[test]
    fn what_no_server_takes_is_refused_here_and_not_repeated() {
        for text in [
            "git:https://me:hunter2@example.com/a",
            "git:hunter2://x",
            "/a/../hunter2",
            "git:/a#..hunter2",
            "",
        ] {
            let error = read(text).expect_err(text);
            assert!(error.is::<Usage>() && !format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
