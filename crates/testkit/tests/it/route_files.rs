//! The files of a route follow from its group and noun.
//!
//! `POST /api/v1/runs/{run}/commands` is the noun `commands` of the group `runs`: `api/http/runs/commands.rs` calls
//! `service/runs/commands.rs`, `domain/runs/command.rs` decides, `store/queries/commands/*.sql` reads and writes. The
//! noun that gives a group its name is in the group's `mod.rs`, or in a file per verb in its directory.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A noun: where its routes begin, the rules of `domain` that decide, and the tables of its queries.
#[derive(Debug, Clone, Copy)]
struct Noun {
    group: &'static str,
    name: &'static str,
    /// Method and path; `*` stands for any method. A path covers the paths below it, unless a row with a
    /// longer path covers them.
    routes: &'static [(&'static str, &'static str)],
    domain: &'static [&'static str],
    tables: &'static [&'static str],
}

/// Nouns whose handlers need no service: they only read the configuration.
const WITHOUT_SERVICE: &[&str] = &["capabilities", "gateways", "scopes"];

const NOUNS: &[Noun] = &[
    noun("access", "signing", &[("*", "/.well-known/jwks.json")], &["access/signing.rs"], &["signing_keys"]),
    noun(
        "access",
        "auth",
        &[
            ("*", "/api/v1/auth/login"),
            ("*", "/api/v1/auth/logout"),
            ("*", "/api/v1/auth/refresh"),
            ("*", "/api/v1/whoami"),
        ],
        &["access/caller.rs", "access/lockout.rs", "access/refresh.rs"],
        &["logins", "passwords", "principals"],
    ),
    noun(
        "access",
        "browser_session",
        &[("*", "/api/v1/auth/browser-session")],
        &["access/caller.rs"],
        &["logins"],
    ),
    noun(
        "access",
        "oidc",
        &[("*", "/api/v1/auth/oidc"), ("*", "/api/v1/auth/handoff")],
        &["access/oidc.rs", "access/return_path.rs"],
        &["oidc_flows", "handoffs", "login_methods"],
    ),
    noun(
        "access",
        "audit",
        &[("*", "/api/v1/audit"), ("*", "/api/v1/tenants/{tenant}/audit")],
        &["access/audit_chain.rs", "access/audit_checkpoint.rs"],
        &["journal", "journal_checkpoints", "journal_seals"],
    ),
    noun(
        "access",
        "account",
        &[("*", "/api/v1/auth/password"), ("*", "/api/v1/auth/logins"), ("*", "/api/v1/account/settings")],
        &["access/user.rs"],
        &["logins", "passwords"],
    ),
    noun(
        "access",
        "users",
        &[("*", "/api/v1/users")],
        &["access/user.rs"],
        &["logins", "passwords", "principals"],
    ),
    noun(
        "access",
        "tenants",
        &[("*", "/api/v1/tenants"), ("*", "/api/v1/tenants/{tenant}/members")],
        &["access/role.rs", "access/tenant.rs"],
        &["tenants", "memberships"],
    ),
    noun(
        "access",
        "bounds",
        &[("*", "/api/v1/tenants/{tenant}/bounds")],
        &["runs/policy/restrictions.rs"],
        &["tenant_bounds"],
    ),
    noun(
        "access",
        "invitations",
        &[("*", "/api/v1/invitations"), ("*", "/api/v1/tenants/{tenant}/invitations")],
        &["access/invitation.rs"],
        &["invitations"],
    ),
    noun(
        "access",
        "keys",
        &[("*", "/api/v1/tenants/{tenant}/keys")],
        &["access/service_key.rs"],
        &["service_keys"],
    ),
    noun(
        "access",
        "projects",
        &[("*", "/api/v1/tenants/{tenant}/projects")],
        &["access/project_setup.rs", "access/tenant.rs"],
        &["projects"],
    ),
    noun(
        "access",
        "subject_tokens",
        &[("*", "/api/v1/tenants/{tenant}/subject-tokens")],
        &["access/subject.rs"],
        &["external_subjects"],
    ),
    noun("ops", "capabilities", &[("*", "/capabilities")], &["ops/capability.rs"], &[]),
    noun("ops", "health", &[("*", "/health")], &["ops/readiness.rs"], &["replicas", "schema_state"]),
    noun(
        "profiles",
        "profiles",
        &[("*", "/api/v1/provider-profiles")],
        &["profiles/mod.rs"],
        &["profile_validations"],
    ),
    noun(
        "profiles",
        "git_credentials",
        &[("*", "/api/v1/tenants/{tenant}/git-credentials")],
        &["profiles/git_credential.rs"],
        &[],
    ),
    noun(
        "profiles",
        "validations",
        &[
            ("*", "/api/v1/provider-profiles/{profile}/validate"),
            ("*", "/api/v1/provider-profiles/{profile}/validations"),
        ],
        &["profiles/validation.rs"],
        &["profile_validations"],
    ),
    noun(
        "runners",
        "enrolments",
        &[("*", "/api/v1/tenants/{tenant}/enrolments")],
        &["runners/enrolment.rs"],
        &["enrolments"],
    ),
    noun("runners", "tokens", &[("*", "/api/v1/runner")], &["runners/enrolment.rs"], &["enrolments"]),
    noun(
        "runners",
        "registrations",
        &[("*", "/api/v1/runners/register"), ("*", "/api/v1/tenants/{tenant}/runners")],
        &["runners/runner.rs"],
        &["runners"],
    ),
    noun(
        "runners",
        "claims",
        &[("*", "/api/v1/runners/claim"), ("*", "/api/v1/runs/{run}/claim")],
        &["runs/lease.rs", "runners/enrolment.rs"],
        &["leases", "runs"],
    ),
    noun(
        "approvals",
        "approvals",
        &[("*", "/api/v1/approvals"), ("*", "/api/v1/tenants/{tenant}/approvals")],
        &["approvals/policy.rs", "approvals/state.rs"],
        &["approvals"],
    ),
    noun(
        "approvals",
        "questions",
        &[("*", "/api/v1/runs/{run}/approvals")],
        &["approvals/question.rs", "approvals/state.rs"],
        &["approvals"],
    ),
    noun(
        "approvals",
        "rules",
        &[("*", "/api/v1/approval-rules")],
        &["approvals/rule.rs"],
        &["approval_rules"],
    ),
    noun(
        "approvals",
        "policies",
        &[("*", "/api/v1/tenants/{tenant}/approval-policy")],
        &["approvals/policy.rs"],
        &["approval_policies"],
    ),
    noun(
        "agents",
        "agents",
        &[("*", "/api/v1/agents")],
        &["agents/instructions.rs", "agents/mod.rs", "agents/settings.rs"],
        &["agents", "agent_revisions"],
    ),
    noun(
        "agents",
        "manifests",
        &[("*", "/agents"), ("*", "/api/v1/agents/{agent}/manifests")],
        &["agents/manifest/version.rs", "agents/diff/mod.rs"],
        &["agent_manifests"],
    ),
    noun(
        "relations",
        "relations",
        &[("*", "/api/v1/relations"), ("*", "/h2a/relations")],
        &["relations/gap.rs", "relations/grant.rs", "relations/notice.rs"],
        &["relations", "relation_changes", "relation_notices"],
    ),
    noun("relations", "scopes", &[("*", "/api/v1/scopes")], &["agents/manifest/presets.rs"], &[]),
    noun(
        "agents",
        "automations",
        &[("*", "/api/v1/automations")],
        &["agents/automation.rs", "agents/pipeline.rs", "agents/pipeline_text.rs"],
        &["automations"],
    ),
    noun(
        "front",
        "agent_runs",
        &[("*", "/api/v1/agent/runs"), ("*", "/api/v1/agents/{agent}/agui")],
        &[
            "front/mod.rs",
            "front/client_time.rs",
            "front/interrupt_answer.rs",
            "front/time_zone.rs",
            "agents/turn_pipeline.rs",
        ],
        &["client_runs", "threads"],
    ),
    noun(
        "front",
        "automation_runs",
        &[("*", "/api/v1/automations/{automation}/runs")],
        &["agents/automation.rs"],
        &["automations", "client_runs", "threads"],
    ),
    noun(
        "front",
        "copilotkit",
        &[("*", "/api/v1/copilotkit")],
        &["front/copilotkit.rs"],
        &["client_runs", "threads"],
    ),
    noun("front", "history", &[("*", "/api/v1/agent/history")], &["front/external_id.rs"], &["threads"]),
    noun(
        "front",
        "attachments",
        &[("*", "/api/v1/agent/attachments")],
        &["front/attachment.rs", "front/attachment_link.rs"],
        &["attachments"],
    ),
    noun(
        "identity",
        "aids",
        &[("*", "/api/v1/aids"), ("*", "/api/v1/aid-reservations")],
        &["identity/aid.rs", "identity/certificate.rs", "identity/registration.rs"],
        &["aids", "aid_certificates", "aid_reservations"],
    ),
    noun("identity", "gateways", &[("*", "/.well-known/aun-gateway")], &[], &[]),
    noun(
        "identity",
        "pki",
        &[("*", "/pki"), ("*", "/root.crt"), ("*", "/trust-root.json")],
        &["identity/certificate.rs"],
        &["aid_certificates", "trust_list"],
    ),
    noun(
        "identity",
        "transparency",
        &[("*", "/ct")],
        &["identity/transparency.rs"],
        &["transparency_entries", "transparency_log", "transparency_nodes"],
    ),
    noun(
        "webhooks",
        "webhooks",
        &[("*", "/api/v1/tenants/{tenant}/webhooks"), ("*", "/api/v1/webhooks")],
        &["webhooks/event.rs", "webhooks/message.rs", "webhooks/mod.rs", "webhooks/url.rs"],
        &["webhooks", "agent_webhooks"],
    ),
    noun(
        "webhooks",
        "deliveries",
        &[("*", "/api/v1/webhooks/{webhook}/deliveries"), ("*", "/api/v1/webhooks/{webhook}/resend")],
        &["webhooks/log.rs", "webhooks/schedule.rs"],
        &["webhook_events", "webhook_attempts"],
    ),
    noun(
        "webhooks",
        "listeners",
        &[("*", "/api/v1/webhooks/{webhook}/claim"), ("*", "/api/v1/webhooks/{webhook}/reports")],
        &["webhooks/delivery.rs"],
        &["webhook_lanes"],
    ),
    noun(
        "retention",
        "retention",
        &[("*", "/api/v1/tenants/{tenant}/retention"), ("*", "/api/v1/retention/plan")],
        &["retention/mod.rs"],
        &["retention", "retention_policies"],
    ),
    noun("runners", "leases", &[("*", "/api/v1/runs/{run}/lease")], &["runs/lease.rs"], &["leases"]),
    noun(
        "runners",
        "commands",
        &[("get", "/api/v1/runs/{run}/commands"), ("*", "/api/v1/commands/{command}/ack")],
        &["runs/command.rs"],
        &["commands"],
    ),
    noun(
        "runners",
        "bundles",
        &[("get", "/api/v1/runs/{run}/bundle/parts/{number}")],
        &["runs/policy/workspace/upload.rs"],
        &["workspace_bundles"],
    ),
    noun(
        "runners",
        "attachments",
        &[("*", "/api/v1/runs/{run}/attachments")],
        &["front/attachment.rs"],
        &["attachments"],
    ),
    noun("runners", "diffs", &[("put", "/api/v1/runs/{run}/diff")], &["runs/diff.rs"], &["workspace_diffs"]),
    noun("runners", "events", &[("post", "/api/v1/runs/{run}/events")], &["runs/event.rs"], &["journal"]),
    noun(
        "runners",
        "status",
        &[("*", "/api/v1/commands/{command}/status"), ("*", "/api/v1/runs/{run}/status")],
        &["runs/command.rs", "runs/mod.rs"],
        &["commands", "runs"],
    ),
    noun(
        "runners",
        "jobs",
        &[("*", "/api/v1/runs/{run}/runner-jobs")],
        &["runners/job.rs"],
        &["runner_jobs"],
    ),
    noun("runs", "runs", &[("*", "/api/v1/runs")], &["runs/mod.rs", "runs/policy/mod.rs"], &["runs"]),
    noun("runs", "backends", &[("*", "/api/v1/backends")], &["runs/policy/mod.rs"], &[]),
    noun(
        "runs",
        "commands",
        &[
            ("post", "/api/v1/runs/{run}/commands"),
            ("*", "/api/v1/runs/{run}/history"),
            ("*", "/api/v1/runs/{run}/commands/{command}"),
            ("*", "/api/v1/commands/{command}/cancel"),
        ],
        &["runs/command.rs"],
        &["commands"],
    ),
    noun(
        "runs",
        "events",
        &[
            ("get", "/api/v1/runs/{run}/events"),
            ("*", "/api/v1/runs/{run}/events/stream"),
            ("*", "/api/v1/runs/{run}/events/{seq}"),
        ],
        &["runs/event.rs", "journal/mod.rs"],
        &["journal"],
    ),
    noun(
        "runs",
        "bundles",
        &[("put", "/api/v1/runs/{run}/bundle/parts/{number}")],
        &["runs/policy/workspace/upload.rs"],
        &["workspace_bundles"],
    ),
    noun("runs", "diffs", &[("get", "/api/v1/runs/{run}/diff")], &["runs/diff.rs"], &["workspace_diffs"]),
    noun(
        "runs",
        "results",
        &[("*", "/api/v1/runs/{run}/result"), ("*", "/api/v1/runs/{run}/commands/{command}/result")],
        &["runs/result.rs", "runs/fold.rs"],
        &["run_folds"],
    ),
    noun("sessions", "sessions", &[("*", "/api/v1/sessions")], &["sessions/mod.rs"], &["sessions"]),
    noun(
        "sessions",
        "storage",
        &[("*", "/api/v1/sessions/{session}/storage")],
        &["sessions/storage.rs"],
        &["sessions"],
    ),
];

