//! `guildhall tenants bounds`.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::named_enum::UnknownName;
use guildhall_domain::runs::policy::{Approval, Network, Sandbox};
use guildhall_protocol::rest::access::bounds::{SetTenantBounds, TenantBoundsView};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, resolve_tenant};
use crate::client::duration::parse_duration;
use crate::output::{format_table, print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall tenants bounds show acme
  guildhall tenants bounds set acme --project 'acme/*' --directory '/srv/acme/*' --sandbox read-only
  guildhall tenants bounds set acme --profile codex --profile demo --turn-timeout 10m --network disabled
  guildhall tenants bounds clear acme";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BoundsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Show the restrictions of a tenant, and what its runs may request
    Show {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Replace the restrictions of a tenant; an option that is not given restricts nothing
    Set(SetBoundsArgs),
    /// Remove the restrictions of a tenant
    Clear {
        /// Slug or id of the tenant
        tenant: String,
        #[command(flatten)]
        common: CommonArgs,
    },
}

/// List options can be repeated. An item is a name, `*`, or a prefix followed by `*`.
#[derive(Args)]
struct SetBoundsArgs {
    /// Slug or id of the tenant
    tenant: String,
    /// Project that runs may use, such as 'acme/*'; repeatable
    #[arg(long = "project", value_name = "PATTERN")]
    projects: Option<Vec<String>>,
    /// Provider that runs may use; repeatable
    #[arg(long = "provider", value_name = "PATTERN")]
    providers: Option<Vec<String>>,
    /// Backend profile that runs may use; repeatable
    #[arg(long = "profile", value_name = "PATTERN")]
    profiles: Option<Vec<String>>,
    /// Directory on the runner's machine that runs may use, such as '/srv/acme/*'; repeatable
    #[arg(long = "directory", value_name = "PATTERN")]
    directories: Option<Vec<String>>,
    /// Trace sink that runs may use; repeatable
    #[arg(long = "trace-sink", value_name = "PATTERN")]
    trace_sinks: Option<Vec<String>>,
    /// Least restrictive sandbox: read-only, workspace-write or danger-full-access
    #[arg(long, value_parser = parse_sandbox)]
    sandbox: Option<Sandbox>,
    /// Least restrictive approval policy: untrusted, on-request or never
    #[arg(long, value_parser = parse_approval)]
    approval: Option<Approval>,
    /// Longest turn timeout, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    turn_timeout: Option<Duration>,
    /// Network access of commands: disabled or enabled
    #[arg(long, value_parser = parse_network)]
    network: Option<Network>,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_sandbox(text: &str) -> Result<Sandbox, UnknownName> {
    Sandbox::from_name(text)
}

fn parse_approval(text: &str) -> Result<Approval, UnknownName> {
    Approval::from_name(text)
}

fn parse_network(text: &str) -> Result<Network, UnknownName> {
    Network::from_name(text)
}

pub(crate) fn run(args: &BoundsArgs) -> Result<()> {
    match &args.command {
        Commands::Show { tenant, common } => block_on(show(tenant, common)),
        Commands::Set(args) => block_on(set(args)),
        Commands::Clear { tenant, common } => block_on(clear(tenant, common)),
    }
}

async fn show(tenant: &str, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let bounds = client.get_tenant_bounds(resolve_tenant(&client, tenant).await?).await?;
    print_result(common.json, &json!(bounds), || table(&bounds))?;
    Ok(())
}

async fn set(args: &SetBoundsArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let tenant = resolve_tenant(&client, &args.tenant).await?;
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let restrictions = SetTenantBounds {
        projects: args.projects.clone(),
        providers: args.providers.clone(),
        profiles: args.profiles.clone(),
        directories: args.directories.clone(),
        trace_sinks: args.trace_sinks.clone(),
        sandbox: args.sandbox.map(|sandbox| sandbox.to_string()),
        approval: args.approval.map(|approval| approval.to_string()),
        timeout_ms: args.turn_timeout.map(milliseconds),
        network: args.network.map(|network| network.to_string()),
    };
    let bounds = client.set_tenant_bounds(tenant, &restrictions).await?;
    print_result(args.common.json, &json!(bounds), || table(&bounds))?;
    Ok(())
}

async fn clear(tenant: &str, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let bounds = client.clear_tenant_bounds(resolve_tenant(&client, tenant).await?).await?;
    print_result(common.json, &json!(bounds), || table(&bounds))?;
    Ok(())
}

/// Lists each bound with its restriction and the effective value.
fn table(bounds: &TenantBoundsView) -> String {
    let (set, effective) = (&bounds.restrictions, &bounds.effective);
    let list = |items: &[String]| {
        if items.is_empty() { "nothing".to_owned() } else { sanitize_line(&items.join(", ")) }
    };
    let restricted = |items: &Option<Vec<String>>| items.as_deref().map_or("-".to_owned(), list);
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let seconds = |ms: u64| format!("{} s", ms / 1000);
    let rows = [
        ["projects", &restricted(&set.projects), &list(&effective.projects)],
        ["providers", &restricted(&set.providers), &list(&effective.providers)],
        ["profiles", &restricted(&set.profiles), &list(&effective.profiles)],
        ["directories", &restricted(&set.directories), &list(&effective.directories)],
        ["trace sinks", &restricted(&set.trace_sinks), &list(&effective.trace_sinks)],
        ["sandbox", &value(&set.sandbox), &effective.sandbox],
        ["approval", &value(&set.approval), &effective.approval],
        ["turn timeout", &value(&set.timeout_ms.map(seconds)), &seconds(effective.timeout_ms)],
        ["network", &value(&set.network), &effective.network],
    ];
    format_table(["BOUND", "RESTRICTED TO", "EFFECTIVE"], &rows.map(|row| row.map(str::to_owned)))
}
