//! Arguments that client commands share, and the connection to the server of a context.

use anyhow::Result;
use clap::Args;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::Client;

use crate::config_dir::{ConfigDir, Context, Contexts, NotSignedIn, StoredTokenSource};
use crate::error::{NotFoundError, UsageError};
use crate::server_client::client;

#[derive(Args)]
pub(crate) struct CommonArgs {
    /// Context to use; without it the current context
    #[arg(long, value_name = "NAME", env = "GUILDHALL_CONTEXT")]
    pub(crate) context: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `--tenant`, with a default.
#[derive(Args)]
pub(crate) struct TenantArg {
    /// Slug or id of the tenant; without it the tenant of the context, or your only tenant
    #[arg(long)]
    tenant: Option<String>,
}

/// A context and an authenticated client for its server.
pub(crate) struct Connection {
    pub(crate) context_name: String,
    pub(crate) context: Context,
    pub(crate) tokens: StoredTokenSource,
    pub(crate) client: Client,
}

impl CommonArgs {
    /// Finds the context and its tokens. Sends no request.
    pub(crate) fn connect(&self) -> Result<Connection> {
        let dir = ConfigDir::find()?;
        let contexts = Contexts::load(&dir)?;
        let (name, context) = contexts.find(self.context.as_deref())?.ok_or(NotSignedIn::NoContext)?;
        let tokens = StoredTokenSource::new(dir, name.to_owned(), client(&context.url)?);
        let client = tokens.client();
        Ok(Connection { context_name: name.to_owned(), context: context.clone(), tokens, client })
    }
}

impl TenantArg {
    /// Returns a client and the tenant that its calls are about.
    pub(crate) async fn connect(&self, common: &CommonArgs) -> Result<(Client, TenantId)> {
        let connection = common.connect()?;
        let tenant = self.resolve(&connection).await?;
        Ok((connection.client, tenant))
    }

    pub(super) async fn resolve(&self, connection: &Connection) -> Result<TenantId> {
        if let Some(tenant) = resolve_optional_tenant(self.tenant.as_ref(), connection).await? {
            return Ok(tenant);
        }
        let mut tenants = connection.client.list_tenants().await?;
        match (tenants.pop(), tenants.is_empty()) {
            (Some(only), true) => Ok(only.tenant.id.parse()?),
            (Some(_), false) => Err(UsageError(
                "no tenant selected: you are a member of several\n  \
                 next: add --tenant, or set a default with `guildhall context tenant`",
            )
            .into()),
            (None, _) => Err(UsageError(
                "you are not a member of any tenant\n  \
                 next: ask an owner to add you, or create one with `guildhall tenants create`",
            )
            .into()),
        }
    }
}

/// Resolves the given tenant, or else the tenant of the context. `None` if neither is set.
pub(super) async fn resolve_optional_tenant(
    given: Option<&String>,
    connection: &Connection,
) -> Result<Option<TenantId>> {
    match given.or(connection.context.tenant.as_ref()) {
        Some(tenant) => resolve_tenant(&connection.client, tenant).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the id of a tenant that is given as an id, or as the slug of one of the user's tenants.
pub(crate) async fn resolve_tenant(client: &Client, given: &str) -> Result<TenantId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let tenants = client.list_tenants().await?;
    let found = tenants.into_iter().find(|membership| membership.tenant.slug == given);
    let found = found.ok_or_else(|| NotFoundError {
        object: "tenant",
        name: given.to_owned(),
        next: "`guildhall tenants ls` lists your tenants",
    })?;
    Ok(found.tenant.id.parse()?)
}

/// Parses a role argument; the error lists all roles.
pub(super) fn parse_role(text: &str) -> Result<Role, guildhall_domain::named_enum::UnknownName> {
    Role::from_name(text)
}
