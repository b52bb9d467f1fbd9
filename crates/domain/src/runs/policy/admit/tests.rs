//! Narrower requests are granted, wider ones are rejected, and every violation states what is allowed.

use proptest::prelude::*;
use serde_json::json;

use super::super::{Approval, Network, RunTimeout, Sandbox};
use super::*;

fn list(patterns: &[&str]) -> AllowList {
    AllowList::parse(patterns).expect("patterns")
}

fn bounds() -> TenantBounds {
    TenantBounds {
        projects: list(&["acme/*"]),
        providers: list(&["G14", "D601"]),
        profiles: list(&["codex", "deepseek", "demo"]),
        directories: list(&["/srv/work/*"]),
        trace_sinks: list(&["lab"]),
        max_policy: MaxPolicy {
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::OnRequest,
            timeout: RunTimeout::from_millis(1_800_000).expect("a time"),
            network: Network::Disabled,
            secrets: SecretBounds {
                names: list(&["guildhall-provider-*", "guildhall-tool-github"]),
                ..SecretBounds::default()
            },
        },
    }
}

fn secret(name: &str) -> SecretRef {
    SecretRef::new(name, ["key"]).expect("a reference")
}

fn request() -> RunRequest {
    let scope = SecretScope {
        provider_credentials: vec![secret("guildhall-provider-codex")],
        ..SecretScope::default()
    };
    RunRequest {
        project: "acme/one".parse().expect("a project"),
        workspace: WorkspaceRef::Empty,
        provider: "G14".parse().expect("a provider"),
        profile: "codex".parse().expect("a profile"),
        policy: PolicyRequest { secret_scope: Some(scope), ..PolicyRequest::default() },
        trace_sink: TraceSink::None,
    }
}

fn changed(change: impl FnOnce(&mut RunRequest)) -> RunRequest {
    let mut request = request();
    change(&mut request);
    request
}

fn scoped(change: impl FnOnce(&mut SecretScope)) -> RunRequest {
    changed(|request| change(request.policy.secret_scope.get_or_insert_default()))
}

// covers: R4
#[test]
fn omitted_values_are_filled_in_from_the_bounds() {
    let admitted = bounds().admit(&request()).expect("admitted");
    assert_eq!(
        json!(admitted.spec().policy),
        json!({
            "sandbox": "workspace-write",
            "approval": "on-request",
            "timeoutMs": 1_800_000,
            "network": "disabled",
            "secretScope": {
                "allowCredentialEcho": false,
                "providerCredentials": [{ "name": "guildhall-provider-codex", "keys": ["key"] }],
                "toolCredentials": [],
            },
        })
    );
}

fn assert_rejected(cases: Vec<(RunRequest, RequestField, &str, &str)>, kind: &str) {
    for (request, field, requested, allowed) in cases {
        let violation = bounds().admit(&request).expect_err(requested);
        let text = violation.to_string();
        assert_eq!(violation.kind().as_str(), kind, "{text}");
        assert!(
            text.starts_with(&format!("{field}: ")) && text.contains(requested) && text.contains(allowed),
            "{text}"
        );
    }
}

// covers: R5
#[test]
fn name_outside_the_allow_list_is_rejected() {
    let workspace =
        |value| changed(|request| request.workspace = serde_json::from_value(value).expect("a workspace"));
    let sink = TraceSink::Named("elsewhere".parse().expect("a name"));
    let cases = vec![
        (
            changed(|request| request.project = "other/one".parse().unwrap()),
            RequestField::ProjectId,
            "other/one",
            "acme/*",
        ),
        (
            changed(|request| request.provider = "G15".parse().unwrap()),
            RequestField::ProviderId,
            "G15",
            "G14, D601",
        ),
        (
            changed(|request| request.profile = "mine".parse().unwrap()),
            RequestField::BackendProfile,
            "mine",
            "codex, deepseek, demo",
        ),
        (
            workspace(json!({ "kind": "directory", "path": "/etc" })),
            RequestField::WorkspacePath,
            "/etc",
            "/srv/work/*",
        ),
        (
            workspace(json!({ "kind": "git", "path": "/srv/workers" })),
            RequestField::WorkspacePath,
            "/srv/workers",
            "/srv/work/*",
        ),
        (changed(|request| request.trace_sink = sink), RequestField::TraceSink, "elsewhere", "lab"),
        (
            scoped(|scope| scope.tool_credentials = vec![secret("guildhall-tool-ssh")]),
            RequestField::ToolCredentials,
            "guildhall-tool-ssh",
            "guildhall-tool-github",
        ),
    ];
    assert_rejected(cases, "tenant-policy-denied");
}

