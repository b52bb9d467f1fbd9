//! `guildhall enrolments`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::EnrolmentId;
use guildhall_protocol::rest::runners::enrolments::CreateEnrolment;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall enrolments create 'gpu machines' --profile codex --days 30 --tenant acme
  guildhall enrolments ls --tenant acme
  guildhall enrolments revoke enr_01920000000070008000000000000000 --tenant acme

With an enrolment token a runner registers and claims runs; it allows nothing else. It is shown only once.";

/// Milliseconds of a day.
const DAY_MS: u64 = 24 * 3600 * 1000;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EnrolmentsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct CreateArgs {
    /// Name of the enrolment, such as the machines that use it
    name: String,
    /// Backend profile whose runs may be claimed; without it any profile
    #[arg(long)]
    profile: Option<String>,
    /// Days until the token expires, 1 to 365; without it 7
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=365))]
    days: Option<u64>,
    /// Idempotency key: a repeated command with the same key does not create a second enrolment
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create an enrolment token and print it; it is not shown again
    Create(CreateArgs),
    /// List the enrolments of a tenant, without their tokens
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Revoke an enrolment and the tokens of runs claimed with it; they stop working at once
    Revoke {
        /// Id of the enrolment
        #[arg(value_name = "ENROLMENT")]
        id: EnrolmentId,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &EnrolmentsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Revoke { id, tenant, common } => block_on(revoke(*id, tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let request = CreateEnrolment {
        name: args.name.clone(),
        profile: args.profile.clone(),
        expires_in_ms: args.days.map(|days| days * DAY_MS),
    };
    let created = client.create_enrolment(tenant, &request, args.idempotency_key.as_deref()).await?;
    let secret = created.secret.as_ref().map(ExposeSecret::expose_secret);
    print_result(args.common.json, &json!({ "id": created.id, "secret": secret }), || match secret {
        Some(secret) => format!("created enrolment {}; its token is shown only now:\n\n{secret}", created.id),
        None => {
            format!(
                "enrolment {} already exists for this idempotency key; its token is not shown again",
                created.id
            )
        }
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let enrolments = client.list_enrolments(tenant).await?;
    print_result(common.json, &json!({ "enrolments": enrolments }), || {
        let rows = enrolments.iter().map(|it| {
            let (used, revoked) =
                (format_optional_time(it.last_used_at), format_optional_time(it.revoked_at));
            let profile = it.profile.clone().unwrap_or_else(|| "any".to_owned());
            [it.name.clone(), it.id.clone(), profile, format_time(it.expires_at), used, revoked]
        });
        let headings = ["NAME", "ENROLMENT", "PROFILE", "EXPIRES", "LAST USED", "REVOKED"];
        format_table(headings, &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn revoke(id: EnrolmentId, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    client.revoke_enrolment(tenant, id).await?;
    print_result(common.json, &json!({ "id": id, "revoked": true }), || format!("revoked {id}"))?;
    Ok(())
}
