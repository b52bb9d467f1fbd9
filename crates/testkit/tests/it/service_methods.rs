//! Services name in their signatures who may call them: an asynchronous method takes a proof, or is listed with a reason.

use std::collections::BTreeSet;

use crate::authority::{names, parameter_types, parse_all};

/// Types that only a check of the caller can make.
const PROOFS: &[&str] = &[
    "Authorized",
    "InstallationOperator",
    "ThreadOwner",
    "ProfileManager",
    "Enrolment",
    "RunGrant",
    "VerifiedRunToken",
    "SignedRunToken",
    "AidSession",
    "InboxClient",
];

/// Methods for anyone with a valid token: they show or change what is the caller's own.
const OWN: &[&str] = &[
    "access/account.rs::change_password",
    "access/account.rs::end_logins",
    "access/account.rs::set_settings",
    "access/account.rs::settings",
    "access/auth.rs::sign_out",
    "access/authority.rs::watch",
    "access/invitations.rs::accept",
    "access/tenants.rs::list",
    "identity/aids.rs::get",
    "identity/aids.rs::list",
    "identity/aids.rs::renew",
    "identity/aids.rs::revoke",
    "relations/mod.rs::acknowledge",
    "relations/mod.rs::active_with",
    "relations/mod.rs::change",
    "relations/mod.rs::follow",
    "relations/mod.rs::get",
    "relations/mod.rs::grant",
    "relations/mod.rs::history",
    "relations/mod.rs::list",
    "relations/mod.rs::offer",
    "relations/revoke.rs::revoke",
    "sessions/mod.rs::list",
];

/// Methods that check a credential themselves: a password, a token, a signature or a signed link.
const CREDENTIALS: &[&str] = &[
    "access/auth.rs::Auth::authenticate",
    "access/auth.rs::Auth::authenticate_bearer",
    "access/auth.rs::Auth::refresh",
    "access/auth.rs::Auth::sign_in",
    "access/browser_session.rs::Auth::authenticate_browser",
    "access/browser_session.rs::Auth::sign_in_browser",
    "access/oidc/callback.rs::Oidc::complete",
    "access/oidc/confirmation.rs::Oidc::complete_confirmation",
    "access/oidc/confirmation.rs::Oidc::confirmation_prompt",
    "access/oidc/handoff.rs::Oidc::exchange",
    "access/oidc/mod.rs::Oidc::start",
    "access/signing.rs::Signing::verify",
    "front/attachments.rs::Attachments::verify",
    "identity/aids.rs::Aids::register",
    "identity/logins.rs::AidLogins::authenticate",
    "identity/logins.rs::AidLogins::complete",
    "identity/logins.rs::AidLogins::refresh",
    "identity/logins.rs::AidLogins::rekey",
    "identity/logins.rs::AidLogins::renew",
    "identity/logins.rs::AidLogins::start",
    "messages/signed_calls.rs::SignedCalls::verify",
    "runners/claims.rs::Claims::claim_next",
    "runners/tokens.rs::RunnerTokens::enrolment",
    "runners/tokens.rs::RunnerTokens::verify",
    "runners/tokens.rs::RunnerTokens::verify_cached",
    "runners/tokens.rs::RunnerTokens::verify_signature",
];

/// Methods that show what is public.
const PUBLIC: &[&str] = &[
    "agents/manifests.rs::Manifests::published",
    "identity/pki.rs::Pki::certificate",
    "identity/pki.rs::Pki::ocsp",
    "identity/pki.rs::Pki::revocation_list",
    "identity/pki.rs::Pki::trust_roots",
    "identity/transparency.rs::Transparency::entries",
    "identity/transparency.rs::Transparency::entry",
    "identity/transparency.rs::Transparency::find",
    "identity/transparency.rs::Transparency::head",
    "identity/transparency.rs::Transparency::prove_consistency",
    "identity/transparency.rs::Transparency::prove_inclusion",
    "ops/health.rs::Health::replicas",
];

/// Methods of what a method with a proof has opened.
const OPENED: &[&str] = &[
    "access/audit.rs::AuditStream::next",
    "access/authority.rs::AuthorityWatch::ended",
    "access/authority.rs::AuthorityWatch::fresh",
    "approvals/stream.rs::ApprovalStream::next",
    "journal/follow.rs::Follower::next",
    "journal/follow.rs::GrowthListener::next",
    "messages/hub.rs::Subscription::next",
    "relations/watch.rs::RelationWatch::next",
    "runs/events.rs::RunStream::next",
    "sessions/follow.rs::SessionStream::next",
];

