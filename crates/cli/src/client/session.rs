//! What every client command has in common: which server, as whom, in which form to show, which tenant.

use anyhow::Result;
use clap::Args;
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::Client;

use crate::failure::{NotThere, Usage};
use crate::kept::{Context, Contexts, Folder, KeptTokens, NotSignedIn};

#[derive(Args)]
pub(crate) struct Common {
    /// The context to use instead of the current one
    #[arg(long, value_name = "NAME", env = "GUILDHALL_CONTEXT")]
    pub(crate) context: Option<String>,
    /// Prints JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct OfTenant {
    /// The tenant: its slug or its id
    #[arg(long)]
    tenant: String,
}

/// A tenant that need not be named.
#[derive(Args)]
pub(crate) struct SomeTenant {
    /// The tenant: its slug or its id; without it that of the context, or the only one that you belong to
    #[arg(long)]
    tenant: Option<String>,
}

/// A context that is in use.
pub(crate) struct Session {
    pub(crate) context_name: String,
    pub(crate) context: Context,
    pub(crate) tokens: KeptTokens,
    pub(crate) client: Client,
}

impl Common {
    /// Finds the context and its tokens.
    pub(crate) fn open(&self) -> Result<Session> {
        let folder = Folder::find()?;
        let contexts = Contexts::read(&folder)?;
        let (name, context) = contexts.find(self.context.as_deref())?.ok_or(NotSignedIn::Never)?;
        let tokens = KeptTokens::new(folder, name.to_owned(), Client::new(&context.url)?);
        let client = tokens.client();
        Ok(Session { context_name: name.to_owned(), context: context.clone(), tokens, client })
    }
}

impl OfTenant {
    pub(super) async fn find(&self, client: &Client) -> Result<TenantId> {
        find_tenant(client, &self.tenant).await
    }
}

impl SomeTenant {
    pub(super) async fn find(&self, session: &Session) -> Result<TenantId> {
        if let Some(named) = named_tenant(self.tenant.as_ref(), session).await? {
            return Ok(named);
        }
        let mut tenants = session.client.list_tenants().await?;
        match (tenants.pop(), tenants.is_empty()) {
            (Some(only), true) => Ok(only.tenant.id.parse()?),
            (Some(_), false) => Err(Usage(
                "you belong to several tenants: name one with --tenant, or choose one with `guildhall context tenant`",
            )
            .into()),
            (None, _) => Err(Usage("you belong to no tenant: ask its owner, or make one with `guildhall tenants create`").into()),
        }
    }
}

/// Finds the tenant that is given or that the context names, if any is.
pub(super) async fn named_tenant(given: Option<&String>, session: &Session) -> Result<Option<TenantId>> {
    match given.or(session.context.tenant.as_ref()) {
        Some(named) => find_tenant(&session.client, named).await.map(Some),
        None => Ok(None),
    }
}

/// Finds a tenant by its id or, among the caller's, by its slug.
pub(crate) async fn find_tenant(client: &Client, given: &str) -> Result<TenantId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let tenants = client.list_tenants().await?;
    let found = tenants.into_iter().find(|membership| membership.tenant.slug == given);
    let found = found.ok_or_else(|| NotThere {
        what: "tenant",
        name: given.to_owned(),
        next: "`guildhall tenants ls` shows those that you belong to",
    })?;
    Ok(found.tenant.id.parse()?)
}

/// Reads a role among the arguments; the error lists them all.
pub(super) fn role(text: &str) -> Result<Role, guildhall_domain::access::principal::UnknownName> {
    Role::from_name(text)
}
