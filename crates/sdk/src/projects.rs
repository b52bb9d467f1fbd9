//! Projects of tenants.

use guildhall_domain::ids::{ProjectId, TenantId};
use guildhall_protocol::rest::access::projects::{CreateProject, ProjectView, ProjectsView, SetProjectSetup};
use reqwest::{Method, RequestBuilder};

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

    pub async fn get_project(
        &self,
        tenant: TenantId,
        project: ProjectId,
    ) -> Result<ProjectView, ClientError> {
        let path = ["tenants", &tenant.to_string(), "projects", &project.to_string()];
        self.call(self.request(Method::GET, &path)).await
    }

    /// Replaces the setup of a project.
    pub async fn set_project_setup(
        &self,
        tenant: TenantId,
        project: ProjectId,
        setup: &SetProjectSetup,
    ) -> Result<ProjectView, ClientError> {
        self.call(self.setup_request(Method::PUT, tenant, project).json(setup)).await
    }

    /// Removes the setup of a project.
    pub async fn clear_project_setup(
        &self,
        tenant: TenantId,
        project: ProjectId,
    ) -> Result<ProjectView, ClientError> {
        self.call(self.setup_request(Method::DELETE, tenant, project)).await
    }

    fn setup_request(&self, method: Method, tenant: TenantId, project: ProjectId) -> RequestBuilder {
        self.request(method, &["tenants", &tenant.to_string(), "projects", &project.to_string(), "setup"])
    }
}
