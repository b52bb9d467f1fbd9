//! `guildhall serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use guildhall_runtime::telemetry::{self, Telemetry, TelemetryOptions};
use guildhall_server::Config;
use guildhall_server::config::Sources;

use crate::signals::serve_until_asked;
use crate::urls::refuse_passwords;

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// The file to read instead of ./guildhall.toml
    #[arg(long, env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// PostgreSQL's address; one with a password belongs into GUILDHALL_POSTGRES_URL
    #[arg(long, value_name = "URL")]
    pg_url: Option<String>,
    /// NATS' address; one with a password belongs into GUILDHALL_NATS_URL
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    refuse_passwords([&args.pg_url, &args.nats_url])?;
    let flags = [
        ("http.listen", args.listen.map(|address| address.to_string())),
        ("postgres.url", args.pg_url.clone()),
        ("nats.url", args.nats_url.clone()),
    ];
    let flags = flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let config = Config::load(&Sources::from_process(args.config.clone(), flags))?;
    let _telemetry = start_telemetry(&config)?;
    runtime()?.block_on(serve_until_asked(&config, async |_| Ok(())))
}

/// Starts logs and traces; before the async runtime, as the exporter asks.
pub(crate) fn start_telemetry(config: &Config) -> Result<Telemetry> {
    let otlp_endpoint = Some(config.telemetry.otlp_endpoint.clone()).filter(|endpoint| !endpoint.is_empty());
    Ok(telemetry::start(&TelemetryOptions {
        service_name: "guildhall",
        log_filter: config.telemetry.log_filter.clone(),
        log_format: config.telemetry.log_format,
        otlp_endpoint,
    })?)
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the async runtime")
}