const fn noun(
    group: &'static str,
    name: &'static str,
    routes: &'static [(&'static str, &'static str)],
    domain: &'static [&'static str],
    tables: &'static [&'static str],
) -> Noun {
    Noun { group, name, routes, domain, tables }
}

impl Noun {
    /// Returns how long the route of this noun is that covers a request.
    fn covers(&self, method: &str, path: &str) -> Option<usize> {
        let is_below =
            |route: &str| path == route || path.strip_prefix(route).is_some_and(|rest| rest.starts_with('/'));
        let routes =
            self.routes.iter().filter(|(verb, route)| [method, "*"].contains(verb) && is_below(route));
        routes.map(|(_, route)| route.len()).max()
    }

    /// Returns the files of this noun in a layer: its own, or those of its group where it has the group's name.
    fn files(&self, root: &Path, layer: &str) -> Vec<PathBuf> {
        let group = root.join(layer).join(self.group);
        if self.name == self.group {
            let files = std::fs::read_dir(&group).into_iter().flatten().flatten().map(|entry| entry.path());
            return files
                .filter(|file| file.extension().is_some_and(|extension| extension == "rs"))
                .collect();
        }
        let files = [group.join(format!("{}.rs", self.name)), group.join(self.name).join("mod.rs")];
        files.into_iter().filter(|file| file.is_file()).collect()
    }
}

