//! `guildhall config`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_server::Config;
use guildhall_server::config::{Sources, example};
use serde_json::json;

#[derive(Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Prints an example file: every key with its meaning and default
    Example,
    /// Reads the configuration as a server would and says whether it can be used
    Check {
        /// The file to read instead of ./guildhall.toml
        #[arg(long, env = "GUILDHALL_CONFIG")]
        config: Option<PathBuf>,
        /// Prints the verdict as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &ConfigArgs) -> Result<()> {
    match &args.verb {
        Verb::Example => print!("{}", example()),
        Verb::Check { config, json } => {
            let loaded = Config::load(&Sources::from_process(config.clone(), Vec::new()))?;
            if *json {
                println!("{}", json!({ "ok": true, "listen": loaded.http.listen }));
            } else {
                println!("the configuration is fine; the server would listen on {}", loaded.http.listen);
            }
        }
    }
    Ok(())
}
