//! `guildhall manifest diff`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, ValueEnum};
use guildhall_domain::agents::diff::{Change, Consent, Contract, Language, ManifestDiff, Outcome, Side};
use guildhall_protocol::manifest::CheckedManifest;
use serde_json::{Value, json};

use super::file::read_valid;
use crate::error::ManifestChanged;
use crate::output::{format_table, print_result};

const HELP: &str =
    "Exit codes: 0 users are told nothing, 10 users are notified, 20 users are asked again, 30 the change \
                    breaks the contract; 1 a manifest is not valid.

Examples:
  guildhall manifest diff published.json manifest.json
  guildhall manifest diff --lang zh-CN published.json manifest.json";

#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct DiffArgs {
    /// JSON file with the old manifest
    old: PathBuf,
    /// JSON file with the new manifest
    new: PathBuf,
    /// Language of the sentences
    #[arg(long, value_enum, default_value_t = SentenceLanguage::English)]
    lang: SentenceLanguage,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum SentenceLanguage {
    #[value(name = "en")]
    English,
    #[value(name = "zh-CN")]
    Chinese,
}

impl From<SentenceLanguage> for Language {
    fn from(language: SentenceLanguage) -> Self {
        match language {
            SentenceLanguage::English => Self::English,
            SentenceLanguage::Chinese => Self::Chinese,
        }
    }
}

pub(super) fn run(args: &DiffArgs) -> Result<()> {
    let (old, new) = (read_valid(&args.old)?, read_valid(&args.new)?);
    let diff = ManifestDiff::between(&old.manifest, &new.manifest);
    print_result(args.json, &diff_json(&diff, &old, &new), || diff_text(&diff, args.lang.into()))?;
    match diff.outcome() {
        Outcome::Same => Ok(()),
        outcome @ (Outcome::Notify | Outcome::ReConsent | Outcome::ContractBreak) => {
            Err(ManifestChanged(outcome).into())
        }
    }
}

pub(super) fn diff_text(diff: &ManifestDiff, language: Language) -> String {
    if diff.changes().is_empty() {
        return "no changes".to_owned();
    }
    let row = |change: &Change| {
        let side = match change.side {
            Side::Old => " (old)",
            Side::New => "",
        };
        [
            verdict(change).to_owned(),
            change.tool.clone().or_else(|| change.scope.clone()).unwrap_or_else(|| "-".to_owned()),
            format!("{}{side}", change.pointer),
            change.sentence(language),
        ]
    };
    let rows: Vec<_> = diff.changes().iter().map(row).collect();
    let table = format_table(["VERDICT", "TOOL OR SCOPE", "PLACE", "CHANGE"], &rows);
    format!("{table}\n\ncontract: {}, consent: {}", diff.contract(), diff.consent())
}

fn verdict(change: &Change) -> &'static str {
    match (change.contract, change.consent) {
        (Contract::Breaking, _) => "contract break",
        (Contract::Compatible, Consent::ReConsent) => "ask again",
        (Contract::Compatible, Consent::Notify) => "notify",
        (Contract::Compatible, Consent::Silent) => "silent",
    }
}

pub(super) fn diff_json(diff: &ManifestDiff, old: &CheckedManifest, new: &CheckedManifest) -> Value {
    json!({
        "outcome": diff.outcome(),
        "contract": diff.contract(),
        "consent": diff.consent(),
        "oldHash": old.document.hash().to_string(),
        "newHash": new.document.hash().to_string(),
        "scopesRequiringReauth": diff.scopes_requiring_reauth(),
        "toolsRequiringReauth": diff.tools_requiring_reauth(),
        "changes": diff.changes().iter().map(change_json).collect::<Vec<_>>(),
    })
}

fn change_json(change: &Change) -> Value {
    json!({
        "kind": change.kind,
        "contract": change.contract,
        "consent": change.consent,
        "manifest": change.side,
        "pointer": change.pointer.as_str(),
        "subject": change.subject,
        "before": change.before,
        "after": change.after,
        "tool": change.tool,
        "scope": change.scope,
        "sentence": {
            "en": change.sentence(Language::English),
            "zh-CN": change.sentence(Language::Chinese),
        },
    })
}
