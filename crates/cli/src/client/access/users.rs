//! `guildhall users`.

use anyhow::Result;
use clap::{Args, Subcommand};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::client::password;
use crate::error::UsageError;
use crate::output::{print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall users create ada         Prompt for the password
  guildhall users create ada --password-stdin < ada.password

A new user is not a member of any tenant; add them with `guildhall members set`.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UsersArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a user (operators only)
    Create {
        /// Name to sign in with
        name: String,
        /// Read the password (at least 12 characters) from standard input
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &UsersArgs) -> Result<()> {
    let Commands::Create { name, password_stdin, common } = &args.command;
    let password = if *password_stdin { password::read_stdin()? } else { prompt_twice(name)? };
    block_on(create(name, &password, common))
}

async fn create(name: &str, password: &SecretString, common: &CommonArgs) -> Result<()> {
    let user = common.connect()?.client.create_user(name, password).await?;
    let value = json!({ "principal": user.principal, "name": name });
    print_result(common.json, &value, || {
        format!("created user {} ({})", sanitize_line(name), user.principal)
    })?;
    Ok(())
}

fn prompt_twice(name: &str) -> Result<SecretString> {
    let first = password::prompt(&format!("New password of {}: ", sanitize_line(name)))?;
    let second = password::prompt("Repeat the password: ")?;
    if first.expose_secret() != second.expose_secret() {
        return Err(UsageError("the two passwords differ; the user was not created").into());
    }
    Ok(first)
}
