//! Rules of relations, with the manifests of the tests of the diff.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::agents::diff::ManifestDiff;
use crate::agents::diff::test_manifests::{example, manifest};
use crate::agents::manifest::document::ManifestHash;

fn scopes(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

fn pin(version: i64) -> ManifestPin {
    ManifestPin { version, hash: ManifestHash::of_canonical(&version.to_string()) }
}

fn relation(granted: &[&str], version: i64) -> Relation {
    Relation {
        id: RelationId::generate(),
        agent: AgentId::generate(),
        principal: PrincipalId::generate(),
        granted_scopes: scopes(granted),
        manifest: pin(version),
        revision: 1,
        created_at: Timestamp::UNIX_EPOCH,
        changed_at: Timestamp::UNIX_EPOCH,
        ended_at: None,
    }
}

fn consent(ids: &[&str], shown: ShownManifest) -> Consent {
    Consent { scopes: scopes(ids), shown }
}

fn gap(edit: impl FnOnce(&mut Value)) -> (ConsentGap, Value) {
    let mut new = example();
    edit(&mut new);
    (ConsentGap::between(&manifest(&example()), &manifest(&new)), new)
}

// covers: M12
#[test]
fn consent_names_declared_scopes_of_the_current_manifest_only() {
    let (current, declared) = (pin(3), manifest(&example()));
    let shown = |version, hash: Option<i64>| ShownManifest { version, hash: hash.map(|of| pin(of).hash) };
    let other = Err(GrantError::OtherManifest { current });
    for (ids, shown, expected) in [
        (&["filesystem:read", "shell:run"][..], shown(None, None), Ok(current)),
        (&[], shown(None, None), Ok(current)),
        (&["filesystem:read"], shown(Some(3), Some(3)), Ok(current)),
        (&["filesystem:read"], shown(Some(2), None), other.clone()),
        (&["filesystem:read"], shown(Some(3), Some(2)), other.clone()),
        (&["filesystem:read"], shown(None, Some(2)), other),
        (&["filesystem:write"], shown(None, None), Err(GrantError::UndeclaredScope { version: 3 })),
    ] {
        assert_eq!(consent(ids, shown).check(current, &declared), expected, "{ids:?} {shown:?}");
    }
}

// covers: M16
#[test]
fn change_of_a_relation_is_a_change_a_new_consent_or_nothing() {
    let (declared, before) = (manifest(&example()), relation(&["filesystem:read"], 3));
    let apply = |ids: &[&str], version| {
        consent(ids, ShownManifest::default()).apply(&before, pin(version), &declared)
    };
    assert_eq!(apply(&["filesystem:read"], 3), Ok((before.clone(), None)));
    let changed = Relation { granted_scopes: scopes(&["shell:run"]), ..before.clone() };
    assert_eq!(apply(&["shell:run"], 3), Ok((changed, Some(RelationChangeKind::Changed))));
    let renewed = Relation { manifest: pin(4), ..before.clone() };
    assert_eq!(apply(&["filesystem:read"], 4), Ok((renewed, Some(RelationChangeKind::Reconsented))));
    let ended = Relation { ended_at: Some(Timestamp::UNIX_EPOCH), ..before.clone() };
    let again = consent(&["shell:run"], ShownManifest::default()).apply(&ended, pin(3), &declared);
    assert_eq!(again, Err(GrantError::Ended));
}

#[test]
fn changed_tool_waits_and_the_others_of_its_scope_work() {
    let (gap, new) = gap(|new| {
        let mut other = new["tools"][0].clone();
        other["name"] = json!("list_files");
        other["description_fallback"] = json!("List files");
        new["tools"].as_array_mut().expect("tools").push(other);
        new["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]);
    });
    let new = manifest(&new);
    let state = |tool, granted: &[&str]| gap.tool_state(tool, &new, &scopes(granted));
    assert_eq!(state("read_file", &["filesystem:read"]), ToolState::NeedsConsent);
    // A new tool under a granted scope of medium sensitivity waits too.
    assert_eq!(state("list_files", &["filesystem:read"]), ToolState::NeedsConsent);
    assert_eq!(state("read_file", &["shell:run"]), ToolState::NotGranted);
    assert_eq!(state("delete_file", &["filesystem:read"]), ToolState::NotDeclared);
    let same = ConsentGap::between(&new, &new);
    assert_eq!(same, ConsentGap::default());
    assert_eq!(same.tool_state("read_file", &new, &scopes(&["filesystem:read"])), ToolState::Works);
}

#[test]
fn changed_scope_stops_all_its_tools() {
    let (gap, new) = gap(|new| new["permission_scopes"][0]["sensitivity"] = json!("high"));
    let granted = scopes(&["filesystem:read", "screen:look"]);
    assert_eq!(gap.tool_state("read_file", &manifest(&new), &granted), ToolState::NeedsConsent);
    assert_eq!(gap.effective_scopes(&granted), scopes(&["screen:look"]));
}

#[test]
fn contract_break_is_told_to_all_and_a_widening_to_those_it_concerns() {
    let (breaking, _) = gap(|new| new["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]));
    for granted in [&["filesystem:read"][..], &["shell:run"], &[]] {
        let told = notice_of(&breaking, &scopes(granted));
        assert_eq!(told, Some((NoticeKind::ReauthRequired, scopes(&["filesystem:read"]))));
    }
    assert_eq!(reauth_scopes(&breaking), Some(&scopes(&["filesystem:read"])));
    let (words, _) = gap(|new| new["tools"][0]["description_fallback"] = json!("Read any file"));
    let asked = Some((NoticeKind::ReauthRequired, scopes(&["filesystem:read"])));
    assert_eq!(notice_of(&words, &scopes(&["filesystem:read", "shell:run"])), asked);
    assert_eq!(notice_of(&words, &scopes(&["shell:run"])), None);
    let (low, _) = gap(|new| new["permission_scopes"][1]["label_fallback"] = json!("Look"));
    let told = Some((NoticeKind::Information, scopes(&["screen:look"])));
    assert_eq!(notice_of(&low, &scopes(&["screen:look"])), told);
    assert_eq!(notice_of(&low, &scopes(&["filesystem:read"])), None);
    assert_eq!(reauth_scopes(&low), None, "nobody is asked");
    let (silent, _) = gap(|new| new["agent_version"] = json!("1.0.1"));
    assert_eq!(notice_of(&silent, &scopes(&["filesystem:read"])), None);
}

#[test]
fn consent_to_an_unreadable_manifest_counts_for_nothing() {
    let current = manifest(&example());
    let gap = ConsentGap::whole(&current);
    let all = scopes(&["filesystem:read", "screen:look", "shell:run"]);
    assert_eq!(gap.tool_state("read_file", &current, &all), ToolState::NeedsConsent);
    assert_eq!(gap.effective_scopes(&all), scopes(&[]));
}

/// Edits that are independent of each other.
const EDITS: [fn(&mut Value); 6] = [
    |new| new["tools"][0]["input_schema"]["required"] = json!(["path", "mode"]),
    |new| new["tools"][0]["description_fallback"] = json!("Read something"),
    |new| new["permission_scopes"][0]["sensitivity"] = json!("high"),
    |new| new["permission_scopes"][2]["description_fallback"] = json!("Run"),
    |new| new["tools"][0]["timeout_ms"] = json!(1234),
    |new| new["permission_scopes"].as_array_mut().expect("scopes").truncate(1),
];

proptest! {
    /// Whatever changed, a tool works only under a granted scope, and only where the diff asks for no new consent.
    #[test]
    fn working_tool_is_granted_and_unchanged(
        edits in proptest::sample::subsequence((0..EDITS.len()).collect::<Vec<_>>(), 0..=EDITS.len()),
        granted in proptest::sample::subsequence(vec!["filesystem:read", "screen:look", "shell:run"], 0..=3),
    ) {
        let mut new = example();
        edits.iter().for_each(|edit| EDITS[*edit](&mut new));
        let (old, new) = (manifest(&example()), manifest(&new));
        let (gap, granted) = (ConsentGap::between(&old, &new), scopes(&granted));
        let diff = ManifestDiff::between(&old, &new);
        let state = gap.tool_state("read_file", &new, &granted);
        prop_assert!(state != ToolState::Works || granted.contains("filesystem:read"));
        let is_asked = diff.scopes_requiring_reauth().contains("filesystem:read");
        prop_assert_eq!(state == ToolState::NeedsConsent, is_asked && granted.contains("filesystem:read"));
        prop_assert!(gap.effective_scopes(&granted).is_subset(&granted));
        // Nobody is asked without a reason, and whoever uses something that waits is asked.
        let is_notified = matches!(notice_of(&gap, &granted), Some((NoticeKind::ReauthRequired, _)));
        prop_assert!(!is_notified || !gap.is_silent());
        prop_assert!(state != ToolState::NeedsConsent || is_notified);
    }
}
