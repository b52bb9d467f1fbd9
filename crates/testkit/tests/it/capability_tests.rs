//! Each capability tag has a test of its behaviour: `// exercises: TAG, TAG` above the test names it.

use std::collections::BTreeSet;
use std::path::Path;

use guildhall_domain::ops::capability::REGISTRY;

use crate::authority::source_files;

const MARK: &str = "// exercises:";

/// Adds the tags that the tests of a file name. A comment that is not above a test counts for nothing.
fn add_exercised_tags(source: &str, found: &mut BTreeSet<String>) {
    let mut pending: Vec<&str> = Vec::new();
    for line in source.lines().map(str::trim) {
        if let Some(tags) = line.strip_prefix(MARK) {
            pending.extend(tags.split(',').map(str::trim));
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            found.extend(pending.drain(..).map(str::to_owned));
        } else if !line.starts_with("//") && !line.starts_with("#[") {
            pending.clear();
        }
    }
}

fn registered_tags() -> BTreeSet<String> {
    REGISTRY.registered().iter().map(|capability| capability.tag.to_owned()).collect()
}

// covers: C4
#[test]
fn each_registered_tag_is_exercised_by_a_test() {
    let mut found = BTreeSet::new();
    for folder in ["crates/server/tests", "crates/cli/tests"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        for file in source_files(&root) {
            add_exercised_tags(&std::fs::read_to_string(file).expect("a source file"), &mut found);
        }
    }
    assert_eq!(found, registered_tags(), "left: tags that tests exercise; right: registered tags");
}

#[test]
fn tag_counts_only_above_a_test() {
    let source = "
        // exercises: first, second
        // covers: C4
        #[tokio::test(flavor = \"multi_thread\")]
        async fn a() {}
        // exercises: third
        fn helper() {}
        #[test]
        fn b() {}
        // exercises: fourth";
    let mut found = BTreeSet::new();
    add_exercised_tags(source, &mut found);
    assert_eq!(found, BTreeSet::from(["first".to_owned(), "second".to_owned()]));
}

/// The tags of the session API with the route of each.
const SESSION_ROUTES: &[(&str, &str, &str)] = &[
    ("session_create", "post", "/session"),
    ("session_scope_override", "post", "/session"),
    ("session_load", "post", "/session/{}/load"),
    ("session_resume", "post", "/session/{}/resume"),
    ("unstable_session_resume", "post", "/session/{}/resume"),
    ("session_list", "get", "/workspace/{}/sessions"),
    ("session_prompt", "post", "/session/{}/prompt"),
    ("session_cancel", "post", "/session/{}/cancel"),
    ("session_events", "get", "/session/{}/events"),
    ("session_set_model", "post", "/session/{}/model"),
    ("session_close", "delete", "/session/{}"),
    ("session_metadata", "patch", "/session/{}/metadata"),
    ("session_context", "get", "/session/{}/context"),
    ("session_context_usage", "get", "/session/{}/context-usage"),
    ("session_supported_commands", "get", "/session/{}/supported-commands"),
    ("session_tasks", "get", "/session/{}/tasks"),
    ("session_stats", "get", "/session/{}/stats"),
    ("session_lsp", "get", "/session/{}/lsp"),
    ("session_hooks", "get", "/session/{}/hooks"),
    ("session_approval_mode_control", "post", "/session/{}/approval-mode"),
    ("session_recap", "post", "/session/{}/recap"),
    ("session_btw", "post", "/session/{}/btw"),
    ("session_shell_command", "post", "/session/{}/shell"),
    ("session_language", "post", "/session/{}/language"),
    ("session_rewind", "post", "/session/{}/rewind"),
    ("session_branch", "post", "/session/{}/branch"),
    ("client_heartbeat", "post", "/session/{}/heartbeat"),
    ("client_identity", "post", "/session/{}/heartbeat"),
    ("session_permission_vote", "post", "/session/{}/permission/{}"),
    ("permission_vote", "post", "/permission/{}"),
    ("non_blocking_prompt", "post", "/session/{}/prompt"),
    ("prompt_absolute_deadline", "post", "/session/{}/prompt"),
];

/// Replaces the parameter names of a path by `{}`.
fn without_names(path: &str) -> String {
    let segment = |segment: &str| if segment.starts_with('{') { "{}".to_owned() } else { segment.to_owned() };
    path.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[test]
fn session_tag_is_registered_only_with_its_route() {
    let openapi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/openapi.json");
    let openapi = std::fs::read_to_string(openapi).expect("schemas/openapi.json");
    let openapi: serde_json::Value = serde_json::from_str(&openapi).expect("JSON");
    let mut served = BTreeSet::new();
    for (path, methods) in openapi["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            served.insert((method.clone(), without_names(path)));
        }
    }
    assert!(served.contains(&("get".to_owned(), "/api/v1/runs/{}".to_owned())), "{served:?}");
    for tag in registered_tags() {
        let route = SESSION_ROUTES.iter().find(|(known, _, _)| *known == tag);
        assert!(!tag.contains("session_") || route.is_some(), "{tag} is not in the list of session routes");
        if let Some((_, method, path)) = route {
            let is_served = served.contains(&((*method).to_owned(), (*path).to_owned()));
            assert!(is_served, "{tag} is registered and {method} {path} is not served");
        }
    }
}
