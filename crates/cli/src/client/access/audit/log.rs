//! The log that a command reads.

use anyhow::Result;
use clap::Args;
use guildhall_domain::access::audit_checkpoint::AuditLog;
use guildhall_sdk::Client;

use crate::client::connection::resolve_tenant;

#[derive(Args)]
#[group(required = true, multiple = false)]
pub(super) struct AuditLogArg {
    /// Slug or id of the tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Read the log of the installation (operators only)
    #[arg(long)]
    installation: bool,
}

impl AuditLogArg {
    pub(super) async fn resolve(&self, client: &Client) -> Result<AuditLog> {
        match &self.tenant {
            Some(tenant) => Ok(AuditLog::Tenant(resolve_tenant(client, tenant).await?)),
            None => Ok(AuditLog::Installation),
        }
    }
}
