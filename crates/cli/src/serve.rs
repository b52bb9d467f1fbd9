//! `guildhall serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use guildhall_runtime::telemetry::{self, Telemetry, TelemetryOptions};
use guildhall_server::Config;
use guildhall_server::config::Sources;

use crate::async_runtime::block_on;
use crate::engine_url::reject_passwords;
use crate::signals::serve_until_signal;

#[derive(Args)]
pub(crate) struct ServeArgs {
    /// Configuration file; without it ./guildhall.toml
    #[arg(long, value_name = "FILE", env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// IP address and port to listen on
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// PostgreSQL URL without a password; set GUILDHALL_POSTGRES_URL for a URL with one
    #[arg(long, value_name = "URL")]
    pg_url: Option<String>,
    /// NATS URL without a password; set GUILDHALL_NATS_URL for a URL with one
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
}

pub(crate) fn run(args: &ServeArgs) -> Result<()> {
    reject_passwords([&args.pg_url, &args.nats_url])?;
    let flags = [
        ("http.listen", args.listen.map(|address| address.to_string())),
        ("postgres.url", args.pg_url.clone()),
        ("nats.url", args.nats_url.clone()),
    ];
    let flags = flags.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let config = Config::load(&Sources::from_process(args.config.clone(), flags))?;
    let _telemetry = start_telemetry(&config)?;
    block_on(serve_until_signal(&config, async |_| Ok(())))
}

/// Starts logs and traces. Call it before the async runtime starts, as the exporter requires.
pub(crate) fn start_telemetry(config: &Config) -> Result<Telemetry> {
    Ok(telemetry::start(&telemetry_options(config))?)
}

pub(crate) fn telemetry_options(config: &Config) -> TelemetryOptions {
    let otlp_endpoint = Some(config.telemetry.otlp_endpoint.clone()).filter(|endpoint| !endpoint.is_empty());
    TelemetryOptions {
        service_name: "guildhall",
        log_filter: config.telemetry.log_filter.clone(),
        log_format: config.telemetry.log_format,
        otlp_endpoint,
    }
}
