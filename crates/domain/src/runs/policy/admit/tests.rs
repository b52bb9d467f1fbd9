//! Narrower is always granted, wider never, and every refusal says what would be.

use proptest::prelude::*;
use serde_json::json;

use super::super::{Approval, Network, RunTimeout, Sandbox};
use super::*;

fn list(patterns: &[&str]) -> AllowList {
    AllowList::parse(patterns).expect("patterns")
}

fn bounds() -> Bounds {
    Bounds {
        projects: list(&["acme/*"]),
        providers: list(&["G14", "D601"]),
        profiles: list(&["codex", "deepseek", "demo"]),
        directories: list(&["/srv/work/*"]),
        trace_sinks: list(&["lab"]),
        widest: WidestPolicy {
            sandbox: Sandbox::WorkspaceWrite,
            approval: Approval::OnRequest,
            timeout: RunTimeout::from_millis(1_800_000).expect("a time"),
            network: Network::Disabled,
            secrets: SecretBounds {
                names: list(&["guildhall-provider-*", "guildhall-tool-github"]),
                allow_credential_echo: false,
            },
        },
    }
}

fn secret(name: &str) -> SecretRef {
    SecretRef::new(name, ["key"]).expect("a reference")
}

fn ask() -> NewRunAsk {
    let scope = SecretScope {
        provider_credentials: vec![secret("guildhall-provider-codex")],
        ..SecretScope::default()
    };
    NewRunAsk {
        project: "acme/one".parse().expect("a project"),
        workspace: WorkspaceRef::Empty,
        provider: "G14".parse().expect("a provider"),
        profile: "codex".parse().expect("a profile"),
        policy: PolicyAsk { secret_scope: Some(scope), ..PolicyAsk::default() },
        trace_sink: TraceSink::Nowhere,
    }
}

fn changed(change: impl FnOnce(&mut NewRunAsk)) -> NewRunAsk {
    let mut ask = ask();
    change(&mut ask);
    ask
}

fn scoped(change: impl FnOnce(&mut SecretScope)) -> NewRunAsk {
    changed(|ask| change(ask.policy.secret_scope.get_or_insert_default()))
}

