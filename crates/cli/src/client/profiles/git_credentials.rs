//! `guildhall git-credentials`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::profiles::git_credential::{GitCredentialKind, GitHost, InvalidGitCredential};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg};
use crate::client::password;
use crate::output::{format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall git-credentials set github.com                            Ask for a token
  guildhall git-credentials set github.com < token.txt                Read TOKEN or USER:TOKEN from a file
  guildhall git-credentials set github.com --ssh-key < deploy-key     Set a private key for SSH
  guildhall git-credentials ls
  guildhall git-credentials remove github.com

Runs of the tenant fetch repositories of the host with it (`--workspace git:https://github.com/OWNER/REPOSITORY`). It is never shown again, \
and agents never see it.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GitCredentialsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct HostArgs {
    /// Name of the host, such as github.com
    #[arg(value_parser = parse_host)]
    host: GitHost,
    /// The private key for SSH, instead of the token for HTTPS
    #[arg(long)]
    ssh_key: bool,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

impl HostArgs {
    const fn kind(&self) -> GitCredentialKind {
        if self.ssh_key { GitCredentialKind::SshKey } else { GitCredentialKind::Token }
    }
}

#[derive(Subcommand)]
enum Commands {
    /// Set the credential of a host; read from standard input, or asked for
    Set(HostArgs),
    /// List the credentials of a tenant, without their values
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Delete the credential of a host
    Remove(HostArgs),
}

fn parse_host(text: &str) -> Result<GitHost, InvalidGitCredential> {
    GitHost::try_from(text.to_owned())
}

pub(crate) fn run(args: &GitCredentialsArgs) -> Result<()> {
    match &args.command {
        Commands::Set(args) => block_on(set(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Remove(args) => block_on(remove(args)),
    }
}

async fn set(args: &HostArgs) -> Result<()> {
    let credential = password::read_credential()?;
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let stored = client.set_git_credential(tenant, &args.host, args.kind(), &credential).await?;
    print_result(args.common.json, &json!(stored), || {
        format!("set the {} of {} (SHA-256 …{})", stored.kind, stored.host, stored.sha256_suffix)
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let credentials = client.list_git_credentials(tenant).await?;
    print_result(common.json, &json!({ "credentials": credentials }), || {
        let rows: Vec<_> = credentials
            .iter()
            .map(|found| {
                [
                    found.host.clone(),
                    found.kind.clone(),
                    format!("…{}", found.sha256_suffix),
                    format_time(found.updated_at),
                ]
            })
            .collect();
        format_table(["HOST", "KIND", "SHA-256", "UPDATED"], &rows)
    })?;
    Ok(())
}

async fn remove(args: &HostArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let deleted = client.delete_git_credential(tenant, &args.host, args.kind()).await?;
    print_result(args.common.json, &json!(deleted), || {
        format!("deleted the {} of {}", deleted.kind, deleted.host)
    })?;
    Ok(())
}
