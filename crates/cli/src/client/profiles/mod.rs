//! `guildhall profiles`.

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::FailureKind;
use guildhall_domain::runs::TerminalStatus;
use guildhall_protocol::rest::profiles::{ProfileView, ValidationView};
use guildhall_sdk::{CredentialAsk, ProfileScope, next_step_after};
use serde_json::json;

use crate::client::password;
use crate::client::session::{Common, Session, SomeTenant};
use crate::client::wait;
use crate::failure::NotCompleted;
use crate::output::{fields, second_or_dash, show, table};

const EXAMPLES: &str = "Examples:
  guildhall profiles set codex < key.txt
  guildhall profiles set my-model --base-url https://api.example.org/v1 --model m-1
  guildhall profiles check codex
  guildhall profiles ls

The credential is asked for, or comes from a pipe; it is never an argument, and no command shows it again.";

/// How often the outcome of a check is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfilesArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct SetArgs {
    /// The profile: codex, deepseek, minimax-m3, dsflash-go, or a name of yours
    #[arg(value_name = "PROFILE")]
    slug: String,
    /// Where the provider answers; without it as before
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The model; without it as before
    #[arg(long)]
    model: Option<String>,
    /// How the provider is spoken to: responses or chat
    #[arg(long)]
    wire_api: Option<String>,
    #[command(flatten)]
    whose: Whose,
}

/// Whose profile is changed.
#[derive(Args)]
struct Whose {
    /// For all tenants; you must operate the installation
    #[arg(long, conflicts_with = "tenant")]
    shared: bool,
    #[command(flatten)]
    tenant: SomeTenant,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Gives a profile its credential, from a pipe or a prompt
    Set(SetArgs),
    /// Lists the profiles that runs may name
    Ls {
        #[command(flatten)]
        tenant: SomeTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Shows a profile, without its credential
    Show {
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        tenant: SomeTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Tries a profile with one short turn and says whether it works
    Check {
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        tenant: SomeTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Forgets a profile and its credential
    Rm {
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        whose: Whose,
    },
}

pub(crate) fn run(args: &ProfilesArgs) -> Result<()> {
    match &args.verb {
        Verb::Set(args) => wait(set(args)),
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
        Verb::Show { slug, tenant, common } => wait(show_one(slug, tenant, common)),
        Verb::Check { slug, tenant, common } => wait(check(slug, tenant, common)),
        Verb::Rm { slug, whose } => wait(remove(slug, whose)),
    }
}

impl Whose {
    async fn find(&self, session: &Session) -> Result<ProfileScope> {
        if self.shared {
            return Ok(ProfileScope::Shared);
        }
        Ok(ProfileScope::Tenant(self.tenant.find(session).await?))
    }
}

async fn set(args: &SetArgs) -> Result<()> {
    let session = args.whose.common.open()?;
    let scope = args.whose.find(&session).await?;
    let credential = password::credential()?;
    let ask = CredentialAsk {
        credential: &credential,
        base_url: args.base_url.as_deref(),
        model: args.model.as_deref(),
        wire_api: args.wire_api.as_deref(),
    };
    let kept = session.client.set_credential(scope, &args.slug, &ask).await?;
    show(args.whose.common.json, &json!(kept), || {
        let suffix = kept.hash_suffix.as_deref().unwrap_or("-");
        format!(
            "{} has its credential (SHA-256 …{suffix}); `guildhall profiles check {}` tries it",
            kept.profile, kept.profile
        )
    })?;
    Ok(())
}

async fn list(tenant: &SomeTenant, common: &Common) -> Result<()> {
    let session = common.open()?;
    let profiles = session.client.list_profiles(tenant.find(&session).await?).await?;
    show(common.json, &json!({ "profiles": profiles }), || {
        let rows = profiles.iter().map(|profile| {
            [
                profile.profile.clone(),
                configured(profile).to_owned(),
                whose(profile).to_owned(),
                or_dash(&profile.model),
                or_dash(&profile.base_url),
                profile.last_validation.as_ref().map_or_else(|| "-".to_owned(), verdict),
            ]
        });
        table(
            ["PROFILE", "CONFIGURED", "WHOSE", "MODEL", "BASE URL", "LAST CHECK"],
            &rows.collect::<Vec<_>>(),
        )
    })?;
    Ok(())
}

async fn show_one(slug: &str, tenant: &SomeTenant, common: &Common) -> Result<()> {
    let session = common.open()?;
    let profile = session.client.profile(tenant.find(&session).await?, slug).await?;
    show(common.json, &json!(profile), || {
        fields(&[
            ("profile", profile.profile.clone()),
            ("configured", configured(&profile).to_owned()),
            ("whose", whose(&profile).to_owned()),
            ("backend", or_dash(&profile.backend)),
            ("base URL", or_dash(&profile.base_url)),
            ("model", or_dash(&profile.model)),
            ("wire API", or_dash(&profile.wire_api)),
            ("secret", profile.secret_ref.name.clone()),
            ("SHA-256 ends in", or_dash(&profile.hash_suffix)),
            ("changed", second_or_dash(profile.updated_at)),
            ("last check", profile.last_validation.as_ref().map_or_else(|| "-".to_owned(), verdict)),
        ])
    })?;
    Ok(())
}

/// Tries a profile and waits. The server says how it came out by the deadline, whatever happens.
async fn check(slug: &str, tenant: &SomeTenant, common: &Common) -> Result<()> {
    let session = common.open()?;
    let tenant = tenant.find(&session).await?;
    let mut seen = session.client.validate_profile(tenant, slug, None).await?;
    while seen.status == "pending" {
        tokio::time::sleep(LOOK_EVERY).await;
        match session.client.validation(tenant, slug, &seen.validation_id).await {
            Ok(next) => seen = next,
            // A replica may be away for a moment.
            Err(error) if error.is_passing() => {}
            Err(error) => return Err(error.into()),
        }
    }
    show(common.json, &json!(seen), || sentence(&seen))?;
    if seen.status == "ok" { Ok(()) } else { Err(NotCompleted(TerminalStatus::Failed).into()) }
}

async fn remove(slug: &str, whose: &Whose) -> Result<()> {
    let session = whose.common.open()?;
    let scope = whose.find(&session).await?;
    session.client.remove_profile(scope, slug).await?;
    show(whose.common.json, &json!({ "profile": slug, "removed": true }), || {
        format!("{slug} and its credential are forgotten")
    })?;
    Ok(())
}

fn configured(profile: &ProfileView) -> &str {
    if profile.configured { "yes" } else { "no credential" }
}

fn or_dash(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "-".to_owned())
}

fn whose(profile: &ProfileView) -> &str {
    match profile.scope.as_str() {
        "tenant" => "the tenant's",
        "shared" => "the operator's",
        _ => "-",
    }
}

fn verdict(validation: &ValidationView) -> String {
    validation.failure_kind.clone().unwrap_or_else(|| validation.status.clone())
}

fn sentence(seen: &ValidationView) -> String {
    let Some(kind) = &seen.failure_kind else {
        return format!("{} works: the provider took its credential and answered", seen.profile);
    };
    let message = seen.message.as_deref().unwrap_or("no reason was given");
    let next = FailureKind::from_name(kind).map_or("ask those who run the server", next_step_after);
    format!("{} does not work: {message} ({kind}); {next}", seen.profile)
}
