//! Objects and tokens that exist before a pass, and the schemathesis configuration that uses them.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::json;

use crate::dev_server::{DevServer, OPERATOR, SIGN_IN, text};

/// The one profile that needs no credential.
const PROFILE: &str = "demo";

/// The agent's process that asks.
const PROCESS: &str = "process-of-the-check";

/// Existing objects for the requests of an operator.
pub(super) struct OperatorFixture {
    password: String,
    tenant: String,
    /// A run that no request ends.
    open: Run,
    /// A run for requests that end it.
    ended: Run,
}

impl OperatorFixture {
    pub(super) fn create(server: &DevServer) -> Result<Self> {
        let token = server.sign_in()?;
        let tenant = create_tenant(server, &token, "contract")?;
        let (open, ended) = (Run::create(server, &token, &tenant)?, Run::create(server, &token, &tenant)?);
        Ok(Self { password: server.password()?, tenant, open, ended })
    }

    /// Most requests name existing objects; the others must get 404.
    pub(super) fn config(&self) -> String {
        let Self { password, tenant, open, ended } = self;
        let open = open.parameters();
        let ended = ended.parameters();
        format!(
            r#"
# Made-up tokens would replace the valid one in many requests.
generation.with-security-parameters = false

# Schemathesis signs in by itself, because access tokens may expire during the check.
[auth.dynamic.openapi.bearer]
path = "{SIGN_IN}"
payload = {{ name = "{OPERATOR}", password = "{password}" }}
extract_selector = "/accessToken"
retry_on = [401]

[dictionaries]
tenants.values = ["{tenant}"]
projects.values = ["acme/web"]
profiles.values = ["{PROFILE}"]

[parameters]
"path.tenant" = {{ dictionary = "tenants", probability = 0.8 }}
"query.tenantId" = {{ dictionary = "tenants", probability = 0.8 }}
"body.tenantId" = {{ dictionary = "tenants", probability = 0.8 }}
"body.projectId" = {{ dictionary = "projects", probability = 0.8 }}
"body.backendProfile" = {{ dictionary = "profiles", probability = 0.8 }}
{open}

[[operations]]
include-operation-id = ["cancelRun", "cancelCommand", "controlSession"]
[operations.parameters]
{ended}

[[operations]]
include-operation-id = "createRun"
[operations.parameters]
"body.tenantId" = "{tenant}"
"body.workspaceRef" = {{ kind = "empty" }}
"#
        )
    }
}

/// A user for requests about the own account.
pub(super) struct AccountFixture {
    token: String,
}

impl AccountFixture {
    pub(super) fn create(server: &DevServer) -> Result<Self> {
        // The pass of the operator may have created users with names of its own objects.
        let user = json!({ "name": "account-of-the-check", "password": "a password of the check" });
        server.post("/api/v1/users", &server.sign_in()?, &user)?;
        Ok(Self { token: text(&server.post(SIGN_IN, "", &user)?, "accessToken")? })
    }

    pub(super) fn config(&self) -> String {
        format!("headers = {{ Authorization = \"Bearer {}\" }}\n", self.token)
    }
}

/// Existing objects for the requests of runners.
pub(super) struct RunnerFixture {
    enrolment_token: String,
    runner: String,
    /// A run to claim.
    unclaimed: Run,
    /// A run that no request ends.
    open: ClaimedRun,
    /// A run whose turn asks a question. No request ends it.
    asking: ClaimedRun,
    question: String,
    /// A run for requests that renew or release its lease.
    released: ClaimedRun,
    /// A run for requests that end it.
    ended: ClaimedRun,
}

impl RunnerFixture {
    pub(super) fn create(server: &DevServer) -> Result<Self> {
        let operator = &server.sign_in()?;
        let tenant = create_tenant(server, operator, "contract-runners")?;
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let enrolment_token = text(&server.post(&path, operator, &json!({ "name": "contract" }))?, "secret")?;
        let body = json!({ "name": "contract", "backendProfiles": [PROFILE] });
        let runner = text(&server.post("/api/v1/runners/register", &enrolment_token, &body)?, "runnerId")?;
        let claim = || -> Result<ClaimedRun> {
            let run = Run::create(server, operator, &tenant)?;
            let path = format!("/api/v1/runs/{}/claim", run.run);
            let grant = server.post(&path, &enrolment_token, &json!({ "runnerId": runner }))?;
            Ok(ClaimedRun { run, token: text(&grant, "runToken")? })
        };
        let (open, asking, released, ended) = (claim()?, claim()?, claim()?, claim()?);
        let question = asking.ask(server)?;
        let unclaimed = Run::create(server, operator, &tenant)?;
        Ok(Self { enrolment_token, runner, unclaimed, open, asking, question, released, ended })
    }

