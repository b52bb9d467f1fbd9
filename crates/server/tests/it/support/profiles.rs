//! Provider profiles, and clusters that store their credentials.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::cluster::Cluster;
use super::runs::text;
use super::{Setup, TestResponse, TestServer};

impl Cluster {
    /// Starts two replicas that store credentials in the same folder.
    pub(crate) async fn with_secrets_folder(folder: &TempDir) -> Self {
        let db = TestDb::new().await;
        let setup = with_secrets_folder(Setup::new(&db), folder);
        Self::with_setup(setup, db).await
    }

    /// Creates a profile of a tenant and starts its validation. Returns the slug and the id of the validation.
    pub(crate) async fn start_validation(&self, tenant: &str) -> (String, String) {
        let body = json!({ "credential": "sk-theirs", "template": "codex" });
        let stored = self.first.put_credential(tenant, "their-own", &self.operator.token, body).await;
        assert_eq!(stored.status, 200, "{}", stored.text);
        let started = self.first.validate_profile(tenant, "their-own", &self.operator.token).await;
        assert_eq!(started.status, 202, "{}", started.text);
        ("their-own".to_owned(), text(&started.body, "validationId"))
    }
}

pub(crate) fn with_secrets_folder(setup: Setup, folder: &TempDir) -> Setup {
    setup.with("secrets.folder", folder.path().join("secrets").display())
}

impl TestServer {
    pub(crate) async fn put_credential(
        &self,
        tenant: &str,
        slug: &str,
        bearer: &str,
        body: Value,
    ) -> TestResponse {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={tenant}");
        self.request_as(Method::PUT, &path, bearer, Some(body)).await
    }

    pub(crate) async fn validate_profile(&self, tenant: &str, slug: &str, bearer: &str) -> TestResponse {
        let path = format!("/api/v1/provider-profiles/{slug}/validate?tenantId={tenant}");
        self.request_as(Method::POST, &path, bearer, None).await
    }
}
