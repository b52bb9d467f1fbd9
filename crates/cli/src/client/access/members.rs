//! `guildhall members`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_sdk::Client;
use serde_json::json;

use crate::client::session::{Common, OfTenant, role};
use crate::client::wait;
use crate::failure::{NotThere, Usage};
use crate::output::{clean, show, table};

const EXAMPLES: &str = "Examples:
  guildhall members ls --tenant acme
  guildhall members set prn_01920000000070008000000000000000 --role developer --tenant acme
  guildhall members set ada --role viewer --tenant acme   somebody who is a member already
  guildhall members rm ada --tenant acme";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the members of a tenant
    Ls {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Gives somebody a role in a tenant
    Set {
        /// A principal's id, or the name of a member
        member: String,
        /// owner, operator, developer or viewer
        #[arg(long, value_parser = role)]
        role: Role,
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Takes somebody's role away
    Rm {
        /// A principal's id, or the name of a member
        member: String,
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &MembersArgs) -> Result<()> {
    match &args.verb {
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
        Verb::Set { member, role, tenant, common } => wait(set(member, *role, tenant, common)),
        Verb::Rm { member, tenant, common } => wait(remove(member, tenant, common)),
    }
}

async fn list(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let members = client.list_members(tenant.find(&client).await?).await?;
    show(common.json, &json!({ "members": members }), || {
        let rows = members.iter().map(|it| [it.name.clone(), it.role.clone(), it.principal.clone()]);
        table(["NAME", "ROLE", "PRINCIPAL"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn set(member: &str, role: Role, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = tenant.find(&client).await?;
    let principal = find(&client, tenant, member).await?;
    client.set_member(tenant, principal, role).await?;
    let value = json!({ "principal": principal, "role": role });
    show(common.json, &value, || format!("{} is now {role}", clean(member)))?;
    Ok(())
}

async fn remove(member: &str, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let tenant = tenant.find(&client).await?;
    let principal = find(&client, tenant, member).await?;
    client.remove_member(tenant, principal).await?;
    let value = json!({ "principal": principal, "role": null });
    show(common.json, &value, || format!("{} is no member any more", clean(member)))?;
    Ok(())
}

/// Finds a principal by its id or, among the members, by its name.
async fn find(client: &Client, tenant: TenantId, given: &str) -> Result<PrincipalId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let members = client.list_members(tenant).await?;
    let mut found = members.into_iter().filter(|member| member.name == given);
    let first = found.next().ok_or_else(|| NotThere {
        what: "member",
        name: given.to_owned(),
        next: "for somebody new, give the id (prn_…) that `guildhall users create` printed",
    })?;
    // Keys are members too, and the names of keys are not unique.
    if found.next().is_some() {
        return Err(
            Usage("several members have this name; `guildhall members ls` shows the id of each").into()
        );
    }
    Ok(first.principal.parse()?)
}
