//! The schema of a request agrees with its parser: which properties are required, and which can be null.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::access::account::ChangePassword;
use super::access::auth::{ExchangeHandoff, Refresh, SignIn};
use super::access::bounds::SetTenantBounds;
use super::access::invitations::{AcceptInvitation, CreateInvitation};
use super::access::keys::CreateKey;
use super::access::projects::{CreateProject, SetProjectSetup};
use super::access::subject_tokens::MintSubjectToken;
use super::access::tenants::{AddMember, CreateTenant, SetMember};
use super::access::users::{CreateUser, ResetPassword};
use super::agents::aid::PutAgentAid;
use super::profiles::PutCredential;
use super::relations::{AcknowledgeNotice, CreateRelation, UpdateRelation};
use super::runners::enrolments::CreateEnrolment;
use super::runners::jobs::CreateRunnerJob;
use super::runners::{AppendEvents, ChangeLease, ClaimNext, ClaimRun, EndStatus, NewEvent, RegisterRunner};
use super::runs::commands::CreateCommand;
use super::runs::diff::PutDiff;
use super::runs::{CreateRun, SessionRef};
use super::sessions::{ControlSession, CreateSession, MarkRead, RefreshStorage};
use super::webhooks::deliveries::ResendEvents;
use super::webhooks::listeners::{ClaimEvents, ReportEvent};
use super::webhooks::{CreateWebhook, TriggerEvent, UpdateWebhook};

/// Any JSON for the parser; the handler checks it.
const ANY_JSON: [&str; 4] =
    ["CreateCommand.payload", "CreateRun.workspaceRef", "NewEvent.payload", "RegisterRunner.placement"];

/// Compares a type with its schema, on an example with all properties.
fn check<T: DeserializeOwned + ToSchema>(example: Value) {
    let name = T::name();
    let accepts = |body: &Value| serde_json::from_value::<T>(body.clone()).is_ok();
    assert!(accepts(&example), "{name}: {example}");
    let schema = serde_json::to_value(T::schema()).expect("JSON");
    assert_eq!(schema["additionalProperties"], false, "{name}");
    let properties = schema["properties"].as_object().expect("properties");
    let fields = example.as_object().expect("an object");
    assert!(properties.keys().eq(fields.keys()), "{name}: {properties:?}");
    for (field, rules) in properties {
        let mut without = fields.clone();
        without.remove(field);
        let is_required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(field)));
        assert_eq!(accepts(&without.into()), !is_required, "{name}.{field} is required or not");
        let mut with_null = example.clone();
        with_null[field] = Value::Null;
        let can_be_null = rules.to_string().contains("\"null\"");
        if !ANY_JSON.contains(&format!("{name}.{field}").as_str()) {
            assert_eq!(accepts(&with_null), can_be_null, "{name}.{field} can be null or not");
        }
    }
}

