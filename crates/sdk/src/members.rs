//! Members of a tenant.

use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_protocol::rest::access::tenants::{AddMember, MemberView, MembersView, SetMember};
use reqwest::{Method, RequestBuilder};

use crate::{Client, ClientError};

impl Client {
    pub async fn list_members(&self, tenant: TenantId) -> Result<Vec<MemberView>, ClientError> {
        let request = self.request(Method::GET, &["tenants", &tenant.to_string(), "members"]);
        let view: MembersView = self.call(request).await?;
        Ok(view.members)
    }

    /// Adds the user who signs in with a name.
    pub async fn add_member(
        &self,
        tenant: TenantId,
        name: &str,
        role: Role,
    ) -> Result<MemberView, ClientError> {
        let body = AddMember { name: name.to_owned(), role: role.as_str().to_owned() };
        self.call(self.request(Method::POST, &["tenants", &tenant.to_string(), "members"]).json(&body)).await
    }

    /// Sets the role of a principal, replacing an earlier one.
    pub async fn set_member(
        &self,
        tenant: TenantId,
        principal: PrincipalId,
        role: Role,
    ) -> Result<(), ClientError> {
        let body = SetMember { role: role.as_str().to_owned() };
        self.command(self.member_request(Method::PUT, tenant, principal).json(&body)).await
    }

    pub async fn remove_member(&self, tenant: TenantId, principal: PrincipalId) -> Result<(), ClientError> {
        self.command(self.member_request(Method::DELETE, tenant, principal)).await
    }

    fn member_request(&self, method: Method, tenant: TenantId, principal: PrincipalId) -> RequestBuilder {
        self.request(method, &["tenants", &tenant.to_string(), "members", &principal.to_string()])
    }
}
