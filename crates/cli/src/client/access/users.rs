//! `guildhall users`.

use anyhow::Result;
use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::client::session::Common;
use crate::client::{password, wait};
use crate::failure::Usage;
use crate::output::{clean, show};

const EXAMPLES: &str = "Examples:
  guildhall users create ada         asks for the password
  guildhall users create ada --password-stdin < ada.password

The new user belongs to no tenant yet; `guildhall members set` changes that.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UsersArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes a user; for those who operate the installation
    Create {
        /// The name to sign in with
        name: String,
        /// Reads the new password, of at least 12 characters, from standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &UsersArgs) -> Result<()> {
    let Verb::Create { name, password_stdin, common } = &args.verb;
    let password = if *password_stdin { password::from_stdin()? } else { ask_twice(name)? };
    wait(create(name, &password, common))
}

async fn create(name: &str, password: &SecretString, common: &Common) -> Result<()> {
    let user = common.open()?.client.create_user(name, password).await?;
    let value = json!({ "principal": user.principal, "name": name });
    show(common.json, &value, || format!("made user {} ({})", clean(name), user.principal))?;
    Ok(())
}

fn ask_twice(name: &str) -> Result<SecretString> {
    let first = password::ask(&format!("New password of {}: ", clean(name)))?;
    let second = password::ask("The same again: ")?;
    if first.expose_secret() != second.expose_secret() {
        return Err(Usage("the two passwords differ; nothing was made").into());
    }
    Ok(first)
}
