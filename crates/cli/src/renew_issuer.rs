//! `guildhall renew-issuer`.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use guildhall_server::config::Sources;
use guildhall_server::{Config, renew_issuer};
use serde_json::json;

use crate::output::{format_time, print_result};

const HELP: &str = "Run it on a machine with secrets.folder, and with aun/root.key back in its place. Certificates that were \
issued stay valid: the key of the issuer does not change. Then copy aun/issuer.crt and aun/auth.crt to every replica, restart \
them, and move aun/root.key away again.";

#[derive(Args)]
#[command(after_help = HELP)]
pub(crate) struct RenewIssuerArgs {
    /// Configuration file; without it ./guildhall.toml
    #[arg(long, value_name = "FILE", env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &RenewIssuerArgs) -> Result<()> {
    let config = Config::load(&Sources::from_process(args.config.clone(), Vec::new()))?;
    let ends_at = renew_issuer(&config)?.context("aun.issuer is not set: there is nothing to renew")?;
    let issuer = &config.aun.issuer;
    print_result(args.json, &json!({ "issuer": issuer, "notAfter": ends_at }), || {
        format!("renewed the certificate of the issuer `{issuer}` until {}", format_time(ends_at))
    })?;
    Ok(())
}
