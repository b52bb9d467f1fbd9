//! Provider profiles, and worlds that keep them.

use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::people::World;
use super::runs::text;
use super::{Answer, Setup, TestServer};

impl World {
    /// Two replicas that keep credentials in the same folder.
    pub(crate) async fn keeping_secrets(folder: &TempDir) -> Self {
        let db = TestDb::new().await;
        let setup = keeping(Setup::on(&db), folder);
        Self::on(setup, db).await
    }

    /// Makes a profile of a tenant and begins to try it. Returns its slug and the validation's id.
    pub(crate) async fn tried_profile(&self, tenant: &str) -> (String, String) {
        let body = json!({ "credential": "sk-theirs" });
        let kept = self.one.put_credential(tenant, "their-own", &self.operator.access, body).await;
        assert_eq!(kept.status, 200, "{}", kept.text);
        let tried = self.one.validate(tenant, "their-own", &self.operator.access).await;
        assert_eq!(tried.status, 202, "{}", tried.text);
        ("their-own".to_owned(), text(&tried.body, "validationId"))
    }
}

pub(crate) fn keeping(setup: Setup, folder: &TempDir) -> Setup {
    setup.with("secrets.folder", folder.path().join("secrets").display())
}

impl TestServer {
    pub(crate) async fn put_credential(&self, tenant: &str, slug: &str, bearer: &str, body: Value) -> Answer {
        let path = format!("/api/v1/provider-profiles/{slug}/credential?tenantId={tenant}");
        self.ask(Method::PUT, &path, bearer, Some(body)).await
    }

    pub(crate) async fn validate(&self, tenant: &str, slug: &str, bearer: &str) -> Answer {
        let path = format!("/api/v1/provider-profiles/{slug}/validate?tenantId={tenant}");
        self.ask(Method::POST, &path, bearer, None).await
    }
}
