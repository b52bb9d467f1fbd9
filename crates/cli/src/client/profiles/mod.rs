//! `guildhall profiles`.

pub(crate) mod git_credentials;

use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::FailureKind;
use guildhall_domain::ids::TenantId;
use guildhall_domain::runs::TerminalStatus;
use guildhall_protocol::rest::profiles::{ProfileView, ValidationView};
use guildhall_sdk::{Client, CredentialRequest, ProfileScope, next_step_for};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, Connection, TenantArg};
use crate::client::password;
use crate::error::UnsuccessfulOutcome;
use crate::output::{format_fields, format_optional_time, format_table, print_line, print_result};

const EXAMPLES: &str = "Examples:
  guildhall profiles set codex < key.txt
  guildhall profiles set deepseek --model deepseek-reasoner
  guildhall profiles set my-model --template codex --base-url https://api.example.org/v1 --model m-1
  guildhall profiles check codex
  guildhall profiles ls

The credential is read from standard input or a prompt. It is never an argument, and no command prints it.";

/// Interval between two requests for the result of a check.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ProfilesArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct SetArgs {
    /// Name of the profile: one of `guildhall profiles ls`, or a name of your own with --template
    #[arg(value_name = "PROFILE")]
    slug: String,
    /// Template with the agent and its provider; without it unchanged, or the template with the name of the profile
    #[arg(long, value_name = "NAME")]
    template: Option<String>,
    /// Base URL of the provider; without it unchanged, or that of the template
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Model name; without it unchanged, or that of the template
    #[arg(long)]
    model: Option<String>,
    /// API of the provider: responses or chat
    #[arg(long)]
    wire_api: Option<String>,
    /// Store the credential without a short turn that tries it
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    scope: ProfileScopeArgs,
}

