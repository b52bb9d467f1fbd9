//! Invitations.

use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{InviteId, TenantId};
use guildhall_protocol::rest::access::invitations::{
    AcceptInvitation, CreateInvitation, InvitationView, InvitationsView, JoinedView, NewInvitationView,
};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};

use crate::client::keyed;
use crate::{Client, ClientError};

/// An invitation that was made.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub id: String,
    /// Shown this once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

impl Client {
    /// Offers a role in a tenant to whoever gets the secret.
    pub async fn create_invitation(
        &self,
        tenant: TenantId,
        role: Role,
        email: Option<&str>,
        idempotency_key: Option<&str>,
    ) -> Result<NewInvitation, ClientError> {
        let body = CreateInvitation { role: role.as_str().to_owned(), email: email.map(str::to_owned) };
        let segments = ["tenants", &tenant.to_string(), "invitations"];
        let request = self.request(Method::POST, &segments).json(&body);
        let view: NewInvitationView = self.call(keyed(request, idempotency_key)).await?;
        Ok(NewInvitation { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_invitations(&self, tenant: TenantId) -> Result<Vec<InvitationView>, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "invitations"];
        let view: InvitationsView = self.call(self.request(Method::GET, &segments)).await?;
        Ok(view.invitations)
    }

    /// Takes an invitation back. One that was accepted stays accepted.
    pub async fn revoke_invitation(&self, tenant: TenantId, id: InviteId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "invitations", &id.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }

    /// Accepts an invitation for the caller.
    pub async fn accept_invitation(&self, secret: &SecretString) -> Result<JoinedView, ClientError> {
        let body = AcceptInvitation { secret: secret.expose_secret().to_owned() };
        self.call(self.request(Method::POST, &["invitations", "accept"]).json(&body)).await
    }
}