#[test]
fn access_requests_agree_with_their_schemas() {
    check::<SignIn>(json!({ "name": "ada", "password": "x" }));
    check::<Refresh>(json!({ "refreshToken": "x" }));
    check::<ExchangeHandoff>(json!({ "code": "x", "verifier": "y" }));
    check::<ChangePassword>(json!({ "currentPassword": "x", "newPassword": "y" }));
    check::<CreateUser>(json!({ "name": "ada", "password": "x" }));
    check::<ResetPassword>(json!({ "password": "x" }));
    check::<CreateTenant>(json!({ "slug": "acme", "name": "Acme" }));
    check::<AddMember>(json!({ "name": "ada", "role": "viewer" }));
    check::<SetMember>(json!({ "role": "viewer" }));
    check::<CreateInvitation>(json!({ "role": "viewer", "email": "ada@example.org" }));
    check::<AcceptInvitation>(json!({ "secret": "x" }));
    check::<CreateKey>(json!({ "name": "ci", "role": "viewer" }));
    check::<CreateProject>(json!({ "slug": "web", "name": "Web" }));
    check::<SetProjectSetup>(json!({ "command": "make", "allowedHosts": [], "cacheFiles": [] }));
    check::<CreateWebhook>(json!({
        "url": "https://example.org", "events": [], "description": "", "agentId": "agt_1", "sender": "listener",
    }));
    check::<UpdateWebhook>(json!({ "enabled": true }));
    check::<CreateRelation>(json!({
        "agent_id": "agt_01920000000070008000000000000000", "granted_scopes": [], "manifest_version": 1, "manifest_hash": "x"
    }));
    check::<UpdateRelation>(json!({ "granted_scopes": [], "manifest_version": 1, "manifest_hash": "x" }));
    check::<AcknowledgeNotice>(json!({ "manifest_version": 1 }));
    check::<PutAgentAid>(json!({ "aid": "helper.guild.example" }));
    check::<TriggerEvent>(json!({ "type": "message.new" }));
    check::<ResendEvents>(json!({
        "eventId": "evt_1", "since": "2026-11-17T08:00:00Z", "until": "2026-11-17T09:00:00Z", "only": "failed",
    }));
    check::<ClaimEvents>(json!({ "wait": 1000 }));
    check::<ReportEvent>(json!({ "eventId": "evt_1", "claim": "x", "status": 200, "durationMs": 5 }));
    check::<MintSubjectToken>(json!({ "subject": "user-1", "name": "Ada", "agentId": "helper" }));
    check::<SetTenantBounds>(json!({
        "projects": [], "providers": [], "profiles": [], "directories": [], "traceSinks": [], "timeoutMs": 1000,
        "sandbox": "read-only", "approval": "never", "network": "disabled",
    }));
}

#[test]
fn run_and_session_requests_agree_with_their_schemas() {
    check::<CreateRun>(json!({
        "tenantId": "acme", "projectId": "web", "workspaceRef": { "kind": "empty" }, "providerId": "local",
        "backendProfile": "demo", "executionPolicy": {}, "traceSink": null, "sessionRef": {}, "idempotencyKey": "k",
    }));
    check::<SessionRef>(json!({ "sessionId": "ses_01920000000070008000000000000000" }));
    check::<CreateCommand>(json!({ "type": "turn", "payload": {}, "idempotencyKey": "k" }));
    check::<CreateSession>(
        json!({ "tenantId": "acme", "projectId": "web", "backendProfile": "demo", "expiresInMs": 1 }),
    );
    check::<ControlSession>(json!({ "action": "cancel" }));
    check::<MarkRead>(json!({ "readerId": "me", "version": 1 }));
    check::<PutCredential>(json!({
        "credential": "x", "template": "codex", "baseUrl": "https://a.example", "model": "m", "wireApi": "chat",
    }));
}

#[test]
fn runner_requests_agree_with_their_schemas() {
    check::<RegisterRunner>(json!({ "name": "r", "placement": {}, "backendProfiles": [] }));
    check::<ClaimRun>(json!({ "runnerId": "r", "wait": true }));
    check::<ClaimNext>(json!({ "runnerId": "r", "wait": 1 }));
    check::<ChangeLease>(json!({ "release": true }));
    check::<AppendEvents>(json!({ "events": [] }));
    check::<NewEvent>(json!({ "id": "1", "type": "usage", "commandId": "c", "payload": {} }));
    check::<EndStatus>(json!({ "status": "failed", "failureKind": "k", "message": "m", "threadId": "t" }));
    check::<PutDiff>(json!({ "commandId": "c", "diff": "" }));
    check::<RefreshStorage>(json!({ "sizeBytes": 0, "filesCount": 0, "sha256": "0" }));
    check::<CreateEnrolment>(json!({ "name": "r", "profile": "demo", "expiresInMs": 60000 }));
    check::<CreateRunnerJob>(json!({ "commandId": "c", "idempotencyKey": "k" }));
}
