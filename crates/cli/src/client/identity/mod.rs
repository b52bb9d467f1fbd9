//! `guildhall aid`, `guildhall rpc` and `guildhall transparency`.

pub(crate) mod key_files;
mod login;
mod logins;
pub(crate) mod rpc;
pub(crate) mod transparency;
mod trust;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use guildhall_domain::identity::{Aid, AidName, RevocationReason};
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::rest::identity::AidView;
use guildhall_sdk::{Client, ClientError};
use serde_json::json;

use self::key_files::KeyFiles;
use crate::async_runtime::block_on;
use crate::client::access::users::find_user;
use crate::client::connection::CommonArgs;
use crate::output::{format_fields, format_optional_time, format_table, format_time, print_result};

const EXAMPLES: &str = "Examples:
  guildhall aid create alice                      Create a key and an AID with a certificate
  guildhall aid create carol --owner carol        The same for another user, who gets the files
  guildhall aid reserve bobby --address 192.0.2.7 Let a client at this address register the name for ten minutes
  guildhall aid ls                                List your AIDs; operators see all
  guildhall aid renew alice.guild.example         Issue a new certificate for the same key
  guildhall aid revoke alice.guild.example --reason key_compromise
  guildhall aid login alice.guild.example         Log in with its key, to send and read messages

