//! The bounds of a tenant admit exactly what both the installation and the restrictions admit.

use proptest::prelude::*;
use serde_json::json;

use super::super::{PolicyRequest, RunRequest, SecretBounds, TraceSink};
use super::*;

const NAMES: [&str; 6] = ["acme/web", "acme/api", "acme/", "other/web", "acme", "z"];
const PATTERNS: [&str; 8] = ["*", "acme/*", "acme/w*", "acme/web", "other/*", "a*", "z", "acme/api"];

fn list(patterns: &[&str]) -> AllowList {
    AllowList::parse(patterns).expect("patterns")
}

/// Bounds that allow everything.
fn unlimited() -> TenantBounds {
    TenantBounds {
        projects: AllowList::any(),
        providers: AllowList::any(),
        profiles: AllowList::any(),
        directories: AllowList::any(),
        trace_sinks: AllowList::any(),
        max_policy: MaxPolicy {
            sandbox: Sandbox::DangerFullAccess,
            approval: Approval::Never,
            timeout: RunTimeout::MAX,
            network: Network::Enabled,
            secrets: SecretBounds { names: AllowList::any(), ..SecretBounds::default() },
        },
    }
}

fn any_list() -> impl Strategy<Value = AllowList> {
    proptest::sample::subsequence(PATTERNS.to_vec(), 0..=3).prop_map(|patterns| list(&patterns))
}

fn choice<T: Copy + std::fmt::Debug>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(move |index| all[index])
}

fn any_timeout() -> impl Strategy<Value = RunTimeout> {
    (1_000..604_800_000_u64).prop_map(|ms| RunTimeout::from_millis(ms).expect("in range"))
}

prop_compose! {
    fn any_restrictions()(
        projects in proptest::option::of(any_list()), directories in proptest::option::of(any_list()),
        sandbox in proptest::option::of(choice(Sandbox::ALL)), approval in proptest::option::of(choice(Approval::ALL)),
        network in proptest::option::of(choice(Network::ALL)), timeout in proptest::option::of(any_timeout()),
    ) -> TenantRestrictions {
        TenantRestrictions { projects, directories, sandbox, approval, timeout, network, ..TenantRestrictions::default() }
    }
}

prop_compose! {
    /// A request that names every value.
    fn any_request()(
        project in proptest::sample::select(vec!["acme/web", "acme/api", "other/web"]),
        path in proptest::sample::select(NAMES.to_vec()), sandbox in choice(Sandbox::ALL),
        approval in choice(Approval::ALL), network in choice(Network::ALL), timeout in any_timeout(),
    ) -> RunRequest {
        let path = path.trim_end_matches('/');
        RunRequest {
            project: project.parse().expect("a project"),
            workspace: serde_json::from_value(json!({ "kind": "directory", "path": path })).expect("a workspace"),
            provider: "local".parse().expect("a provider"),
            profile: "demo".parse().expect("a profile"),
            policy: PolicyRequest {
                sandbox: Some(sandbox),
                approval: Some(approval),
                timeout: Some(timeout),
                network: Some(network),
                secret_scope: None,
            },
            trace_sink: TraceSink::None,
        }
    }
}

proptest! {
    // covers: R5
    #[test]
    fn intersection_allows_exactly_what_both_lists_allow(
        a in any_list(), b in any_list(), name in proptest::sample::select(NAMES.to_vec()),
    ) {
        let both = a.intersect(&b);
        prop_assert_eq!(both.allows(name), a.allows(name) && b.allows(name), "{} and {} are {}", a, b, both);
    }

    // covers: R5
    #[test]
    fn restricted_bounds_admit_exactly_what_installation_and_tenant_admit(
        installation in any_restrictions(), tenant in any_restrictions(), request in any_request(),
    ) {
        let (installation, alone) = (unlimited().restrict(&installation), unlimited().restrict(&tenant));
        let admitted = installation.restrict(&tenant).admit(&request).is_ok();
        prop_assert_eq!(admitted, installation.admit(&request).is_ok() && alone.admit(&request).is_ok());
    }

    // covers: R5
    #[test]
    fn values_filled_in_for_a_tenant_are_within_both_bounds(
        installation in any_restrictions(), tenant in any_restrictions(), request in any_request(),
    ) {
        let (installation, alone) = (unlimited().restrict(&installation), unlimited().restrict(&tenant));
        let request = RunRequest { policy: PolicyRequest::default(), ..request };
        if let Ok(admitted) = installation.restrict(&tenant).admit(&request) {
            let filled: RunRequest = admitted.into_spec().into();
            prop_assert!(installation.admit(&filled).is_ok() && alone.admit(&filled).is_ok());
        }
    }

    #[test]
    fn restrictions_round_trip_through_json(restrictions in any_restrictions()) {
        prop_assert_eq!(TenantRestrictions::from_json(&restrictions.to_json()), restrictions);
    }
}

#[test]
fn no_restriction_changes_nothing() {
    assert_eq!(unlimited().restrict(&TenantRestrictions::default()), unlimited());
}

#[test]
fn unreadable_restrictions_allow_nothing() {
    for text in ["", "{", "[]", r#"{"sandbox":"newer"}"#, r#"{"newer":1}"#, r#"{"projects":["a*b"]}"#] {
        let bounds = unlimited().restrict(&TenantRestrictions::from_json(text));
        assert!(!bounds.projects.allows("acme/web") && !bounds.profiles.allows("demo"), "{text}");
    }
}
