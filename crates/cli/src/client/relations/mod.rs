//! `guildhall relations`.

mod grant;
mod offer;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{AgentId, RelationId};
use guildhall_protocol::rest::relations::{RelationChangeView, RelationView};
use guildhall_sdk::Client;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::agents;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::NotFoundError;
use crate::output::{format_fields, format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall relations grant helper
  guildhall relations grant agt_01920000000070008000000000000000 --scope filesystem:read --yes
  guildhall relations ls
  guildhall relations history rel_01920000000070008000000000000000
  guildhall relations revoke helper

A grant is for the manifest that is shown. If the agent changes it, what changed does not work before you grant again.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RelationsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct RelationArgs {
    /// Id of the relation; or id of its agent, or slug if it is an agent of the tenant
    #[arg(value_name = "RELATION")]
    relation: String,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

impl RelationArgs {
    /// Returns a client and the relation; the newest one with an agent.
    async fn find(&self) -> Result<(Client, RelationId)> {
        if let Ok(id) = self.relation.parse() {
            return Ok((self.common.connect()?.client, id));
        }
        let (client, agent) = find_agent(&self.relation, &self.tenant, &self.common).await?;
        let relation = find_newest(&client, agent).await?;
        Ok((client, relation))
    }
}

/// Returns a client and the agent. The id of an agent needs no tenant: agents of others work for you too.
async fn find_agent(given: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<(Client, AgentId)> {
    if let Ok(id) = given.parse() {
        return Ok((common.connect()?.client, id));
    }
    let (client, tenant) = tenant.connect(common).await?;
    let agent = agents::resolve(&client, tenant, given).await?;
    Ok((client, agent))
}

async fn find_newest(client: &Client, agent: AgentId) -> Result<RelationId> {
    if let Some(active) = grant::find_active(client, agent).await? {
        return Ok(active.id.parse()?);
    }
    let (id, mut newest, mut cursor) = (agent.to_string(), None::<RelationView>, None);
    loop {
        let page = client.list_relations(true, cursor.as_deref()).await?;
        let of_agent = page.relations.into_iter().filter(|relation| relation.agent_id == id);
        newest = newest.into_iter().chain(of_agent).max_by_key(|relation| relation.created_at);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    let newest = newest.ok_or(NotFoundError {
        object: "relation with the agent",
        name: id,
        next: "`guildhall relations ls --ended` lists your relations",
    })?;
    Ok(newest.id.parse()?)
}

#[derive(Subcommand)]
enum Commands {
    /// Show what an agent asks for, and grant it, or grant again after a change
    Grant(grant::GrantArgs),
    /// List what you have granted to agents
    Ls {
        /// Also what you have taken back
        #[arg(long)]
        ended: bool,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show a relation, and what waits for your consent
    Show(RelationArgs),
    /// List what was granted and taken back, newest first
    History(RelationArgs),
    /// Take everything back
    Revoke(RelationArgs),
}

pub(crate) fn run(args: &RelationsArgs) -> Result<()> {
    match &args.command {
        Commands::Grant(args) => block_on(grant::run(args)),
        Commands::Ls { ended, common } => block_on(list(*ended, common)),
        Commands::Show(args) => block_on(show(args)),
        Commands::History(args) => block_on(history(args)),
        Commands::Revoke(args) => block_on(revoke(args)),
    }
}

async fn list(ended: bool, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let (mut relations, mut cursor) = (Vec::new(), None);
    loop {
        let page = client.list_relations(ended, cursor.as_deref()).await?;
        relations.extend(page.relations);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    print_result(common.json, &json!({ "relations": relations }), || {
        let rows: Vec<_> = relations.iter().map(row).collect();
        format_table(["AGENT", "SCOPES", "STATE", "MANIFEST", "CHANGED", "ID"], &rows)
    })?;
    Ok(())
}

fn row(relation: &RelationView) -> [String; 6] {
    [
        relation.agent_name.clone(),
        scopes(&relation.granted_scopes),
        state(relation).to_owned(),
        relation.manifest_version.to_string(),
        format_time(relation.changed_at),
        relation.id.clone(),
    ]
}

/// Returns what somebody has to know first.
fn state(relation: &RelationView) -> &'static str {
    let waits = !(relation.scopes_requiring_reauth.is_empty() && relation.tools_requiring_reauth.is_empty());
    match relation.status.as_str() {
        "active" if waits => "changed: grant again",
        "active" => "active",
        _ => "ended",
    }
}

fn scopes(ids: &[String]) -> String {
    if ids.is_empty() { "-".to_owned() } else { ids.join(",") }
}

async fn show(args: &RelationArgs) -> Result<()> {
    let (client, id) = args.find().await?;
    let relation = client.get_relation(id).await?;
    print_result(args.common.json, &json!(relation), || fields(&relation))?;
    Ok(())
}

fn fields(relation: &RelationView) -> String {
    let current = relation.current_manifest_version.map_or("-".to_owned(), |version| version.to_string());
    format_fields(&[
        ("agent", relation.agent_name.clone()),
        ("AID", relation.agent_aid.clone().unwrap_or_else(|| "-".to_owned())),
        ("scopes", scopes(&relation.granted_scopes)),
        ("state", state(relation).to_owned()),
        ("waiting scopes", scopes(&relation.scopes_requiring_reauth)),
        ("waiting tools", scopes(&relation.tools_requiring_reauth)),
        ("manifest", format!("version {}, {}", relation.manifest_version, relation.manifest_hash)),
        ("current", current),
        ("granted", format_time(relation.created_at)),
        ("changed", format_time(relation.changed_at)),
        ("ended", format_optional_time(relation.ended_at)),
        ("agent id", relation.agent_id.clone()),
        ("id", relation.id.clone()),
    ])
}

async fn history(args: &RelationArgs) -> Result<()> {
    let (client, id) = args.find().await?;
    let mut changes = Vec::new();
    loop {
        let before = changes.last().map(|change: &RelationChangeView| change.number);
        let page = client.list_relation_history(id, before).await?;
        changes.extend(page);
        if changes.last().is_none_or(|last| last.number <= 1) {
            break;
        }
    }
    print_result(args.common.json, &json!({ "changes": changes }), || {
        let rows: Vec<_> = changes.iter().map(change_row).collect();
        format_table(["NUMBER", "CHANGE", "SCOPES", "MANIFEST", "TIME"], &rows)
    })?;
    Ok(())
}

fn change_row(change: &RelationChangeView) -> [String; 5] {
    let (number, version) = (change.number.to_string(), change.manifest_version.to_string());
    [number, change.kind.clone(), scopes(&change.granted_scopes), version, format_time(change.changed_at)]
}

async fn revoke(args: &RelationArgs) -> Result<()> {
    let (client, id) = args.find().await?;
    let ended = client.delete_relation(id).await?;
    print_result(args.common.json, &json!(ended), || {
        format!(
            "took back from {}: {}; removed calls that no device had received: {}",
            ended.relation.agent_name,
            scopes(&ended.ended_scopes),
            ended.ended_calls
        )
    })?;
    Ok(())
}
