//! `guildhall logout`.

use anyhow::{Context, Result};
use clap::Args;
use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use serde_json::json;

use crate::client::session::Common;
use crate::client::wait;
use crate::kept::NotSignedIn;
use crate::output::show;

const EXAMPLES: &str = "Examples:
  guildhall logout                        ends the login of the current context, everywhere
  guildhall logout --context ada@staging";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    common: Common,
}

pub(crate) fn run(args: &LogoutArgs) -> Result<()> {
    wait(sign_out(args))
}

async fn sign_out(args: &LogoutArgs) -> Result<()> {
    let session = args.common.open()?;
    let ended = session.client.sign_out().await;
    let was_signed_in = session.tokens.forget().await?;
    if !was_signed_in {
        return Err(NotSignedIn::Here(session.context_name).into());
    }
    match ended {
        Ok(()) => {}
        // It had ended already.
        Err(ClientError::NoToken(cause)) if cause.is::<NotSignedIn>() => {}
        Err(error) if error.kind() == Some(FailureKind::Unauthenticated) => {}
        Err(error) => {
            return Err(error).context(
                "your tokens are gone from here, but the server was not told: the login lives on until it expires",
            );
        }
    }
    let value = json!({ "context": session.context_name, "signedIn": false });
    show(args.common.json, &value, || format!("signed out of {}", session.context.url))?;
    Ok(())
}