An AID is a name in the AUN network: `name.issuer`. The server is an issuer if aun.issuer is set. Creating and
reserving names is for operators of the installation. Whoever has the key of an AID can start work of agents that work for its
owner, and sees what the owner has granted: name the user with --owner where you set up an AID for somebody else.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AidArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct OneAidArgs {
    /// AID, such as alice.guild.example
    aid: Aid,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a P-256 key, and an AID with a certificate for it (operators only)
    Create {
        /// Name before the issuer: 4 to 64 characters of a-z, 0-9, `_` and `-`
        name: AidName,
        /// Directory for NAME.ISSUER.key and NAME.ISSUER.crt
        #[arg(long, value_name = "DIR", default_value = ".")]
        directory: PathBuf,
        /// User that the AID belongs to, by name or principal id; without it, you
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Let one client register a name for ten minutes (operators only)
    Reserve {
        /// Name before the issuer: 4 to 64 characters of a-z, 0-9, `_` and `-`
        name: AidName,
        /// Address of the client
        #[arg(long, value_name = "ADDRESS")]
        address: IpAddr,
        /// User that the AID will belong to, by name or principal id; without it, nobody's account
        #[arg(long, value_name = "USER")]
        owner: Option<String>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// List AIDs by name
    Ls {
        /// Maximum number of AIDs
        #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
        limit: u32,
        /// Only AIDs after this one
        #[arg(long, value_name = "AID")]
        after: Option<Aid>,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show an AID and its newest certificate
    Show(OneAidArgs),
    /// Issue a new certificate for the same key
    Renew(OneAidArgs),
    /// Revoke the key of an AID, in all of its certificates; there is no way back
    Revoke {
        /// unspecified, key_compromise, superseded or cessation_of_operation
        #[arg(long, value_name = "REASON", default_value = "unspecified", value_parser = RevocationReason::from_name)]
        reason: RevocationReason,
        #[command(flatten)]
        aid: OneAidArgs,
    },
    /// Log an AID in with its key, for `rpc`, `send`, `inbox` and `chat`
    #[command(after_help = login::HELP)]
    Login(login::AidLoginArgs),
    /// List the AIDs that are logged in on this machine
    Logins {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Set the current AID
    Use(logins::UseArgs),
    /// Delete the tokens of an AID on this machine
    Logout(logins::AidLogoutArgs),
    /// Trust the new key of an AID, which its owner has confirmed
    #[command(after_help = trust::HELP)]
    Trust(trust::TrustArgs),
}

pub(crate) fn run(args: &AidArgs) -> Result<()> {
    match &args.command {
        Commands::Create { name, directory, owner, common } => {
            block_on(create(name, directory, owner.as_deref(), common))
        }
        Commands::Reserve { name, address, owner, common } => {
            block_on(reserve(name, *address, owner.as_deref(), common))
        }
        Commands::Ls { limit, after, common } => block_on(list(*limit, after.as_ref(), common)),
        Commands::Show(args) => block_on(show(args)),
        Commands::Renew(args) => block_on(renew(args)),
        Commands::Revoke { reason, aid } => block_on(revoke(*reason, aid)),
        Commands::Login(args) => block_on(login::run(args)),
        Commands::Logins { json } => logins::list(*json),
        Commands::Use(args) => block_on(logins::select(args)),
        Commands::Logout(args) => block_on(logins::log_out(args)),
        Commands::Trust(args) => trust::run(args),
    }
}

async fn create(name: &AidName, directory: &Path, owner: Option<&str>, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let owner = find_owner(&client, owner).await?;
    // The key is on disk before its certificate exists: nobody has an AID whose key is lost.
    let files = KeyFiles::create(directory, name)?;
    let created = match client.create_aid(name, &files.public_key()?, owner).await {
        Ok(created) => created,
        Err(error) if is_refusal(&error) => {
            files.remove()?;
            return Err(error.into());
        }
        Err(error) => {
            let key = files.path().display();
            let message = format!(
                "the AID may exist: its key stays in {key}; `guildhall aid ls` shows whether it does"
            );
            return Err(anyhow::Error::from(error).context(message));
        }
    };
    let aid: Aid = created.aid.parse()?;
    ensure!(aid.name() == name, "the server answered with another name");
    let (key, certificate) = files.finish(&aid, &created.certificate.certificate)?;
    print_result(common.json, &json!(created), || {
        format!("created {aid}\n  key: {}\n  certificate: {}", key.display(), certificate.display())
    })?;
    Ok(())
}

/// Returns whether the server certainly created nothing.
fn is_refusal(error: &ClientError) -> bool {
    match error {
        ClientError::Failed(problem) => (400..500).contains(&problem.status),
        ClientError::NoToken(_) => true,
        ClientError::Unreachable { .. } | ClientError::InvalidResponse { .. } => false,
    }
}

async fn reserve(name: &AidName, address: IpAddr, owner: Option<&str>, common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let reserved = client.reserve_aid(name, address, find_owner(&client, owner).await?).await?;
    print_result(common.json, &json!(reserved), || {
        let whose = reserved.owner.as_ref().map(|owner| format!(", and acts for {owner}"));
        format!(
            "{} can register {} until {}{}",
            reserved.address,
            reserved.aid,
            format_time(reserved.expires_at),
            whose.unwrap_or_default()
        )
    })?;
    Ok(())
}

async fn find_owner(client: &Client, owner: Option<&str>) -> Result<Option<PrincipalId>> {
    match owner {
        Some(owner) => Ok(Some(find_user(client, owner).await?)),
        None => Ok(None),
    }
}

async fn list(limit: u32, after: Option<&Aid>, common: &CommonArgs) -> Result<()> {
    let page = common.connect()?.client.list_aids(after, limit).await?;
    print_result(common.json, &json!(page), || {
        let rows = page.aids.iter().map(|aid| {
            let certificate = &aid.certificate;
            [
                aid.aid.clone(),
                certificate.status.clone(),
                format_time(certificate.not_after),
                aid.owner.clone(),
            ]
        });
        format_table(["AID", "STATUS", "EXPIRES", "OWNER"], &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !common.json) {
        eprintln!("there may be more AIDs: add --after {next}");
    }
    Ok(())
}

async fn show(args: &OneAidArgs) -> Result<()> {
    let found = args.common.connect()?.client.get_aid(&args.aid).await?;
    print_aid(&args.common, &found)
}

async fn renew(args: &OneAidArgs) -> Result<()> {
    let renewed = args.common.connect()?.client.renew_aid(&args.aid).await?;
    print_aid(&args.common, &renewed)
}

async fn revoke(reason: RevocationReason, args: &OneAidArgs) -> Result<()> {
    let revoked = args.common.connect()?.client.revoke_aid(&args.aid, reason).await?;
    print_aid(&args.common, &revoked)
}

fn print_aid(common: &CommonArgs, found: &AidView) -> Result<()> {
    print_result(common.json, &json!(found), || {
        let certificate = &found.certificate;
        let fields = format_fields(&[
            ("aid", found.aid.clone()),
            ("owner", found.owner.clone()),
            ("created", format_time(found.created_at)),
            ("status", certificate.status.clone()),
            ("serial", certificate.serial.clone()),
            ("fingerprint", certificate.fingerprint.clone()),
            ("key fingerprint", certificate.key_fingerprint.clone()),
            ("valid from", format_time(certificate.not_before)),
            ("expires", format_time(certificate.not_after)),
            ("revoked", format_optional_time(certificate.revoked_at)),
        ]);
        format!("{fields}\n{}", certificate.certificate.trim_end())
    })?;
    Ok(())
}
