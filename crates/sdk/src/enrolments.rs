//! Enrolment tokens for runners.

use guildhall_domain::ids::{EnrolmentId, TenantId};
use guildhall_protocol::rest::runners::enrolments::{
    CreateEnrolment, EnrolmentView, EnrolmentsView, NewEnrolmentView,
};
use reqwest::Method;
use secrecy::SecretString;

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

/// A created enrolment.
#[derive(Debug, Clone)]
pub struct NewEnrolment {
    pub id: String,
    /// Returned once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

impl Client {
    /// Creates a token with which runners register and claim runs.
    pub async fn create_enrolment(
        &self,
        tenant: TenantId,
        request_body: &CreateEnrolment,
        idempotency_key: Option<&str>,
    ) -> Result<NewEnrolment, ClientError> {
        let request =
            self.request(Method::POST, &["tenants", &tenant.to_string(), "enrolments"]).json(request_body);
        let view: NewEnrolmentView = self.call(with_idempotency_key(request, idempotency_key)).await?;
        Ok(NewEnrolment { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_enrolments(&self, tenant: TenantId) -> Result<Vec<EnrolmentView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "enrolments"]);
        Ok(self.call::<EnrolmentsView>(request).await?.enrolments)
    }

    /// Revokes an enrolment, and with it the tokens of the runs that were claimed under it.
    pub async fn revoke_enrolment(&self, tenant: TenantId, id: EnrolmentId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "enrolments", &id.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }
}
