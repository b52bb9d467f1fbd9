//! `guildhall init`.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use guildhall_server::Config;
use guildhall_server::config::Sources;
use secrecy::SecretString;
use serde_json::json;

use crate::async_runtime::new_runtime;

/// Longest password that is read from standard input.
const MAX_PASSWORD_BYTES: u64 = 4096;

const EXAMPLES: &str = "Examples:
  openssl rand -base64 24 | tee admin.password | guildhall init --name admin --password-stdin";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InitArgs {
    /// Name of the first user
    #[arg(long, default_value = "admin")]
    name: String,
    /// Read the password of the first user from standard input
    #[arg(long, required = true)]
    password_stdin: bool,
    /// Configuration file; without it ./guildhall.toml
    #[arg(long, value_name = "FILE", env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InitArgs) -> Result<()> {
    let mut password = String::new();
    std::io::stdin().take(MAX_PASSWORD_BYTES).read_to_string(&mut password)?;
    let password = SecretString::from(password.trim_end_matches(['\r', '\n']));
    let config = Config::load(&Sources::from_process(args.config.clone(), Vec::new()))?;
    let created = new_runtime()?.block_on(guildhall_server::init(&config, &args.name, &password))?;
    if !created.first_user && !created.issuer {
        bail!(
            "this installation already has an operator\n  \
             next: sign in as the operator and run `guildhall users create`"
        );
    }
    if args.json {
        let first_user = created.first_user.then_some(&args.name);
        println!("{}", json!({ "made": first_user, "issuer": created.issuer }));
        return Ok(());
    }
    if created.issuer {
        println!(
            "created keys of the issuer `{}` in secrets.folder: back them up; move aun/root.key to a safe place",
            config.aun.issuer
        );
    }
    if created.first_user {
        println!(
            "created the first user `{}` (operator); start the server with `guildhall serve`",
            args.name
        );
    }
    Ok(())
}