// covers: R5
#[test]
fn authority_above_the_maximum_is_rejected() {
    let policy = |change: fn(&mut PolicyRequest)| changed(|request| change(&mut request.policy));
    let cases = vec![
        (
            policy(|policy| policy.sandbox = Some(Sandbox::DangerFullAccess)),
            RequestField::Sandbox,
            "danger-full-access",
            "workspace-write",
        ),
        (
            policy(|policy| policy.approval = Some(Approval::Never)),
            RequestField::Approval,
            "never",
            "on-request",
        ),
        (
            policy(|policy| policy.network = Some(Network::Enabled)),
            RequestField::Network,
            "enabled",
            "disabled",
        ),
        (
            policy(|policy| policy.timeout = Some(RunTimeout::MAX)),
            RequestField::Timeout,
            "604800000 ms",
            "1800000 ms",
        ),
        (scoped(|scope| scope.allow_credential_echo = true), RequestField::CredentialEcho, "true", "false"),
    ];
    assert_rejected(cases, "tenant-policy-denied");
}

// covers: R5
#[test]
fn profile_can_only_use_its_own_credential() {
    let deepseek =
        |change: fn(&mut SecretScope)| RunRequest { profile: "deepseek".parse().unwrap(), ..scoped(change) };
    let own = "guildhall-provider-deepseek";
    let foreign =
        vec![(deepseek(|_| {}), RequestField::ProviderCredentials, "guildhall-provider-codex", own)];
    assert_rejected(foreign, "tenant-policy-denied");
    let none = deepseek(|scope| scope.provider_credentials.clear());
    let omitted = RunRequest { policy: PolicyRequest::default(), ..none.clone() };
    assert_rejected(
        vec![
            (none, RequestField::ProviderCredentials, "deepseek", own),
            (omitted, RequestField::ProviderCredentials, "deepseek", own),
        ],
        "secret-unavailable",
    );
    let demo = RunRequest { policy: PolicyRequest::default(), profile: "demo".parse().unwrap(), ..request() };
    assert!(bounds().admit(&demo).is_ok());
}

#[test]
fn invalid_scope_is_a_schema_error() {
    let twice = scoped(|scope| scope.tool_credentials = vec![secret("guildhall-tool-github"); 2]);
    let violation = bounds().admit(&twice).expect_err("referenced twice");
    assert_eq!(violation.kind().as_str(), "schema-invalid");
}

fn choice<T: Copy + std::fmt::Debug>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(move |index| all[index])
}

prop_compose! {
    fn any_bounds()(
        sandbox in choice(Sandbox::ALL), approval in choice(Approval::ALL), network in choice(Network::ALL),
        ms in 1_000..604_800_000_u64, echo in any::<bool>(),
        names in proptest::sample::subsequence(vec!["guildhall-tool-github", "guildhall-tool-s*"], 0..=2),
        providers in proptest::bool::weighted(0.8),
    ) -> TenantBounds {
        let names: Vec<&str> = names.into_iter().chain(providers.then_some("guildhall-provider-*")).collect();
        let secrets = SecretBounds { names: list(&names), allow_credential_echo: echo, ..SecretBounds::default() };
        let timeout = RunTimeout::from_millis(ms).expect("in range");
        TenantBounds { max_policy: MaxPolicy { sandbox, approval, timeout, network, secrets }, ..bounds() }
    }
}

