//! Enrolment tokens of runners.

use guildhall_domain::ids::{EnrolmentId, TenantId};
use guildhall_protocol::rest::runners::enrolments::{
    CreateEnrolment, EnrolmentView, EnrolmentsView, NewEnrolmentView,
};
use reqwest::Method;
use secrecy::SecretString;

use crate::client::keyed;
use crate::{Client, ClientError};

/// An enrolment that was made.
#[derive(Debug, Clone)]
pub struct NewEnrolment {
    pub id: String,
    /// Shown this once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

impl Client {
    /// Makes a token with which runners register and claim.
    pub async fn create_enrolment(
        &self,
        tenant: TenantId,
        wanted: &CreateEnrolment,
        idempotency_key: Option<&str>,
    ) -> Result<NewEnrolment, ClientError> {
        let request =
            self.request(Method::POST, &["tenants", &tenant.to_string(), "enrolments"]).json(wanted);
        let view: NewEnrolmentView = self.call(keyed(request, idempotency_key)).await?;
        Ok(NewEnrolment { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_enrolments(&self, tenant: TenantId) -> Result<Vec<EnrolmentView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "enrolments"]);
        Ok(self.call::<EnrolmentsView>(request).await?.enrolments)
    }

    /// Ends an enrolment: from the answer on it is refused everywhere, with the tokens of runs claimed under it.
    pub async fn revoke_enrolment(&self, tenant: TenantId, id: EnrolmentId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "enrolments", &id.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }
}
