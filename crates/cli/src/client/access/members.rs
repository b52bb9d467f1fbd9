//! `guildhall members`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::{PrincipalId, TenantId};
use guildhall_sdk::Client;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg, parse_role};
use crate::error::{NotFoundError, UsageError};
use crate::output::{format_table, print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall members ls --tenant acme
  guildhall members add ada --role developer --tenant acme
  guildhall members set ada --role viewer --tenant acme   Change the role of a member
  guildhall members rm ada --tenant acme";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MembersArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// List the members of a tenant
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Add a user to a tenant
    Add {
        /// Name that the user signs in with
        name: String,
        /// Role of the member: owner, operator, developer or viewer
        #[arg(long, value_parser = parse_role)]
        role: Role,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Change the role of a member, or add a user by id
    Set {
        /// Principal id (prn_…), or the name of an existing member
        member: String,
        /// Role of the member: owner, operator, developer or viewer
        #[arg(long, value_parser = parse_role)]
        role: Role,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Remove a member from a tenant
    Rm {
        /// Principal id (prn_…), or the name of an existing member
        member: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &MembersArgs) -> Result<()> {
    match &args.command {
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Add { name, role, tenant, common } => block_on(add(name, *role, tenant, common)),
        Commands::Set { member, role, tenant, common } => block_on(set(member, *role, tenant, common)),
        Commands::Rm { member, tenant, common } => block_on(remove(member, tenant, common)),
    }
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let members = client.list_members(tenant).await?;
    print_result(common.json, &json!({ "members": members }), || {
        let rows = members.iter().map(|it| [it.name.clone(), it.role.clone(), it.principal.clone()]);
        format_table(["NAME", "ROLE", "PRINCIPAL"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn add(name: &str, role: Role, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let member = client.add_member(tenant, name, role).await?;
    print_result(common.json, &json!(member), || format!("added {} as {role}", sanitize_line(name)))?;
    Ok(())
}

async fn set(member: &str, role: Role, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let principal = resolve_member(&client, tenant, member).await?;
    client.set_member(tenant, principal, role).await?;
    let value = json!({ "principal": principal, "role": role });
    print_result(common.json, &value, || format!("{} is now {role}", sanitize_line(member)))?;
    Ok(())
}

async fn remove(member: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let principal = resolve_member(&client, tenant, member).await?;
    client.remove_member(tenant, principal).await?;
    let value = json!({ "principal": principal, "role": null });
    print_result(common.json, &value, || format!("removed {}", sanitize_line(member)))?;
    Ok(())
}

/// Returns the id of a principal that is given as an id, or as the name of a member.
pub(crate) async fn resolve_member(client: &Client, tenant: TenantId, given: &str) -> Result<PrincipalId> {
    if let Ok(id) = given.parse() {
        return Ok(id);
    }
    let members = client.list_members(tenant).await?;
    let mut found = members.into_iter().filter(|member| member.name == given);
    let first = found.next().ok_or_else(|| NotFoundError {
        object: "member",
        name: given.to_owned(),
        next: "`guildhall members add` adds a user by name",
    })?;
    // Service keys are members too, and their names are not unique.
    if found.next().is_some() {
        return Err(UsageError(
            "several members have this name\n  next: give the principal id that `guildhall members ls` shows",
        )
        .into());
    }
    Ok(first.principal.parse()?)
}
