//! `guildhall manifest push`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::agents::diff::{ManifestDiff, Outcome};
use guildhall_domain::agents::manifest::finding::Severity;
use guildhall_domain::ids::AgentId;
use guildhall_protocol::manifest::{CheckedManifest, check};
use guildhall_protocol::rest::agents::{AgentView, UpdateAgent};
use guildhall_sdk::Client;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::diff::{SentenceLanguage, diff_json, diff_text};
use super::file::{count, read_valid};
use crate::async_runtime::block_on;
use crate::client::agents::resolve;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::ManifestChanged;
use crate::output::{print_line, print_result};

const HELP: &str = "The manifest of the agent is compared with the file, and the changes are shown before they are sent. The server compares \
both again.

Exit codes: 0 users are told nothing, 10 users are notified, 20 users are asked again, 30 the change breaks the contract; 1 the \
manifest is not valid or was not sent.

Examples:
  guildhall manifest push manifest.json --agent helper --dry-run
  guildhall manifest push manifest.json --agent helper --publish";

#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct PushArgs {
    /// JSON file with the manifest
    file: PathBuf,
    /// Slug or id of the agent
    #[arg(long)]
    agent: String,
    /// Let everybody read the name and the manifest of the agent
    #[arg(long)]
    publish: bool,
    /// Show the changes and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Language of the sentences
    #[arg(long, value_enum, default_value_t = SentenceLanguage::English)]
    lang: SentenceLanguage,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &PushArgs) -> Result<()> {
    let new = read_valid(&args.file)?;
    block_on(push(args, &new))
}

async fn push(args: &PushArgs, new: &CheckedManifest) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let id = resolve(&client, tenant, &args.agent).await?;
    let agent = client.get_agent(id).await?;
    let old = current(&client, id, &agent).await?;
    let diff = old.as_ref().map(|old| ManifestDiff::between(&old.manifest, &new.manifest));
    if !args.common.json {
        print_line(&changes_text(&agent, diff.as_ref(), args))?;
    }
    let agent = if args.dry_run { agent } else { send(&client, id, &agent, args, new).await? };
    if args.common.json {
        let mut value = match (&diff, &old) {
            (Some(diff), Some(old)) => diff_json(diff, old, new),
            _ => {
                json!({ "outcome": Outcome::Same, "newHash": new.document.hash().to_string(), "changes": [] })
            }
        };
        value["sent"] = json!(!args.dry_run);
        value["agent"] = json!({
            "id": agent.id, "version": agent.capability_manifest_version, "hash": agent.capability_manifest_hash,
            "published": agent.published,
        });
        print_result(true, &value, String::new)?;
    } else if !args.dry_run {
        print_line(&pushed_text(&agent))?;
    }
    match diff.map_or(Outcome::Same, |diff| diff.outcome()) {
        Outcome::Same => Ok(()),
        outcome @ (Outcome::Notify | Outcome::ReConsent | Outcome::ContractBreak) => {
            Err(ManifestChanged(outcome).into())
        }
    }
}

/// Reads the manifest that the agent has.
async fn current(client: &Client, id: AgentId, agent: &AgentView) -> Result<Option<CheckedManifest>> {
    let Some(version) = agent.capability_manifest_version else { return Ok(None) };
    let found = client.get_agent_manifest(id, version).await?;
    let text = found.capability_manifest.as_ref().map(Value::to_string).unwrap_or_default();
    let checked = check(&text).map_err(|findings| {
        let count = count(&findings, Severity::Error);
        anyhow::anyhow!(
            "version {version} of the server is not valid here: {count}: use the guildhall of the server"
        )
    })?;
    Ok(Some(checked))
}

/// Sends the manifest, unless another one was declared since it was compared.
async fn send(
    client: &Client,
    id: AgentId,
    agent: &AgentView,
    args: &PushArgs,
    new: &CheckedManifest,
) -> Result<AgentView> {
    let manifest = RawValue::from_string(new.document.canonical().to_owned());
    let change = UpdateAgent {
        capability_manifest: Some(manifest.context("the canonical manifest is JSON")?),
        capability_manifest_version: Some(agent.capability_manifest_version.unwrap_or(0)),
        published: args.publish.then_some(true),
        ..UpdateAgent::default()
    };
    Ok(client.update_agent(id, &change).await?)
}

fn changes_text(agent: &AgentView, diff: Option<&ManifestDiff>, args: &PushArgs) -> String {
    match diff {
        Some(diff) => diff_text(diff, args.lang.into()),
        None => format!("{} has no manifest yet", agent.slug),
    }
}

fn pushed_text(agent: &AgentView) -> String {
    let state = if agent.published { "published" } else { "not published" };
    let version = agent.capability_manifest_version.unwrap_or_default();
    let hash = agent.capability_manifest_hash.as_deref().unwrap_or_default();
    format!("{}: version {version}, {state}, hash {hash}", agent.slug)
}
