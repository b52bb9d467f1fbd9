//! `guildhall init`.

use std::io::Read;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use guildhall_server::Config;
use guildhall_server::config::Sources;
use secrecy::SecretString;
use serde_json::json;

use crate::serve::runtime;

/// A password is not longer than this; more on standard input is a mistake.
const PASSWORD_AT_MOST: u64 = 4096;

const EXAMPLES: &str = "Examples:
  openssl rand -base64 24 | tee admin.password | guildhall init --name admin --password-stdin";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InitArgs {
    /// The name that the first user signs in with
    #[arg(long, default_value = "admin")]
    name: String,
    /// Reads the first user's password from standard input
    #[arg(long, required = true)]
    password_stdin: bool,
    /// The file to read instead of ./guildhall.toml
    #[arg(long, env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// Prints the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &InitArgs) -> Result<()> {
    let mut password = String::new();
    std::io::stdin().take(PASSWORD_AT_MOST).read_to_string(&mut password)?;
    let password = SecretString::from(password.trim_end_matches(['\r', '\n']));
    let config = Config::load(&Sources::from_process(args.config.clone(), Vec::new()))?;
    let made = runtime()?.block_on(guildhall_server::init(&config, &args.name, &password))?;
    if !made {
        bail!("this installation has somebody who operates it already; sign in as them to make more users");
    }
    if args.json {
        println!("{}", json!({ "made": args.name }));
    } else {
        println!(
            "made the first user `{}`, who operates this installation; start it with `guildhall serve`",
            args.name
        );
    }
    Ok(())
}