/// Methods that find the tenant in which the right of the caller is checked.
const TENANT: &[&str] = &[
    "access/tenants.rs::Tenants::resolve",
    "agents/automations.rs::Automations::tenant_of",
    "agents/mod.rs::Agents::tenant_of",
    "approvals/mod.rs::Approvals::tenant_of",
    "approvals/rules.rs::Rules::tenant_of",
    "runs/commands.rs::Commands::tenant_of",
    "runs/mod.rs::Runs::tenant_of",
    "sessions/mod.rs::Sessions::tenant_of",
    "webhooks/mod.rs::Webhooks::tenant_of",
];

/// Methods for handlers that have checked the right in the object that they pass on.
const CHECKED: &[&str] = &[
    "approvals/policies.rs::Policies::of_tenant",
    "front/agent_runs.rs::AgentRuns::find_turn",
    "front/agent_runs.rs::AgentRuns::known_messages",
    "front/attachments.rs::Attachments::read",
    "front/attachments.rs::Attachments::receive",
    "messages/mod.rs::Group::inbox_of",
    "relations/mod.rs::Relations::list_active",
    "relations/mod.rs::Relations::watch",
    "runs/backends.rs::Backends::list",
    "runs/list.rs::Runs::view_loaded",
];

/// Methods of the server itself: at its start, in its tasks, and for its limits.
const SERVER: &[&str] = &[
    "access/audit.rs::Audit::append",
    "access/audit_anchors.rs::AnchorFile::append",
    "access/audit_anchors.rs::AnchorFile::refresh",
    "access/signing.rs::Signing::reconcile",
    "access/tenants.rs::Tenants::create_first",
    "access/users.rs::Users::create_first",
    "front/agent_inboxes/mod.rs::AgentInboxes::create_first",
    "front/object_storage.rs::ObjectStorage::delete",
    "front/object_storage.rs::ObjectStorage::get",
    "front/object_storage.rs::ObjectStorage::put",
    "journal/mod.rs::Journals::append",
    "messages/mod.rs::Group::hosted_client",
    "messages/reconcile.rs::ExpireMessages::create_partitions",
    "ops/gauges.rs::Gauges::refresh",
    "ops/health.rs::Health::start_probes",
    "ops/rates/mod.rs::Rates::count",
    "ops/rates/mod.rs::Rates::count_events",
    "retention/erase.rs::EraseExpired::erase_at",
];

#[derive(Debug, Default, PartialEq, Eq)]
struct MethodsWithoutProof {
    /// They take a caller, whose right nobody has checked.
    own: BTreeSet<String>,
    /// They take neither.
    other: BTreeSet<String>,
}

/// Adds the public asynchronous methods of a file that take no proof. Others have no I/O.
fn add_methods_without_proof(file: &str, source: &syn::File, found: &mut MethodsWithoutProof) {
    for item in &source.items {
        let syn::Item::Impl(block) = item else { continue };
        let (None, syn::Type::Path(path)) = (&block.trait_, &*block.self_ty) else { continue };
        let name = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        for item in &block.items {
            let syn::ImplItem::Fn(method) = item else { continue };
            let types = parameter_types(&method.sig);
            if !matches!(method.vis, syn::Visibility::Public(_)) {
                continue;
            }
            if types.contains("Caller") {
                found.own.insert(format!("{file}::{}", method.sig.ident));
            } else if method.sig.asyncness.is_some()
                && method.sig.receiver().is_some()
                && !PROOFS.iter().any(|proof| types.contains(*proof))
            {
                found.other.insert(format!("{file}::{name}::{}", method.sig.ident));
            }
        }
    }
}

#[test]
fn service_methods_take_a_proof_of_authority() {
    let mut found = MethodsWithoutProof::default();
    for (file, source) in parse_all("crates/service/src") {
        add_methods_without_proof(&file, &source, &mut found);
    }
    let other = [CREDENTIALS, PUBLIC, OPENED, TENANT, CHECKED, SERVER].concat();
    let expected = MethodsWithoutProof { own: names(OWN), other: names(&other) };
    let new: Vec<_> = found.other.difference(&expected.other).collect();
    assert!(new.is_empty(), "let these take a proof of {PROOFS:?}, or list them with a reason: {new:#?}");
    assert_eq!(found, expected, "listed methods exist and take no proof");
}

#[test]
fn service_method_without_a_proof_is_found() {
    let source = "
        impl Runs {
            pub async fn a(&self, caller: &Authorized<RunsRead>) {}
            pub async fn b(&self, run: RunId) {}
            pub async fn c(&self, caller: &Caller) {}
            pub fn d(&self, run: RunId) {}
            pub(crate) async fn e(&self) {}
            pub async fn f(store: Store) {}
        }
        impl Reconciler for Runs { async fn g(&self) {} }";
    let mut found = MethodsWithoutProof::default();
    add_methods_without_proof("x.rs", &syn::parse_file(source).expect("Rust"), &mut found);
    assert_eq!(found, MethodsWithoutProof { own: names(&["x.rs::c"]), other: names(&["x.rs::Runs::b"]) });
}