/// Scope of the profile: shared or one tenant.
#[derive(Args)]
struct ProfileScopeArgs {
    /// Change the profile of all tenants (operators only)
    #[arg(long, conflicts_with = "tenant")]
    shared: bool,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Set the credential of a profile, from standard input or a prompt
    Set(SetArgs),
    /// List the profiles that runs can use
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show a profile, without its credential
    Show {
        /// Name of the profile
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Check a profile with one short turn
    Check {
        /// Name of the profile
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Delete a profile and its credential
    Rm {
        /// Name of the profile
        #[arg(value_name = "PROFILE")]
        slug: String,
        #[command(flatten)]
        scope: ProfileScopeArgs,
    },
}

pub(crate) fn run(args: &ProfilesArgs) -> Result<()> {
    match &args.command {
        Commands::Set(args) => block_on(set(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Show { slug, tenant, common } => block_on(show_one(slug, tenant, common)),
        Commands::Check { slug, tenant, common } => block_on(check(slug, tenant, common)),
        Commands::Rm { slug, scope } => block_on(remove(slug, scope)),
    }
}

impl ProfileScopeArgs {
    async fn resolve(&self, connection: &Connection) -> Result<ProfileScope> {
        if self.shared {
            return Ok(ProfileScope::Shared);
        }
        Ok(ProfileScope::Tenant(self.tenant.resolve(connection).await?))
    }
}

async fn set(args: &SetArgs) -> Result<()> {
    let connection = args.scope.common.connect()?;
    let scope = args.scope.resolve(&connection).await?;
    let credential = password::read_credential()?;
    let request = CredentialRequest {
        credential: &credential,
        template: args.template.as_deref(),
        base_url: args.base_url.as_deref(),
        model: args.model.as_deref(),
        wire_api: args.wire_api.as_deref(),
    };
    let profile = connection.client.set_credential(scope, &args.slug, &request).await?;
    let slug = &profile.profile;
    let is_json = args.scope.common.json;
    let suffix = profile.hash_suffix.as_deref().unwrap_or("-");
    let stored = format!("set the credential of {slug} (SHA-256 …{suffix}) for {}", provider_text(&profile));
    // A shared profile is checked by a tenant.
    let ProfileScope::Tenant(tenant) = scope else {
        return Ok(print_result(is_json, &json!(profile), || {
            format!("{stored}; `guildhall profiles check {slug} --tenant TENANT` checks it")
        })?);
    };
    if args.no_check {
        return Ok(print_result(is_json, &json!(profile), || {
            format!("{stored}; `guildhall profiles check {slug}` checks it")
        })?);
    }
    if !is_json {
        print_line(&stored)?;
        eprintln!("checking it with one short turn; Ctrl-C skips the check");
    }
    let validation = validate(&connection.client, tenant, slug).await?;
    let profile = connection.client.get_profile(tenant, slug).await?;
    print_result(is_json, &json!(profile), || format_validation(&validation, &profile))?;
    outcome(&validation)
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let profiles = connection.client.list_profiles(tenant.resolve(&connection).await?).await?;
    print_result(common.json, &json!({ "profiles": profiles }), || {
        let rows = profiles.iter().map(|profile| {
            [
                profile.profile.clone(),
                configured_text(profile).to_owned(),
                scope_text(profile).to_owned(),
                or_dash(&profile.agent),
                or_dash(&profile.model),
                or_dash(&profile.base_url),
                profile.last_validation.as_ref().map_or_else(|| "-".to_owned(), validation_text),
            ]
        });
        format_table(
            ["PROFILE", "CONFIGURED", "SCOPE", "AGENT", "MODEL", "BASE URL", "LAST CHECK"],
            &rows.collect::<Vec<_>>(),
        )
    })?;
    Ok(())
}

async fn show_one(slug: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let profile = connection.client.get_profile(tenant.resolve(&connection).await?, slug).await?;
    print_result(common.json, &json!(profile), || {
        format_fields(&[
            ("profile", profile.profile.clone()),
            ("configured", configured_text(&profile).to_owned()),
            ("scope", scope_text(&profile).to_owned()),
            ("backend", or_dash(&profile.backend)),
            ("agent", or_dash(&profile.agent)),
            ("base URL", or_dash(&profile.base_url)),
            ("model", or_dash(&profile.model)),
            ("wire API", or_dash(&profile.wire_api)),
            ("secret", profile.secret_ref.name.clone()),
            ("SHA-256 ends in", or_dash(&profile.hash_suffix)),
            ("changed", format_optional_time(profile.updated_at)),
            ("last check", profile.last_validation.as_ref().map_or_else(|| "-".to_owned(), validation_text)),
        ])
    })?;
    Ok(())
}

async fn check(slug: &str, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let connection = common.connect()?;
    let tenant = tenant.resolve(&connection).await?;
    let validation = validate(&connection.client, tenant, slug).await?;
    let profile = connection.client.get_profile(tenant, slug).await;
    print_result(common.json, &json!(validation), || match &profile {
        Ok(profile) => format_validation(&validation, profile),
        // Only its runner has the profile.
        Err(_) => format_outcome(&validation, "its agent"),
    })?;
    outcome(&validation)
}

/// Starts a check and waits for its result. The server always gives one before its deadline.
async fn validate(client: &Client, tenant: TenantId, slug: &str) -> Result<ValidationView> {
    let mut validation = client.validate_profile(tenant, slug, None).await?;
    while validation.status == "pending" {
        tokio::time::sleep(POLL_INTERVAL).await;
        match client.get_validation(tenant, slug, &validation.validation_id).await {
            Ok(next) => validation = next,
            // A replica may be unreachable for a moment.
            Err(error) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(validation)
}

fn outcome(validation: &ValidationView) -> Result<()> {
    if validation.status == "ok" { Ok(()) } else { Err(UnsuccessfulOutcome(TerminalStatus::Failed).into()) }
}

async fn remove(slug: &str, args: &ProfileScopeArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let scope = args.resolve(&connection).await?;
    connection.client.remove_profile(scope, slug).await?;
    print_result(args.common.json, &json!({ "profile": slug, "removed": true }), || {
        format!("deleted {slug} and its credential")
    })?;
    Ok(())
}

fn configured_text(profile: &ProfileView) -> &str {
    if profile.configured { "yes" } else { "no credential" }
}

fn or_dash(text: &Option<String>) -> String {
    text.clone().unwrap_or_else(|| "-".to_owned())
}

fn scope_text(profile: &ProfileView) -> &str {
    match profile.scope.as_str() {
        "tenant" => "tenant",
        "shared" => "shared",
        _ => "-",
    }
}

fn validation_text(validation: &ValidationView) -> String {
    validation.failure_kind.clone().unwrap_or_else(|| validation.status.clone())
}

/// Names the agent and the provider of a profile.
fn provider_text(profile: &ProfileView) -> String {
    let (agent, url) = (profile.agent.as_deref().unwrap_or("-"), profile.base_url.as_deref());
    format!("{agent} at {}", url.unwrap_or("-"))
}

fn format_validation(validation: &ValidationView, profile: &ProfileView) -> String {
    format_outcome(validation, &provider_text(profile))
}

fn format_outcome(validation: &ValidationView, provider: &str) -> String {
    let Some(kind) = &validation.failure_kind else {
        return format!("{} works: {provider} accepted the credential and replied", validation.profile);
    };
    let message = validation.message.as_deref().unwrap_or("no reason given");
    let next = FailureKind::from_name(kind).map_or("ask the operator of the server", next_step_for);
    format!("{} does not work: {provider}: {message} ({kind}); {next}", validation.profile)
}