    pub(super) fn config(&self) -> String {
        let Self { enrolment_token, runner, unclaimed, open, asking, question, released, ended } = self;
        let unclaimed = unclaimed.parameters();
        let command = &asking.run.command;
        let mut config = format!(
            r#"
[dictionaries]
processes.values = ["{PROCESS}"]
commands.values = ["{command}"]
runners.values = ["{runner}"]
# Milliseconds: longer waits would make the check slow.
waits.values = [0, 20]

[parameters]
"body.runnerId" = {{ dictionary = "runners", probability = 0.8 }}
"body.commandId" = {{ dictionary = "commands", probability = 0.8 }}
"body.process" = {{ dictionary = "processes", probability = 0.8 }}
"path.approval" = "{question}"
"body.wait" = {{ dictionary = "waits" }}
"query.wait" = {{ dictionary = "waits" }}

[[operations]]
include-operation-id = ["registerRunner", "getOwnEnrolment", "claimNextRun", "claimRun"]
headers = {{ Authorization = "Bearer {enrolment_token}" }}
[operations.parameters]
{unclaimed}
"#
        );
        let operations = [
            (r#"["getOwnGrant", "pollCommands", "appendEvents", "acknowledgeCommand"]"#, open),
            (r#"["setCommandStatus", "refreshSessionStorage"]"#, open),
            (
                r#"["askQuestion", "takeAnswer", "confirmAnswer", "putRunDiff", "getBundlePart", "getRunAttachment"]"#,
                asking,
            ),
            (r#"["updateLease"]"#, released),
            (r#"["setRunStatus"]"#, ended),
        ];
        for (ids, ClaimedRun { run, token }) in operations {
            let parameters = run.parameters();
            let _ = write!(
                config,
                r#"
[[operations]]
include-operation-id = {ids}
headers = {{ Authorization = "Bearer {token}" }}
[operations.parameters]
{parameters}
"#
            );
        }
        config
    }
}

/// A run with one pending turn.
struct Run {
    run: String,
    command: String,
    session: String,
}

impl Run {
    fn create(server: &DevServer, operator: &str, tenant: &str) -> Result<Self> {
        let body = json!({
            "tenantId": tenant, "projectId": "acme/web", "workspaceRef": { "kind": "empty" },
            "providerId": "local", "backendProfile": PROFILE, "traceSink": null,
        });
        let view = server.post("/api/v1/runs", operator, &body)?;
        let (run, session) = (text(&view, "runId")?, text(&view, "sessionId")?);
        let body = json!({ "type": "turn", "payload": { "prompt": "hello" } });
        let command = server.post(&format!("/api/v1/runs/{run}/commands"), operator, &body)?;
        Ok(Self { run, command: text(&command, "commandId")?, session })
    }

    /// Returns Schemathesis settings that fill the path parameters with these ids.
    fn parameters(&self) -> String {
        let Self { run, command, session } = self;
        format!(
            "\"path.run\" = \"{run}\"\n\"path.command\" = \"{command}\"\n\"path.session\" = \"{session}\""
        )
    }
}

struct ClaimedRun {
    run: Run,
    token: String,
}

impl ClaimedRun {
    /// Starts the turn, and asks a question in it. Returns the id of the approval.
    fn ask(&self, server: &DevServer) -> Result<String> {
        let Self { run: Run { run, command, .. }, token } = self;
        server.post(&format!("/api/v1/commands/{command}/ack"), token, &json!({}))?;
        let question = json!({
            "action": {
                "kind": "command", "tool": "shell", "arguments": { "command": "ls" }, "workingDir": "/work",
                "environment": null, "lifts": [], "changes": [],
            },
            "options": [
                { "id": "yes", "label": "Allow once", "effect": "allow", "changesMode": false },
                { "id": "no", "label": "Deny", "effect": "deny", "changesMode": false },
            ],
            "reason": null, "answerSchema": null,
        });
        let body = json!({ "commandId": command, "process": PROCESS, "request": "0", "question": question });
        text(&server.post(&format!("/api/v1/runs/{run}/approvals"), token, &body)?, "approvalId")
    }
}

fn create_tenant(server: &DevServer, operator: &str, slug: &str) -> Result<String> {
    text(&server.post("/api/v1/tenants", operator, &json!({ "slug": slug, "name": slug }))?, "id")
}
