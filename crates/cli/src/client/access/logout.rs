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
  guildhall logout --context ada@staging";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &LogoutArgs) -> Result<()> {
    block_on(sign_out(args))
}

async fn sign_out(args: &LogoutArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let result = connection.client.sign_out().await;
    let was_signed_in = connection.tokens.delete().await?;
    if !was_signed_in {
        return Err(NotSignedIn::NoTokens(connection.context_name).into());
    }
    match result {
        Ok(()) => {}
        // The login had already ended.
        Err(ClientError::NoToken(cause)) if cause.is::<NotSignedIn>() => {}
        Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {}
        Err(error) => {
            return Err(error).context(
                "your tokens were deleted here, but the server could not end the login: it stays valid until it expires",
            );
        }
    }
    let value = json!({ "context": connection.context_name, "signedIn": false });
    print_result(args.common.json, &value, || format!("signed out of {}", connection.context.url))?;
    Ok(())
}