prop_compose! {
    fn any_request()(
        sandbox in proptest::option::of(choice(Sandbox::ALL)), approval in proptest::option::of(choice(Approval::ALL)),
        network in proptest::option::of(choice(Network::ALL)), ms in proptest::option::of(1_000..604_800_000_u64),
        echo in proptest::bool::weighted(0.2), profile in proptest::sample::select(vec!["codex", "deepseek", "demo"]),
        own in proptest::bool::weighted(0.8), foreign in proptest::bool::weighted(0.2),
        tools in proptest::sample::subsequence(vec!["github", "ssh"], 0..=2),
    ) -> RunRequest {
        let refs = |kind: &str, names: Vec<&str>| names.iter().map(|name| secret(&format!("guildhall-{kind}-{name}"))).collect();
        let own = (own && profile != "demo").then_some(profile);
        let providers = own.into_iter().chain(foreign.then_some("minimax-m3")).collect();
        let scope = SecretScope {
            allow_credential_echo: echo,
            provider_credentials: refs("provider", providers),
            tool_credentials: refs("tool", tools),
        };
        let timeout = ms.map(|ms| RunTimeout::from_millis(ms).expect("in range"));
        RunRequest {
            profile: profile.parse().expect("a profile"),
            policy: PolicyRequest { sandbox, approval, timeout, network, secret_scope: Some(scope) },
            ..request()
        }
    }
}

/// Returns whether a policy is within the bounds, independently of the code under test.
fn is_within(policy: &ExecutionPolicy, max_policy: &MaxPolicy) -> bool {
    let secrets =
        policy.secret_scope.provider_credentials.iter().chain(&policy.secret_scope.tool_credentials);
    policy.sandbox as u8 <= max_policy.sandbox as u8
        && policy.approval as u8 <= max_policy.approval as u8
        && policy.network as u8 <= max_policy.network as u8
        && policy.timeout.as_millis() <= max_policy.timeout.as_millis()
        && (max_policy.secrets.allow_credential_echo || !policy.secret_scope.allow_credential_echo)
        && secrets.into_iter().all(|secret| max_policy.secrets.names.allows(secret.name()))
}

proptest! {
    // covers: R5
    #[test]
    fn admitted_policy_is_within_the_bounds(bounds in any_bounds(), request in any_request()) {
        if let Ok(admitted) = bounds.admit(&request) {
            let spec = admitted.spec();
            prop_assert!(is_within(&spec.policy, &bounds.max_policy));
            let own = SecretRef::provider_name(&spec.profile);
            let providers = &spec.policy.secret_scope.provider_credentials;
            prop_assert!(providers.iter().all(|secret| secret.name() == own));
            prop_assert!(!spec.profile.needs_credential() || providers.len() == 1);
        }
    }

    #[test]
    fn requested_values_are_granted_unchanged(bounds in any_bounds(), request in any_request()) {
        if let Ok(admitted) = bounds.admit(&request) {
            let policy = PolicyRequest::from(admitted.into_spec().policy);
            prop_assert_eq!(request.policy.sandbox.or(policy.sandbox), policy.sandbox);
            prop_assert_eq!(request.policy.approval.or(policy.approval), policy.approval);
            prop_assert_eq!(request.policy.timeout.or(policy.timeout), policy.timeout);
            prop_assert_eq!(request.policy.network.or(policy.network), policy.network);
            prop_assert_eq!(request.policy.secret_scope, policy.secret_scope);
        }
    }

    #[test]
    fn admission_is_idempotent(bounds in any_bounds(), request in any_request()) {
        if let Ok(admitted) = bounds.admit(&request) {
            let again = bounds.admit(&admitted.spec().clone().into());
            prop_assert_eq!(again, Ok(admitted));
        }
    }

    // covers: R5
    #[test]
    fn narrower_request_than_an_admitted_one_is_admitted(
        bounds in any_bounds(), request in any_request(), less in any_request(),
    ) {
        let Ok(admitted) = bounds.admit(&request) else { return Ok(()) };
        let policy = admitted.into_spec().policy;
        let mut scope = policy.secret_scope.clone();
        scope.allow_credential_echo &= less.policy.secret_scope.is_some_and(|scope| scope.allow_credential_echo);
        scope.tool_credentials.truncate(1);
        let narrowed = ExecutionPolicy {
            sandbox: less.policy.sandbox.map_or(policy.sandbox, |less| less.min(policy.sandbox)),
            approval: less.policy.approval.map_or(policy.approval, |less| less.min(policy.approval)),
            timeout: less.policy.timeout.map_or(policy.timeout, |less| less.min(policy.timeout)),
            network: less.policy.network.map_or(policy.network, |less| less.min(policy.network)),
            secret_scope: scope,
        };
        let admitted = bounds.admit(&RunRequest { policy: narrowed.clone().into(), ..request });
        prop_assert_eq!(admitted.map(|admitted| admitted.into_spec().policy), Ok(narrowed));
    }
}
