//! Invitations.

use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{InviteId, TenantId};
use guildhall_protocol::rest::access::invitations::{
    AcceptInvitation, AcceptedInvitationView, CreateInvitation, InvitationView, InvitationsView,
    NewInvitationView,
};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};

use crate::client::with_idempotency_key;
use crate::{Client, ClientError};

/// A created invitation.
#[derive(Debug, Clone)]
pub struct NewInvitation {
    pub id: String,
    /// Returned once; a replay of the same request has none.
    pub secret: Option<SecretString>,
}

impl Client {
    /// Creates an invitation to a role in a tenant. Whoever has the secret can accept it.
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
        let view: NewInvitationView = self.call(with_idempotency_key(request, idempotency_key)).await?;
        Ok(NewInvitation { id: view.id, secret: view.secret.map(SecretString::from) })
    }

    pub async fn list_invitations(&self, tenant: TenantId) -> Result<Vec<InvitationView>, ClientError> {
        let segments = ["tenants", &tenant.to_string(), "invitations"];
        let view: InvitationsView = self.call(self.request(Method::GET, &segments)).await?;
        Ok(view.invitations)
    }

    /// Revokes an invitation. An accepted one stays accepted.
    pub async fn revoke_invitation(&self, tenant: TenantId, id: InviteId) -> Result<(), ClientError> {
        let segments = ["tenants", &tenant.to_string(), "invitations", &id.to_string()];
        self.command(self.request(Method::DELETE, &segments)).await
    }

    /// Accepts an invitation for the caller.
    pub async fn accept_invitation(
        &self,
        secret: &SecretString,
    ) -> Result<AcceptedInvitationView, ClientError> {
        let body = AcceptInvitation { secret: secret.expose_secret().to_owned() };
        self.call(self.request(Method::POST, &["invitations", "accept"]).json(&body)).await
    }
}
