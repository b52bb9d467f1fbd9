//! The log that a command reads.

use anyhow::Result;
use clap::Args;
use guildhall_domain::access::audit_checkpoint::AuditLog;
use guildhall_sdk::Client;

use crate::client::connection::{CommonArgs, TenantArg};

#[derive(Args)]
pub(super) struct AuditLogArg {
    #[command(flatten)]
    tenant: TenantArg,
    /// Read the log of the installation (operators only)
    #[arg(long, conflicts_with = "tenant")]
    installation: bool,
}

impl AuditLogArg {
    /// Returns a client and the log that it reads.
    pub(super) async fn connect(&self, common: &CommonArgs) -> Result<(Client, AuditLog)> {
        if self.installation {
            return Ok((common.connect()?.client, AuditLog::Installation));
        }
        let (client, tenant) = self.tenant.connect(common).await?;
        Ok((client, AuditLog::Tenant(tenant)))
    }
}
