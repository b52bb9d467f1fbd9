//! `guildhall passwd`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::client::password;
use crate::output::print_result;

const EXAMPLES: &str = "Examples:
  guildhall passwd                             Prompt for the current and the new password
  cat old new | guildhall passwd --password-stdin

Your other logins end; this one stays valid.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PasswdArgs {
    /// Read the current and the new password (at least 12 characters) from standard input, one per line
    #[arg(long)]
    password_stdin: bool,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &PasswdArgs) -> Result<()> {
    block_on(change_password(args))
}

async fn change_password(args: &PasswdArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let (current, new) = if args.password_stdin {
        password::read_current_and_new()?
    } else {
        let current = password::prompt("Current password: ")?;
        (current, password::read_new(&connection.context.name, false)?)
    };
    let ended = connection.client.change_password(&current, &new).await?;
    print_result(args.common.json, &json!(ended), || {
        format!("changed your password; other logins ended: {}", ended.ended_logins)
    })?;
    Ok(())
}
