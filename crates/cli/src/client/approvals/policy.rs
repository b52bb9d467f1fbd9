//! `guildhall approvals policy`.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::approvals::policy::ExpiryEffect;
use guildhall_domain::named_enum::UnknownName;
use guildhall_protocol::rest::approvals::policy::{ApprovalPolicyView, SetApprovalPolicy};
use jiff::SignedDuration;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::access::members::resolve_member;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::client::duration::parse_duration;
use crate::output::{format_fields, print_result};

const EXAMPLES: &str = "Examples:
  guildhall approvals policy show
  guildhall approvals policy set first-responder --expires-after 1h --on-expiry escalate
  guildhall approvals policy set designated --approver ada
  guildhall approvals policy set consensus --quorum 2 --veto";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Show the approval policy of a tenant
    Show {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Replace the approval policy of a tenant (owners only); an option that is not given has the default of the server
    Set(SetArgs),
}

#[derive(Args)]
struct SetArgs {
    /// Who answers
    #[arg(value_parser = ["first-responder", "designated", "consensus", "local-only"])]
    mode: String,
    /// For designated: principal id (prn_…) or name of the member who answers; without it, who sent the turn
    #[arg(long, value_name = "MEMBER")]
    approver: Option<String>,
    /// For consensus: equal answers that decide
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=255))]
    quorum: Option<u32>,
    /// For consensus: one denial is enough
    #[arg(long)]
    veto: bool,
    /// How long a question waits for an answer, such as 24h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    expires_after: Option<Duration>,
    /// What happens then: deny, interrupt (also ends the turn) or escalate (asks the owners once more)
    #[arg(long, value_name = "EFFECT", value_parser = parse_expiry_effect)]
    on_expiry: Option<ExpiryEffect>,
    /// How long an agent waits with its process before the question is parked, such as 10m
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    hold_for: Option<Duration>,
    /// How long an undelivered answer can be used when the agent asks again, such as 24h
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    reuse_within: Option<Duration>,
    /// Fail unless this is the current version of the policy
    #[arg(long, value_name = "VERSION")]
    if_version: Option<u32>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_expiry_effect(text: &str) -> Result<ExpiryEffect, UnknownName> {
    ExpiryEffect::from_name(text)
}

pub(super) fn run(args: &PolicyArgs) -> Result<()> {
    match &args.command {
        Commands::Show { tenant, common } => block_on(show(tenant, common)),
        Commands::Set(args) => block_on(set(args)),
    }
}

async fn show(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let policy = client.get_approval_policy(tenant).await?;
    print_result(common.json, &json!(policy), || format_policy(&policy))?;
    Ok(())
}

async fn set(args: &SetArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let approver = match &args.approver {
        Some(member) => Some(resolve_member(&client, tenant, member).await?.to_string()),
        None => None,
    };
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let policy = SetApprovalPolicy {
        mode: args.mode.clone(),
        approver_id: approver,
        quorum: args.quorum,
        veto: args.veto.then_some(true),
        expires_after_ms: args.expires_after.map(milliseconds),
        on_expiry: args.on_expiry.map(|effect| effect.to_string()),
        hold_for_ms: args.hold_for.map(milliseconds),
        reuse_within_ms: args.reuse_within.map(milliseconds),
        expected_version: args.if_version,
    };
    let policy = client.set_approval_policy(tenant, &policy).await?;
    print_result(args.common.json, &json!(policy), || format_policy(&policy))?;
    Ok(())
}

fn format_policy(policy: &ApprovalPolicyView) -> String {
    let mut fields = vec![("version", policy.version.to_string()), ("mode", policy.mode.clone())];
    if policy.mode == "designated" {
        fields
            .push(("approver", policy.approver_id.clone().unwrap_or_else(|| "who sent the turn".to_owned())));
    }
    fields.extend(policy.quorum.map(|quorum| ("quorum", quorum.to_string())));
    fields.extend(policy.veto.map(|veto| ("veto", if veto { "yes" } else { "no" }.to_owned())));
    fields.push(("expires after", format_millis(policy.expires_after_ms)));
    fields.push(("on expiry", policy.on_expiry.clone()));
    fields.push(("held for", format_millis(policy.hold_for_ms)));
    fields.push(("reused within", format_millis(policy.reuse_within_ms)));
    format_fields(&fields)
}

/// Returns a duration as an option takes it, such as `24h`.
fn format_millis(millis: u64) -> String {
    format!("{:#}", SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)))
}
