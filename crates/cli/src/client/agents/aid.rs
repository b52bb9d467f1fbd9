//! `guildhall agents aid`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::identity::Aid;
use guildhall_protocol::rest::agents::aid::{AgentAidView, PutAgentAid};
use serde_json::json;

use super::resolve;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::output::{format_fields, print_result};

#[derive(Args)]
pub(super) struct AgentAidArgs {
    /// Slug or id of the agent
    agent: String,
    /// AID with which the agent speaks, one of your own; without it the AID is shown
    aid: Option<Aid>,
    /// Take the AID from the agent
    #[arg(long, conflicts_with = "aid")]
    remove: bool,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &AgentAidArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let agent = resolve(&client, tenant, &args.agent).await?;
    if args.remove {
        client.delete_agent_aid(agent).await?;
        let removed = json!({ "id": agent, "aid": null });
        print_result(args.common.json, &removed, || "the agent has no AID".to_owned())?;
        return Ok(());
    }
    let found = match &args.aid {
        Some(aid) => client.put_agent_aid(agent, &PutAgentAid { aid: aid.to_string() }).await?,
        None => client.get_agent_aid(agent).await?,
    };
    print_result(args.common.json, &json!(found), || fields(&found))?;
    Ok(())
}

fn fields(found: &AgentAidView) -> String {
    let key =
        if found.hosted { "held by the server, which answers for the agent" } else { "held by the agent" };
    format_fields(&[("AID", found.aid.clone()), ("key", key.to_owned())])
}