/// Returns what is missing for an operation.
fn faults(root: &Path, operation: &str, method: &str, path: &str) -> Vec<String> {
    let best = NOUNS
        .iter()
        .filter_map(|noun| Some((noun.covers(method, path)?, noun)))
        .max_by_key(|(length, _)| *length);
    let Some((_, noun)) = best else {
        return vec![format!("{operation} ({method} {path}) belongs to no noun: add its route to NOUNS")];
    };
    let Noun { group, name, .. } = noun;
    let mut faults = Vec::new();
    let handlers = noun.files(root, "crates/api/src/http");
    let names_operation = |file: &PathBuf| {
        std::fs::read_to_string(file).is_ok_and(|source| source.contains(&format!("\"{operation}\"")))
    };
    if !handlers.iter().any(names_operation) {
        faults.push(format!("{operation}: no handler in api/src/http/{group} for the noun {name}"));
    }
    if noun.files(root, "crates/service/src").is_empty() && !WITHOUT_SERVICE.contains(name) {
        faults.push(format!("{operation}: no service/src/{group}/{name}.rs"));
    }
    let domain = noun.domain.iter().map(|file| format!("crates/domain/src/{file}"));
    let queries = noun.tables.iter().map(|table| format!("crates/store/queries/{table}"));
    let missing = domain.chain(queries).filter(|file| !root.join(file).exists());
    faults.extend(missing.map(|file| format!("{operation}: {file} does not exist")));
    faults
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace exists")
}

/// Returns the committed API document.
pub(crate) fn api_document() -> Value {
    let document =
        std::fs::read_to_string(workspace().join("schemas/openapi.json")).expect("the API document");
    serde_json::from_str(&document).expect("JSON")
}

#[test]
fn every_operation_has_its_files_by_group_and_noun() {
    let root = workspace();
    let document = api_document();
    let paths = document["paths"].as_object().expect("paths");
    let operations = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("methods");
        methods.iter().map(move |(method, operation)| (operation["operationId"].as_str(), method, path))
    });
    let mut count = 0;
    let mut found = Vec::new();
    for (operation, method, path) in operations {
        count += 1;
        found.extend(faults(&root, operation.expect("an operationId"), method, path));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
    assert!(count > 80, "only {count} operations were read");
}

#[test]
fn operation_without_files_is_reported() {
    let root = workspace();
    assert_eq!(
        faults(&root, "launchRockets", "post", "/api/v1/rockets"),
        ["launchRockets (post /api/v1/rockets) belongs to no noun: add its route to NOUNS"]
    );
    assert_eq!(
        faults(&root, "unheardOf", "post", "/api/v1/runs"),
        ["unheardOf: no handler in api/src/http/runs for the noun runs"]
    );
}
