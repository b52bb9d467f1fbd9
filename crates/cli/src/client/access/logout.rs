//! `guildhall logout`.

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::config_dir::NotSignedIn;
use crate::output::print_result;

const EXAMPLES: &str = "Examples:
  guildhall logout                        Sign out of the current context
  guildhall logout --all                  End all your logins, on other machines and in browsers too
  guildhall logout --context ada@staging";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogoutArgs {
    /// End all your logins, not only this one
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &LogoutArgs) -> Result<()> {
    block_on(sign_out(args))
}

async fn sign_out(args: &LogoutArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let result = if args.all {
        connection.client.end_logins().await.map(|ended| Some(ended.ended_logins))
    } else {
        connection.client.sign_out().await.map(|()| None)
    };
    let was_signed_in = connection.tokens.delete().await?;
    if !was_signed_in {
        return Err(NotSignedIn::NoTokens(connection.context_name).into());
    }
    let ended_logins = match result {
        Ok(ended_logins) => ended_logins,
        // The login had already ended. Others have not.
        Err(ClientError::NoToken(cause)) if cause.is::<NotSignedIn>() && !args.all => None,
        Err(error) if error.kind() == Some(FailureKind::Unauthenticated) && !args.all => None,
        Err(error) => {
            return Err(error).context(
                "your tokens were deleted here, but the server could not end the login: it stays valid until it expires",
            );
        }
    };
    let mut value = json!({ "context": connection.context_name, "signedIn": false });
    if let Some(ended) = ended_logins {
        value["endedLogins"] = json!(ended);
    }
    print_result(args.common.json, &value, || match ended_logins {
        Some(ended) => format!("signed out of {}; ended logins: {ended}", connection.context.url),
        None => format!("signed out of {}", connection.context.url),
    })?;
    Ok(())
}
