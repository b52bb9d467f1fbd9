//! `guildhall config`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_server::config::{Sources, example};
use guildhall_server::{Config, Server};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::serve::telemetry_options;

#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Print an example file: every key with its meaning and default
    Example,
    /// Check everything that a server refuses before it connects to PostgreSQL and NATS
    Check {
        /// Configuration file; without it ./guildhall.toml
        #[arg(long, value_name = "FILE", env = "GUILDHALL_CONFIG")]
        config: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &ConfigArgs) -> Result<()> {
    match &args.command {
        Commands::Example => print!("{}", example()),
        Commands::Check { config, json } => {
            let loaded = Config::load(&Sources::from_process(config.clone(), Vec::new()))?;
            telemetry_options(&loaded).check()?;
            block_on(async { Ok(Server::check(&loaded).await?) })?;
            if *json {
                println!("{}", json!({ "ok": true, "listen": loaded.http.listen }));
            } else {
                println!("the configuration is valid; the server would listen on {}", loaded.http.listen);
            }
        }
    }
    Ok(())
}
