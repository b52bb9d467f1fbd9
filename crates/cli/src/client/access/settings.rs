//! `guildhall settings`.

use anyhow::Result;
use clap::Args;
use guildhall_protocol::rest::access::account::AccountSettings;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::output::{format_fields, print_result};

const EXAMPLES: &str = "Examples:
  guildhall settings                           Show your settings
  guildhall settings --time-zone Europe/Berlin
  guildhall settings --no-time-zone            Events are in UTC again";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SettingsArgs {
    /// IANA name of your time zone, for clients that do not send that of their device
    #[arg(long, value_name = "ZONE", conflicts_with = "no_time_zone")]
    time_zone: Option<String>,
    /// Remove the time zone
    #[arg(long)]
    no_time_zone: bool,
    #[command(flatten)]
    common: CommonArgs,
}

pub(crate) fn run(args: &SettingsArgs) -> Result<()> {
    block_on(show_or_change(args))
}

async fn show_or_change(args: &SettingsArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    let settings = if args.time_zone.is_some() || args.no_time_zone {
        client.set_account_settings(&AccountSettings { time_zone: args.time_zone.clone() }).await?
    } else {
        client.account_settings().await?
    };
    print_result(args.common.json, &json!(settings), || {
        format_fields(&[("time zone", settings.time_zone.clone().unwrap_or_else(|| "-".to_owned()))])
    })?;
    Ok(())
}