// covers: R4
#[test]
fn what_is_left_out_is_completed_from_the_bounds_and_said() {
    let admitted = bounds().admit(&ask()).expect("admitted");
    assert_eq!(
        json!(admitted.terms().policy),
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

fn refused(cases: Vec<(NewRunAsk, Field, &str, &str)>, kind: &str) {
    for (ask, field, asked, allowed) in cases {
        let refusal = bounds().admit(&ask).expect_err(asked);
        let text = refusal.to_string();
        assert_eq!(refusal.kind().as_str(), kind, "{text}");
        assert!(
            text.starts_with(&format!("{field}: ")) && text.contains(asked) && text.contains(allowed),
            "{text}"
        );
    }
}

// covers: R5
#[test]
fn a_name_outside_the_lists_is_refused_with_the_list() {
    let workspace =
        |value| changed(|ask| ask.workspace = serde_json::from_value(value).expect("a workspace"));
    let sink = TraceSink::Named("elsewhere".parse().expect("a name"));
    let cases = vec![
        (changed(|ask| ask.project = "other/one".parse().unwrap()), Field::ProjectId, "other/one", "acme/*"),
        (changed(|ask| ask.provider = "G15".parse().unwrap()), Field::ProviderId, "G15", "G14, D601"),
        (
            changed(|ask| ask.profile = "mine".parse().unwrap()),
            Field::BackendProfile,
            "mine",
            "codex, deepseek, demo",
        ),
        (
            workspace(json!({ "kind": "directory", "path": "/etc" })),
            Field::WorkspacePath,
            "/etc",
            "/srv/work/*",
        ),
        (
            workspace(json!({ "kind": "git", "path": "/srv/workers" })),
            Field::WorkspacePath,
            "/srv/workers",
            "/srv/work/*",
        ),
        (changed(|ask| ask.trace_sink = sink), Field::TraceSink, "elsewhere", "lab"),
        (
            scoped(|scope| scope.tool_credentials = vec![secret("guildhall-tool-ssh")]),
            Field::ToolCredentials,
            "guildhall-tool-ssh",
            "guildhall-tool-github",
        ),
    ];
    refused(cases, "tenant-policy-denied");
}

// covers: R5
#[test]
fn more_authority_than_the_bounds_is_refused_with_the_most_there_is() {
    let policy = |change: fn(&mut PolicyAsk)| changed(|ask| change(&mut ask.policy));
    let cases = vec![
        (
            policy(|policy| policy.sandbox = Some(Sandbox::DangerFullAccess)),
            Field::Sandbox,
            "danger-full-access",
            "workspace-write",
        ),
        (policy(|policy| policy.approval = Some(Approval::Never)), Field::Approval, "never", "on-request"),
        (policy(|policy| policy.network = Some(Network::Enabled)), Field::Network, "enabled", "disabled"),
        (
            policy(|policy| policy.timeout = Some(RunTimeout::MAX)),
            Field::Timeout,
            "604800000 ms",
            "1800000 ms",
        ),
        (scoped(|scope| scope.allow_credential_echo = true), Field::CredentialEcho, "true", "false"),
    ];
    refused(cases, "tenant-policy-denied");
}

// covers: R5
#[test]
fn a_profile_runs_on_its_own_credential_alone() {
    let deepseek =
        |change: fn(&mut SecretScope)| NewRunAsk { profile: "deepseek".parse().unwrap(), ..scoped(change) };
    let own = "guildhall-provider-deepseek";
    let foreign = vec![(deepseek(|_| {}), Field::ProviderCredentials, "guildhall-provider-codex", own)];
    refused(foreign, "tenant-policy-denied");
    let none = deepseek(|scope| scope.provider_credentials.clear());
    let unsaid = NewRunAsk { policy: PolicyAsk::default(), ..none.clone() };
    refused(
        vec![
            (none, Field::ProviderCredentials, "deepseek", own),
            (unsaid, Field::ProviderCredentials, "deepseek", own),
        ],
        "secret-unavailable",
    );
    let demo = NewRunAsk { policy: PolicyAsk::default(), profile: "demo".parse().unwrap(), ..ask() };
    assert!(bounds().admit(&demo).is_ok());
}

#[test]
fn a_scope_that_was_put_together_wrongly_is_a_fault_of_form() {
    let twice = scoped(|scope| scope.tool_credentials = vec![secret("guildhall-tool-github"); 2]);
    let refusal = bounds().admit(&twice).expect_err("named twice");
    assert_eq!(refusal.kind().as_str(), "schema-invalid");
}

fn choice<T: Copy + std::fmt::Debug>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(move |place| all[place])
}

prop_compose! {
    fn any_bounds()(
        sandbox in choice(Sandbox::ALL), approval in choice(Approval::ALL), network in choice(Network::ALL),
        ms in 1_000..604_800_000_u64, echo in any::<bool>(),
        names in proptest::sample::subsequence(vec!["guildhall-tool-github", "guildhall-tool-s*"], 0..=2),
        providers in proptest::bool::weighted(0.8),
    ) -> Bounds {
        let names: Vec<&str> = names.into_iter().chain(providers.then_some("guildhall-provider-*")).collect();
        let secrets = SecretBounds { names: list(&names), allow_credential_echo: echo };
        let timeout = RunTimeout::from_millis(ms).expect("in range");
        Bounds { widest: WidestPolicy { sandbox, approval, timeout, network, secrets }, ..bounds() }
    }
}

prop_compose! {
    fn any_ask()(
        sandbox in proptest::option::of(choice(Sandbox::ALL)), approval in proptest::option::of(choice(Approval::ALL)),
        network in proptest::option::of(choice(Network::ALL)), ms in proptest::option::of(1_000..604_800_000_u64),
        echo in proptest::bool::weighted(0.2), profile in proptest::sample::select(vec!["codex", "deepseek", "demo"]),
        own in proptest::bool::weighted(0.8), foreign in proptest::bool::weighted(0.2),
        tools in proptest::sample::subsequence(vec!["github", "ssh"], 0..=2),
    ) -> NewRunAsk {
        let refs = |kind: &str, names: Vec<&str>| names.iter().map(|name| secret(&format!("guildhall-{kind}-{name}"))).collect();
        let own = (own && profile != "demo").then_some(profile);
        let providers = own.into_iter().chain(foreign.then_some("minimax-m3")).collect();
        let scope = SecretScope {
            allow_credential_echo: echo,
            provider_credentials: refs("provider", providers),
            tool_credentials: refs("tool", tools),
        };
        let timeout = ms.map(|ms| RunTimeout::from_millis(ms).expect("in range"));
        NewRunAsk {
            profile: profile.parse().expect("a profile"),
            policy: PolicyAsk { sandbox, approval, timeout, network, secret_scope: Some(scope) },
            ..ask()
        }
    }
}

/// Says whether a policy is within the bounds in every dimension, told without the code that decides it.
fn is_within(policy: &ExecutionPolicy, widest: &WidestPolicy) -> bool {
    let secrets =
        policy.secret_scope.provider_credentials.iter().chain(&policy.secret_scope.tool_credentials);
    policy.sandbox as u8 <= widest.sandbox as u8
        && policy.approval as u8 <= widest.approval as u8
        && policy.network as u8 <= widest.network as u8
        && policy.timeout.as_millis() <= widest.timeout.as_millis()
        && (widest.secrets.allow_credential_echo || !policy.secret_scope.allow_credential_echo)
        && secrets.into_iter().all(|secret| widest.secrets.names.allows(secret.name()))
}

proptest! {
    // covers: R5
    #[test]
    fn an_admitted_policy_is_never_wider_than_the_bounds(bounds in any_bounds(), ask in any_ask()) {
        if let Ok(admitted) = bounds.admit(&ask) {
            let terms = admitted.terms();
            prop_assert!(is_within(&terms.policy, &bounds.widest));
            let own = SecretRef::provider_name(&terms.profile);
            let providers = &terms.policy.secret_scope.provider_credentials;
            prop_assert!(providers.iter().all(|secret| secret.name() == own));
            prop_assert!(!terms.profile.needs_credential() || providers.len() == 1);
        }
    }

    #[test]
    fn what_was_asked_for_is_what_is_granted(bounds in any_bounds(), ask in any_ask()) {
        if let Ok(admitted) = bounds.admit(&ask) {
            let policy = PolicyAsk::from(admitted.into_terms().policy);
            prop_assert_eq!(ask.policy.sandbox.or(policy.sandbox), policy.sandbox);
            prop_assert_eq!(ask.policy.approval.or(policy.approval), policy.approval);
            prop_assert_eq!(ask.policy.timeout.or(policy.timeout), policy.timeout);
            prop_assert_eq!(ask.policy.network.or(policy.network), policy.network);
            prop_assert_eq!(ask.policy.secret_scope, policy.secret_scope);
        }
    }

    #[test]
    fn admitting_the_admitted_gives_the_same(bounds in any_bounds(), ask in any_ask()) {
        if let Ok(admitted) = bounds.admit(&ask) {
            let again = bounds.admit(&admitted.terms().clone().into());
            prop_assert_eq!(again, Ok(admitted));
        }
    }

    // covers: R5
    #[test]
    fn asking_for_less_than_was_admitted_is_admitted(bounds in any_bounds(), ask in any_ask(), less in any_ask()) {
        let Ok(admitted) = bounds.admit(&ask) else { return Ok(()) };
        let policy = admitted.into_terms().policy;
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
        let admitted = bounds.admit(&NewRunAsk { policy: narrowed.clone().into(), ..ask });
        prop_assert_eq!(admitted.map(|admitted| admitted.into_terms().policy), Ok(narrowed));
    }
}
