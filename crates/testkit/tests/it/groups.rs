//! The layers have the same feature groups, in directories of the same names.

use std::collections::BTreeSet;
use std::path::Path;

use crate::modules::source::workspace;

/// The feature groups: the table of `docs/ARCHITECTURE.md`.
const GROUPS: &[&str] = &[
    "access",
    "agents",
    "approvals",
    "front",
    "identity",
    "journal",
    "messages",
    "ops",
    "profiles",
    "relations",
    "retention",
    "runners",
    "runs",
    "sessions",
    "webhooks",
];

/// A layer, and its directories that are no groups.
struct Layer {
    folder: &'static str,
    others: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    // Removes secrets from what any group stores.
    Layer { folder: "crates/domain/src", others: &["redact"] },
    Layer { folder: "crates/protocol/src/rest", others: &[] },
    // Steps on a run that any group may call.
    Layer { folder: "crates/service/src", others: &["run_steps"] },
    Layer { folder: "crates/api/src/http", others: &[] },
    // A program on a user's device: the server has no part of it.
    Layer { folder: "crates/cli/src/client", others: &["guard"] },
];

/// Layers that have every group.
const COMPLETE: &[&str] = &["crates/domain/src", "crates/service/src"];

fn folders(parent: &Path) -> BTreeSet<String> {
    let entries =
        std::fs::read_dir(parent).expect("a layer can be listed").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Returns a message for each directory that is no group, and for each group that a complete layer lacks.
fn group_faults(layer: &Layer, found: &BTreeSet<String>) -> Vec<String> {
    let Layer { folder, others } = layer;
    let is_known = |name: &str| GROUPS.contains(&name) || others.contains(&name);
    let unknown = found.iter().filter(|name| !is_known(name)).map(|name| {
        format!("{folder}/{name} is no feature group: move it into the group of its noun, or add the group to every layer")
    });
    let needed = GROUPS.iter().filter(|_| COMPLETE.contains(folder)).chain(*others);
    let missing = needed.filter(|name| !found.contains(**name));
    unknown.chain(missing.map(|name| format!("{folder}/{name} does not exist"))).collect()
}

#[test]
fn directories_of_the_layers_are_feature_groups() {
    let root = workspace();
    let faults = LAYERS.iter().flat_map(|layer| group_faults(layer, &folders(&root.join(layer.folder))));
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn groups_are_rows_of_the_architecture_table() {
    let document = std::fs::read_to_string(workspace().join("docs/ARCHITECTURE.md")).expect("the document");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let rows: BTreeSet<&str> = rows.map(|(name, _)| name).collect();
    let missing: Vec<_> = GROUPS.iter().filter(|group| !rows.contains(**group)).collect();
    assert!(missing.is_empty(), "groups without a row in docs/ARCHITECTURE.md: {missing:?}");
}

#[test]
fn directory_that_is_no_group_is_reported() {
    let layer = Layer { folder: "crates/cli/src/client", others: &["guard"] };
    let found = ["automations", "runs"].map(str::to_owned).into();
    let expected = [
        "crates/cli/src/client/automations is no feature group: move it into the group of its noun, or add the group \
         to every layer",
        "crates/cli/src/client/guard does not exist",
    ];
    assert_eq!(group_faults(&layer, &found), expected);
}
