//! `guildhall enrolments`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::EnrolmentId;
use guildhall_protocol::rest::runners::enrolments::CreateEnrolment;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::client::session::{Common, OfTenant};
use crate::client::wait;
use crate::output::{second, second_or_dash, show, table};

const EXAMPLES: &str = "Examples:
  guildhall enrolments create 'gpu machines' --pool gpu --days 30 --tenant acme
  guildhall enrolments ls --tenant acme
  guildhall enrolments revoke enr_01920000000070008000000000000000 --tenant acme

An enrolment token is for runners: with it they register and claim runs, and do nothing else. It is shown once.";

/// A day, as the API counts.
const DAY_MS: u64 = 24 * 3600 * 1000;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EnrolmentsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct CreateArgs {
    /// What it is for
    name: String,
    /// The one backend profile whose runs may be claimed; without it those of any
    #[arg(long)]
    profile: Option<String>,
    /// The one pool whose runs may be claimed; without it those of any
    #[arg(long)]
    pool: Option<String>,
    /// For how many days runners may claim with it; 7 without it
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=365))]
    days: Option<u64>,
    /// A word of yours with which the same command can be sent again without making a second enrolment
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: OfTenant,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes an enrolment token and shows it, this once
    Create(CreateArgs),
    /// Lists the enrolments of a tenant, without their secrets
    Ls {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Ends an enrolment, and the tokens of runs that were claimed with it: refused at once, everywhere
    Revoke {
        /// The enrolment's id
        #[arg(value_name = "ENROLMENT")]
        id: EnrolmentId,
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &EnrolmentsArgs) -> Result<()> {
    match &args.verb {
        Verb::Create(args) => wait(create(args)),
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
        Verb::Revoke { id, tenant, common } => wait(revoke(*id, tenant, common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let tenant = args.tenant.find(&client).await?;
    let wanted = CreateEnrolment {
        name: args.name.clone(),
        profile: args.profile.clone(),
        pool: args.pool.clone(),
        expires_in_ms: args.days.map(|days| days * DAY_MS),
    };
    let made = client.create_enrolment(tenant, &wanted, args.idempotency_key.as_deref()).await?;
    let secret = made.secret.as_ref().map(ExposeSecret::expose_secret);
    show(args.common.json, &json!({ "id": made.id, "secret": secret }), || match secret {
        Some(secret) => format!("made enrolment {}; its token is shown this once:\n\n{secret}", made.id),
        None => {
            format!(
                "enrolment {} was made before with this idempotency key; its token was shown then",
                made.id
            )
        }
    })?;
    Ok(())
}

async fn list(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let enrolments = client.list_enrolments(tenant.find(&client).await?).await?;
    show(common.json, &json!({ "enrolments": enrolments }), || {
        let or_any = |bound: &Option<String>| bound.clone().unwrap_or_else(|| "any".to_owned());
        let rows = enrolments.iter().map(|it| {
            let (used, revoked) = (second_or_dash(it.last_used_at), second_or_dash(it.revoked_at));
            let (profile, pool) = (or_any(&it.profile), or_any(&it.pool));
            [it.name.clone(), it.id.clone(), profile, pool, second(it.expires_at), used, revoked]
        });
        let headings = ["NAME", "ENROLMENT", "PROFILE", "POOL", "EXPIRES", "LAST USED", "REVOKED"];
        table(headings, &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

async fn revoke(id: EnrolmentId, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    client.revoke_enrolment(tenant.find(&client).await?, id).await?;
    show(common.json, &json!({ "id": id, "revoked": true }), || format!("{id} is refused from now on"))?;
    Ok(())
}
