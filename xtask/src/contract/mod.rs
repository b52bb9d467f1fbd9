//! Tests a server against the API document: schemathesis sends generated requests, and every answer must be documented.
//!
//! Three passes. The first sends requests of an operator. The second changes the password of another user, because
//! wrong current passwords lock a name. The third sends requests of runners, with tokens and ids that are created after
//! the first pass, which deletes and cancels what it finds.

mod fixture;

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{build_workspace, program, python_tool, step};
use crate::dev_server::DevServer;
use fixture::{AccountFixture, OperatorFixture, RunnerFixture};

/// Routes that accept only tokens of runners.
const RUNNER_OPERATIONS: [&str; 18] = [
    "acknowledgeCommand",
    "appendEvents",
    "askQuestion",
    "claimNextRun",
    "claimRun",
    "confirmAnswer",
    "getBundlePart",
    "getOwnEnrolment",
    "getOwnGrant",
    "getRunAttachment",
    "pollCommands",
    "putRunDiff",
    "refreshSessionStorage",
    "registerRunner",
    "setCommandStatus",
    "setRunStatus",
    "takeAnswer",
    "updateLease",
];

/// Sent by a user who may be locked.
const ACCOUNT_OPERATIONS: [&str; 1] = ["changePassword"];

/// Streams never end, signing out would revoke the token of the pass, and images cannot be generated.
const SKIPPED_OPERATIONS: [&str; 12] = [
    "connectCopilotKitAgent",
    "createAttachment",
    "followAgentThread",
    "followApprovals",
    "followAudit",
    "followInstallationAudit",
    "followRelations",
    "followRun",
    "followSession",
    "runAgentWithAgui",
    "runCopilotKitAgent",
    "signOut",
];

/// Operations with rules that the schema does not express: a request that fits it may get a documented 4xx.
const STRICTER_THAN_SCHEMA: [&str; 45] = [
    "appendEvents",          // form of commandId
    "askQuestion",           // form of commandId; rules of options and kinds; lengths in bytes
    "claimNextRun",          // form of runnerId
    "claimRun",              // form of runnerId
    "createAgent",           // rules of workspaceRef and executionPolicy; form of projectId
    "createAgentByManifest", // as createAgent
    "createAgentRun",        // rules of the protocol; form of agentId
    "createAid",             // the public key; reserved names
    "createAutomation",      // rules of the pipeline; form of agentId
    "createCommand",         // the payload of a turn has a text
    "createH2aRelation",     // scopes that the manifest declares
    "createRelation",        // as createH2aRelation
    "createRunnerJob",       // equal keys in header and body
    "createRun",             // rules of workspaceRef, executionPolicy and traceSink; form of projectId
    "createSession",         // form of projectId and backendProfile
    "createWebhook",         // form of url and agentId; events of its kind; a listener needs an agent
    "getAgentHistory",       // form of agentId; days of a month
    "getAttachmentContent",  // the signature
    "listAids",              // form of cursor
    "listApprovals",         // runId and sessionId exclude each other; form of after
    "listUsers",             // name and namePrefix exclude each other
    "markSessionRead",       // form of readerId
    "putAgentAid",           // form of aid
    "putBundlePart",         // size of a part
    "planRetention",         // historyDays needs a tenant
    "putRunDiff",            // form of commandId
    "setAccountSettings",    // names of time zones
    "setApprovalPolicy",     // fields that belong to one mode
    "reserveAid",            // form of address; reserved names
    "registerRunner",        // form of backendProfiles
    "resendWebhookEvents",   // one event or a window; form of eventId
    "setCommandStatus",      // failureKind depends on status; length of threadId
    "setGitCredential",      // form of the credential
    "setProfileCredential",  // form of baseUrl
    "setProjectSetup",       // control characters of command; form of hosts and paths
    "setRunStatus",          // failureKind depends on status; no threadId
    "setTenantBounds",       // form of patterns
    "startAutomation",       // a runner serves the profile of the agent
    "stopAgentThread",       // form of agentId
    "updateAgent",           // rules of workspaceRef and executionPolicy; form of projectId
    "updateAgentByManifest", // as updateAgent
    "updateH2aRelation",     // as createH2aRelation
    "updateRelation",        // as createH2aRelation
    "updateAutomation",      // rules of the pipeline
    "validateProfile",       // a runner serves the profile
];

