//! Two replicas with users, tenants and keys.

use std::time::{Duration, Instant};

use guildhall_testkit::{SqlConnection, TestDb};
use reqwest::Method;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::manifests::manifest;
use super::runs::agent_request;
use super::{Setup, TestResponse, TestServer, read_response};

pub(crate) const PASSWORD: &str = "correct horse battery";

/// A user with tokens.
#[derive(Debug, Clone)]
pub(crate) struct SignedInUser {
    pub(crate) principal: String,
    pub(crate) token: String,
    pub(crate) refresh_token: String,
}

impl TestServer {
    /// Sends a request with a bearer token and an optional JSON body.
    pub(crate) async fn request_as(
        &self,
        method: Method,
        path: &str,
        bearer: &str,
        body: Option<Value>,
    ) -> TestResponse {
        let mut request = self.client.request(method, self.url(path)).bearer_auth(bearer);
        if let Some(body) = body {
            request = request.json(&body);
        }
        read_response(request.send().await.expect("a response")).await
    }

    pub(crate) async fn get_as(&self, path: &str, bearer: &str) -> TestResponse {
        self.request_as(Method::GET, path, bearer, None).await
    }

    pub(crate) async fn post_as(&self, path: &str, bearer: &str, body: Value) -> TestResponse {
        self.request_as(Method::POST, path, bearer, Some(body)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> TestResponse {
        read_response(self.client.post(self.url(path)).json(&body).send().await.expect("a response")).await
    }

    pub(crate) async fn try_sign_in(&self, name: &str, password: &str) -> TestResponse {
        self.post("/api/v1/auth/login", json!({ "name": name, "password": password })).await
    }

    pub(crate) async fn sign_in(&self, name: &str) -> SignedInUser {
        let response = self.try_sign_in(name, PASSWORD).await;
        assert_eq!(response.status, 200, "{}", response.text);
        signed_in_user(&response.body)
    }
}

pub(crate) fn signed_in_user(tokens: &Value) -> SignedInUser {
    let text = |name: &str| tokens[name].as_str().expect(name).to_owned();
    SignedInUser {
        principal: text("principal"),
        token: text("accessToken"),
        refresh_token: text("refreshToken"),
    }
}

/// Two replicas on one database, and their operator.
pub(crate) struct Cluster {
    pub(crate) first: TestServer,
    pub(crate) second: TestServer,
    pub(crate) operator: SignedInUser,
    // Last, so that the servers are dropped before their database.
    pub(crate) db: TestDb,
}

impl Cluster {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        Self::with_setup(Setup::new(&db), db).await
    }

    pub(crate) async fn with_setup(setup: Setup, db: TestDb) -> Self {
        Self::with_setups(setup.clone(), setup, db).await
    }

    /// Starts two replicas with different configurations.
    pub(crate) async fn with_setups(first: Setup, second: Setup, db: TestDb) -> Self {
        let (first, second) = tokio::join!(first.start(), second.start());
        let created = first.server.create_first_user("operator", &SecretString::from(PASSWORD)).await;
        assert!(created.expect("created"), "the database is not empty");
        let operator = first.sign_in("operator").await;
        Self { first, second, operator, db }
    }

    /// Creates a user and signs in.
    pub(crate) async fn create_user(&self, name: &str) -> SignedInUser {
        let body = json!({ "name": name, "password": PASSWORD });
        let response = self.first.post_as("/api/v1/users", &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        self.second.sign_in(name).await
    }

    /// Creates a tenant that the operator owns, and returns its id.
    pub(crate) async fn create_tenant(&self, slug: &str) -> String {
        let body = json!({ "slug": slug, "name": slug });
        let response = self.first.post_as("/api/v1/tenants", &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.body["id"].as_str().expect("an id").to_owned()
    }

    /// Sets the role of a user in a tenant.
    pub(crate) async fn set_role(&self, tenant: &str, user: &SignedInUser, role: &str) {
        let path = format!("/api/v1/tenants/{tenant}/members/{}", user.principal);
        let response = self
            .first
            .request_as(Method::PUT, &path, &self.operator.token, Some(json!({ "role": role })))
            .await;
        assert_eq!(response.status, 200, "{}", response.text);
    }

    /// Inserts a membership that the API refuses, as an older version could create it.
    pub(crate) async fn insert_membership(&self, tenant: &str, principal: &str, role: &str) {
        let (tenant, principal) = (tenant.trim_start_matches("ten_"), principal.trim_start_matches("prn_"));
        let sql = format!("INSERT INTO memberships VALUES ('{tenant}', '{principal}', '{role}')");
        self.db.sql().await.execute(sql).await;
    }

    /// Creates an enrolment, and returns its id and its secret.
    pub(crate) async fn create_enrolment(&self, tenant: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let response = self.first.post_as(&path, &self.operator.token, json!({ "name": "runners" })).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }

    /// Creates a project, and returns its id.
    pub(crate) async fn create_project(&self, tenant: &str, slug: &str) -> String {
        let (path, body) =
            (format!("/api/v1/tenants/{tenant}/projects"), json!({ "slug": slug, "name": slug }));
        let response = self.first.post_as(&path, &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.body["id"].as_str().expect("an id").to_owned()
    }

    /// Mints a token for an external subject with a service key.
    pub(crate) async fn mint_subject_token(&self, tenant: &str, key: &str, subject: &str) -> TestResponse {
        let path = format!("/api/v1/tenants/{tenant}/subject-tokens");
        self.first.post_as(&path, key, json!({ "subject": subject })).await
    }

    /// Creates a service key, and returns its id and its secret.
    pub(crate) async fn create_key(&self, tenant: &str, role: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/keys");
        let response =
            self.first.post_as(&path, &self.operator.token, json!({ "name": "ci", "role": role })).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }

    /// Creates a webhook for all events, and returns its id and its secret.
    pub(crate) async fn create_webhook(&self, tenant: &str, url: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/webhooks");
        let body =
            json!({ "url": url, "events": ["approval.requested", "approval.decided", "approval.withdrawn"] });
        let response = self.first.post_as(&path, &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }

    /// Creates an agent with the demo profile, and returns its id.
    pub(crate) async fn create_agent(&self, tenant: &str, slug: &str) -> String {
        let body = agent_request(tenant, slug);
        let response = self.first.post_as("/api/v1/agents", &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.body["id"].as_str().expect("an id").to_owned()
    }

    /// Declares a manifest for an agent, and grants its scope as the operator. Returns the id of the relation.
    pub(crate) async fn create_relation(&self, agent: &str) -> String {
        let declare = json!({ "capability_manifest": manifest() });
        let (server, token) = (&self.first, &self.operator.token);
        let path = format!("/agents/{agent}");
        let declared = server.request_as(Method::PATCH, &path, token, Some(declare)).await;
        assert_eq!(declared.status, 200, "{}", declared.text);
        let grant = json!({ "agent_id": agent, "granted_scopes": ["filesystem:read"] });
        let granted = server.post_as("/h2a/relations", token, grant).await;
        assert_eq!(granted.status, 201, "{}", granted.text);
        granted.body["id"].as_str().expect("an id").to_owned()
    }

    /// Creates an automation of an agent, and returns its id.
    pub(crate) async fn create_automation(&self, tenant: &str, agent: &str) -> String {
        let body = json!({ "tenantId": tenant, "agentId": agent, "slug": "daily", "name": "Daily", "prompt": "report" });
        let response = self.first.post_as("/api/v1/automations", &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        response.body["id"].as_str().expect("an id").to_owned()
    }

    /// Creates an invitation, and returns its id and its secret.
    pub(crate) async fn create_invitation(&self, tenant: &str, role: &str) -> (String, String) {
        let path = format!("/api/v1/tenants/{tenant}/invitations");
        let body = json!({ "role": role, "email": "somebody@example.org" });
        let response = self.first.post_as(&path, &self.operator.token, body).await;
        assert_eq!(response.status, 201, "{}", response.text);
        let text = |name: &str| response.body[name].as_str().expect(name).to_owned();
        (text("id"), text("secret"))
    }
}

/// Waits until a statement of a server waits for a lock.
pub(crate) async fn wait_for_lock(watch: &mut SqlConnection) {
    let waiting = "SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let deadline = Instant::now() + Duration::from_secs(120);
    while watch.number(waiting).await < 1 {
        assert!(Instant::now() < deadline, "the request does not wait for the lock");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
