//! What the user grants to the agent on this device.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail};
use guildhall_domain::agents::manifest::{PermissionScope, Sensitivity};
use guildhall_domain::identity::Aid;
use guildhall_runtime::Clock;
use guildhall_sdk::messages::Messenger;
use guildhall_sdk::tool_calls::{
    PublishedManifest, ServerRelation, fetch_published_manifest, list_relations,
};

use super::RunArgs;
use super::prompts::TerminalPrompts;
use super::texts::Language;
use crate::output::sanitize_line;

/// The status of a relation that counts.
const ACTIVE: &str = "active";

/// Makes sure that this device has a grant. Shows the manifest and asks where it has none, where the manifest has changed, or where
/// the relation has scopes now that this device has not granted.
pub(super) async fn ensure_grant(
    messenger: &Messenger,
    agent: &Aid,
    args: &RunArgs,
    prompts: &TerminalPrompts,
    language: Language,
) -> Result<()> {
    let stored = messenger.store().tool_grant(agent)?;
    let relation = find_relation(messenger, agent).await?;
    let published = fetch_published_manifest(messenger, relation.agent_id).await;
    let published = published.with_context(|| format!("cannot get the manifest of {agent}"))?;
    let scopes = wanted_scopes(&published, &relation, args)?;
    let is_known = stored.as_ref().is_some_and(|stored| {
        let is_same = stored.manifest == published.checked.document.canonical();
        stored.agent == published.agent && is_same && is_covered(&stored.scopes, &scopes, &args.scopes)
    });
    if is_known {
        return Ok(());
    }
    if is_granted(&published, agent, &scopes, args, prompts, language).await? {
        let grant = published.grant(scopes, Clock::system().now());
        messenger.store().put_tool_grant(agent, grant)?;
        return Ok(());
    }
    match stored {
        // The tools that did not change go on.
        Some(_) => Ok(()),
        None => bail!("nothing was granted to {agent} on this device"),
    }
}

/// Returns whether what is granted is what the user wants. Without named scopes, more is fine: the relation takes away from it.
fn is_covered(granted: &BTreeSet<String>, wanted: &BTreeSet<String>, named: &[String]) -> bool {
    if named.is_empty() { wanted.is_subset(granted) } else { wanted == granted }
}

async fn find_relation(messenger: &Messenger, agent: &Aid) -> Result<ServerRelation> {
    let relations = list_relations(messenger).await.context("cannot get your relations")?;
    let aid = agent.to_string();
    let is_wanted =
        |relation: &ServerRelation| relation.status == ACTIVE && relation.agent_aid.as_ref() == Some(&aid);
    let found = relations.into_iter().find(is_wanted);
    found.with_context(|| {
        format!("you have no relation with {agent}\n  next: guildhall relations grant AGENT, with the id of the agent")
    })
}

/// Returns the scopes to grant: of those that the relation has, all or the named ones.
fn wanted_scopes(
    published: &PublishedManifest,
    relation: &ServerRelation,
    args: &RunArgs,
) -> Result<BTreeSet<String>> {
    let declared: BTreeSet<&String> =
        published.checked.manifest.permission_scopes.iter().map(|scope| &scope.id).collect();
    if let Some(unknown) = args.scopes.iter().find(|scope| !declared.contains(scope)) {
        bail!("the manifest has no scope {}", sanitize_line(unknown));
    }
    let is_wanted =
        |scope: &&String| declared.contains(scope) && (args.scopes.is_empty() || args.scopes.contains(scope));
    let scopes: BTreeSet<String> = relation.granted_scopes.iter().filter(is_wanted).cloned().collect();
    if scopes.is_empty() {
        bail!("your relation with the agent has none of these scopes\n  next: guildhall relations show");
    }
    Ok(scopes)
}

async fn is_granted(
    published: &PublishedManifest,
    agent: &Aid,
    scopes: &BTreeSet<String>,
    args: &RunArgs,
    prompts: &TerminalPrompts,
    language: Language,
) -> Result<bool> {
    let hash = published.hash().to_string();
    if let Some(accepted) = &args.accept {
        if *accepted != hash {
            bail!("the manifest of {agent} has the hash {hash}, which is not the accepted one");
        }
        return Ok(true);
    }
    let title = language.grant_title(&published.name, &agent.to_string(), published.version, &hash);
    let question = format!("{title}\n{}{}", describe(published, scopes, language), language.grant_question());
    prompts.confirm(&question).await.with_context(|| {
        format!("nobody to ask: standard input has ended\n  next: after a look at the manifest, add --accept {hash}")
    })
}

/// Describes scopes with their tools, the most sensitive first.
fn describe(published: &PublishedManifest, scopes: &BTreeSet<String>, language: Language) -> String {
    let manifest = &published.checked.manifest;
    let mut wanted: Vec<&PermissionScope> =
        manifest.permission_scopes.iter().filter(|scope| scopes.contains(&scope.id)).collect();
    wanted.sort_by_key(|scope| std::cmp::Reverse(rank(scope.sensitivity)));
    let mut text = String::new();
    for scope in wanted {
        let label = language.scope_label(&scope.id, scope.label_fallback.as_deref());
        let sensitivity = language.sensitivity(scope.sensitivity);
        text.push_str(&format!("  {} ({sensitivity}): {label}\n", scope.id));
        for tool in manifest.tools.iter().filter(|tool| tool.permission_scope == scope.id) {
            let words = tool.description_fallback.as_deref().unwrap_or(&tool.description_i18n_key);
            text.push_str(&format!("    {}: {}\n", tool.name, sanitize_line(words)));
        }
    }
    text
}

fn rank(sensitivity: Sensitivity) -> u8 {
    match sensitivity {
        Sensitivity::Low => 0,
        Sensitivity::Medium => 1,
        Sensitivity::High => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_is_asked_when_the_relation_has_more_scopes_than_the_device() {
        let set = |scopes: &[&str]| scopes.iter().map(|scope| (*scope).to_owned()).collect::<BTreeSet<_>>();
        let named = ["a".to_owned()];
        for (granted, wanted, named, expected) in [
            (&["a"][..], &["a"][..], &[][..], true),
            (&["a"], &["a", "b"], &[], false),
            (&["a", "b"], &["a"], &[], true),
            (&["a"], &["a"], &named, true),
            (&["a", "b"], &["a"], &named, false),
        ] {
            assert_eq!(is_covered(&set(granted), &set(wanted), named), expected, "{granted:?} {wanted:?}");
        }
    }
}