/// Operations that accept requests which do not fit the schema.
const LOOSER_THAN_SCHEMA: [&str; 4] = [
    "claimWebhookEvents", // shortens a wait that is too long
    "createAgentRun",     // accepts snake_case names and unknown fields
    "pollCommands",       // shortens a wait that is too long
    "registerRunner",     // accepts any JSON as placement
];

#[derive(Args)]
pub(crate) struct ContractArgs {
    /// Seed of the generated requests
    #[arg(long, default_value_t = 7117)]
    seed: u32,
    /// Number of generated requests for each operation
    #[arg(long, default_value_t = 40)]
    examples: u32,
}

impl Default for ContractArgs {
    fn default() -> Self {
        Self { seed: 7117, examples: 40 }
    }
}

pub(crate) fn run(args: &ContractArgs) -> Result<()> {
    build_workspace()?;
    let server = start_server()?;

    let fixture = OperatorFixture::create(&server)?;
    let skipped = SKIPPED_OPERATIONS.iter().chain(&ACCOUNT_OPERATIONS).chain(&RUNNER_OPERATIONS);
    let skipped = skipped.map(|id| ("--exclude-operation-id", *id));
    schemathesis("contract: operator", args, &server, &fixture.config(), skipped)?;

    let fixture = AccountFixture::create(&server)?;
    schemathesis("contract: account", args, &server, &fixture.config(), included(&ACCOUNT_OPERATIONS))?;

    let fixture = RunnerFixture::create(&server)?;
    schemathesis("contract: runner", args, &server, &fixture.config(), included(&RUNNER_OPERATIONS))
}

fn start_server() -> Result<DevServer> {
    let mut command = Command::new(program("guildhall"));
    command
        // The runners of the check are requests; a real one would claim their runs.
        .env("GUILDHALL_LAUNCHER_KIND", "none")
        // The check sends more requests to sign-in routes than one address may by default.
        .env("GUILDHALL_LIMITS_SIGN_IN", "100000/60s")
        .env("GUILDHALL_LIMITS_ACCOUNT", "100000/60s")
        .env("GUILDHALL_HTTP_REQUEST_TIMEOUT", "120s")
        // Nobody renews the leases of the check.
        .env("GUILDHALL_RUNS_LEASE", "1h");
    DevServer::start(&mut command)
}

fn included<'a>(operations: &'a [&'a str]) -> impl Iterator<Item = (&'a str, &'a str)> {
    operations.iter().map(|id| ("--include-operation-id", *id))
}

fn schemathesis<'a>(
    name: &str,
    args: &ContractArgs,
    server: &DevServer,
    config: &str,
    operations: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<()> {
    // Schemathesis reads its configuration from the working directory, and writes its cache there.
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("schemathesis.toml"), format!("{config}{}", known_gaps()))?;
    fs::write(folder.path().join("hooks.py"), include_str!("hooks.py"))?;
    let mut command = Command::new(python_tool("schemathesis"));
    command
        .args(["run", &format!("{}/openapi.json", server.url())])
        .args(["--seed", &args.seed.to_string(), "--max-examples", &args.examples.to_string()])
        .args(["--request-timeout", "120", "--generation-database", "none", "--no-color"])
        .args(operations.flat_map(|(flag, id)| [flag, id]))
        .current_dir(folder.path())
        .env("SCHEMATHESIS_HOOKS", "hooks");
    step(name, &mut command).context(
        "an answer of the server is not as documented in schemas/openapi.json \
         (or schemathesis is missing: `.ci/setup` installs it)",
    )
}

/// Returns configuration that disables one check for each known gap; all other checks stay.
fn known_gaps() -> String {
    format!(
        "
[[operations]]
include-operation-id = {STRICTER_THAN_SCHEMA:?}
checks.positive_data_acceptance.enabled = false

[[operations]]
include-operation-id = {LOOSER_THAN_SCHEMA:?}
checks.negative_data_rejection.enabled = false
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Schemathesis ignores unknown operation ids.
    #[test]
    fn listed_operations_exist_in_the_api_document() {
        let document = fs::read_to_string(crate::command::root().join("schemas/openapi.json")).unwrap();
        let lists: [&[&str]; 5] = [
            &RUNNER_OPERATIONS,
            &ACCOUNT_OPERATIONS,
            &SKIPPED_OPERATIONS,
            &STRICTER_THAN_SCHEMA,
            &LOOSER_THAN_SCHEMA,
        ];
        for id in lists.concat() {
            assert!(document.contains(&format!("\"operationId\": \"{id}\"")), "{id}");
        }
    }
}
