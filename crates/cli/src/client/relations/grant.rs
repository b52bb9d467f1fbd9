//! `guildhall relations grant`.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::Args;
use guildhall_domain::agents::diff::Language;
use guildhall_domain::ids::AgentId;
use guildhall_domain::named_enum::UnknownName;
use guildhall_protocol::rest::relations::{CreateRelation, RelationView, UpdateRelation};
use guildhall_sdk::Client;
use serde_json::json;

use super::offer::Offer;
use super::{find_agent, scopes};
use crate::client::approvals::terminal_input::{TerminalInput, discard_typed_input};
use crate::client::connection::{CommonArgs, TenantArg};
use crate::error::UsageError;
use crate::output::print_result;

#[derive(Args)]
pub(super) struct GrantArgs {
    /// Id of the agent, or slug if it is an agent of the tenant
    #[arg(value_name = "AGENT")]
    agent: String,
    /// Scope to grant; can be repeated. On a terminal you are asked without it
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Grant without a question; needs --scope
    #[arg(long, requires = "scopes")]
    yes: bool,
    /// Language of the texts: en or zh-CN
    #[arg(long, default_value = "en", value_parser = parse_language)]
    lang: Language,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

fn parse_language(text: &str) -> Result<Language, UnknownName> {
    Language::from_name(text)
}

pub(super) async fn run(args: &GrantArgs) -> Result<()> {
    let (client, agent) = find_agent(&args.agent, &args.tenant, &args.common).await?;
    let offer = Offer::read(&client, agent).await?;
    let earlier = find_active(&client, agent).await?;
    let granted = earlier.as_ref().map(effective).unwrap_or_default();
    let chosen = if args.yes {
        args.scopes.iter().cloned().collect()
    } else {
        eprintln!("{}\n", offer.text(args.lang, &granted));
        match choose(args, &offer).await? {
            Some(chosen) => chosen,
            None => {
                eprintln!("{}", pick(args.lang, "nothing was changed", "没有任何更改"));
                return Ok(());
            }
        }
    };
    let relation = send(&client, agent, earlier.as_ref(), &offer, chosen).await?;
    print_result(args.common.json, &json!(relation), || {
        format!("granted to {}: {} ({})", relation.agent_name, scopes(&relation.granted_scopes), relation.id)
    })?;
    Ok(())
}

/// Grants, or changes what was granted, for exactly the manifest that was shown.
async fn send(
    client: &Client,
    agent: AgentId,
    earlier: Option<&RelationView>,
    offer: &Offer,
    chosen: BTreeSet<String>,
) -> Result<RelationView> {
    let granted_scopes: Vec<String> = chosen.into_iter().collect();
    let (manifest_version, manifest_hash) = (Some(offer.version), Some(offer.document.hash().to_string()));
    match earlier {
        Some(earlier) => {
            let change = UpdateRelation { granted_scopes, manifest_version, manifest_hash };
            Ok(client.update_relation(earlier.id.parse()?, &change).await?)
        }
        None => {
            let agent_id = agent.to_string();
            let new = CreateRelation { agent_id, granted_scopes, manifest_version, manifest_hash };
            Ok(client.create_relation(&new, None).await?)
        }
    }
}

pub(super) async fn find_active(client: &Client, agent: AgentId) -> Result<Option<RelationView>> {
    let (agent, mut cursor) = (agent.to_string(), None);
    loop {
        let page = client.list_relations(false, cursor.as_deref()).await?;
        if let Some(found) = page.relations.into_iter().find(|relation| relation.agent_id == agent) {
            return Ok(Some(found));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(None);
        }
    }
}

/// Returns what was granted and does not wait for a new consent.
fn effective(relation: &RelationView) -> BTreeSet<String> {
    let waits = |scope: &&String| relation.scopes_requiring_reauth.contains(scope);
    relation.granted_scopes.iter().filter(|scope| !waits(scope)).cloned().collect()
}

/// Asks for the scopes that were not named, and for a confirmation.
async fn choose(args: &GrantArgs, offer: &Offer) -> Result<Option<BTreeSet<String>>> {
    let Some(mut terminal) = TerminalInput::open() else {
        return Err(
            UsageError("no terminal to ask on: name scopes with --scope, and confirm with --yes").into()
        );
    };
    discard_typed_input();
    let mut chosen: BTreeSet<String> = args.scopes.iter().cloned().collect();
    if args.scopes.is_empty() {
        for (index, scope) in offer.scopes().into_iter().enumerate() {
            let question = pick(args.lang, "Grant", "授予");
            eprint!("{question} {}. {}? [y/N] ", index + 1, scope.id);
            if is_yes(terminal.read_line().await?.as_deref()) {
                chosen.insert(scope.id.clone());
            }
        }
    }
    let list: Vec<String> = chosen.iter().cloned().collect();
    let question = pick(args.lang, "Agree to exactly these scopes", "同意且仅同意这些权限");
    eprint!("{question}: {}? [y/N] ", scopes(&list));
    Ok(is_yes(terminal.read_line().await?.as_deref()).then_some(chosen))
}

fn is_yes(line: Option<&str>) -> bool {
    line.is_some_and(|line| matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn pick(language: Language, english: &'static str, chinese: &'static str) -> &'static str {
    match language {
        Language::English => english,
        Language::Chinese => chinese,
    }
}
