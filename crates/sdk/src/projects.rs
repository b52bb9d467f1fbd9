//! Projects of tenants.

use guildhall_domain::ids::TenantId;
use guildhall_protocol::rest::access::projects::{CreateProject, ProjectView, ProjectsView};
use reqwest::Method;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

impl Client {
    pub async fn create_project(
        &self,
        tenant: TenantId,
        slug: &str,
        name: &str,
        idempotency_key: Option<&str>,
    ) -> Result<ProjectView, ClientError> {
        let body = CreateProject { slug: slug.to_owned(), name: name.to_owned() };
        let request = self.request(Method::POST, &["tenants", &tenant.to_string(), "projects"]).json(&body);
        self.call(with_idempotency_key(request, idempotency_key)).await
    }

    pub async fn list_projects(&self, tenant: TenantId) -> Result<Vec<ProjectView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "projects"]);
        Ok(self.call::<ProjectsView>(request).await?.projects)
    }
}
