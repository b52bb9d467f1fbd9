//! `guildhall agents inbox`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::messages::WorkSenders;
use guildhall_domain::named_enum::UnknownName;
use guildhall_protocol::rest::agents::inbox::{AgentInboxView, PutAgentInbox};
use serde_json::json;

use super::resolve;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_fields, print_result};

#[derive(Args)]
pub(super) struct AgentInboxArgs {
    /// Slug or id of the agent
    agent: String,
    /// Give it an AID of this name; its slug without it
    #[arg(long)]
    name: Option<String>,
    /// Whose messages start work: members of the tenant, or anyone with an AID of this server
    #[arg(long, value_parser = parse_senders)]
    senders: Option<WorkSenders>,
    /// Show the inbox that it has
    #[arg(long, conflicts_with_all = ["name", "senders"])]
    show: bool,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_senders(text: &str) -> Result<WorkSenders, UnknownName> {
    WorkSenders::from_name(text)
}

pub(super) async fn run(args: &AgentInboxArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent = resolve(&client, tenant, &args.agent).await?;
    let inbox = if args.show {
        client.get_agent_inbox(agent).await?
    } else {
        let senders = args.senders.map(|senders| senders.as_str().to_owned());
        client.put_agent_inbox(agent, &PutAgentInbox { name: args.name.clone(), senders }).await?
    };
    print_result(args.common.json, &json!(inbox), || fields(&inbox))?;
    Ok(())
}

fn fields(inbox: &AgentInboxView) -> String {
    format_fields(&[
        ("AID", inbox.aid.clone()),
        ("works for", inbox.senders.clone()),
        ("encryption", "not end to end: the server holds the key of the agent".to_owned()),
    ])
}
