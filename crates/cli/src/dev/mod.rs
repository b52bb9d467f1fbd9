//! `guildhall dev`: a whole installation on one machine, with one command.

mod banner;
mod parts;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use guildhall_server::Config;
use guildhall_server::config::{LauncherKind, Sources, default_of};
use secrecy::ExposeSecret;

use crate::doctor::FailedDev;
use crate::failure::Usage;
use crate::serve::{runtime, start_telemetry};
use crate::signals::serve_until_asked;
use crate::urls::refuse_passwords;
use parts::Parts;

pub(crate) use parts::is_set;

/// The first user of a developer's installation; its password stands in the state folder.
const ADMIN: &str = "admin";

/// The tenant of the first user, so that the first run needs no other preparation.
const TENANT: &str = "dev";

#[derive(Args)]
pub(crate) struct DevArgs {
    /// Where data, passwords and logs are kept
    #[arg(long, value_name = "FOLDER", default_value = ".guildhall")]
    state: PathBuf,
    /// Keeps nothing: all data goes away at the end
    #[arg(long)]
    ephemeral: bool,
    /// Where to listen; a free port is taken when the usual one is not free
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Uses this PostgreSQL instead of starting one (with a password: GUILDHALL_POSTGRES_URL)
    #[arg(long, value_name = "URL")]
    pg_url: Option<String>,
    /// Uses this NATS instead of starting one (with a password: GUILDHALL_NATS_URL)
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
    /// The file to read instead of ./guildhall.toml
    #[arg(long, env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// What to log, such as info; warnings alone when nothing is said anywhere
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Prints the addresses as one line of JSON when ready
    #[arg(long)]
    json: bool,
}

impl DevArgs {
    fn sources(&self) -> Sources {
        let flags = self.log.iter().map(|filter| ("telemetry.log_filter", filter.clone())).collect();
        let mut sources = Sources::from_process(self.config.clone(), flags);
        sources.defaults = vec![
            ("telemetry.log_filter", "warn".to_owned()),
            ("http.drain_delay", "0s".to_owned()),
            // What a developer runs beside it, such as an identity provider, stands on this machine.
            ("egress.allow", "127.0.0.0/8,::1/128".to_owned()),
            // A run finds a runner at once, and nothing outlives the command.
            ("launcher.warm", "demo=1".to_owned()),
            ("launcher.end_with_server", "true".to_owned()),
        ];
        // A build without the runner serves all the same; runs then wait for a runner of the developer's own.
        if guildhall_server::usual_runner().exists() {
            sources.defaults.push(("launcher.kind", "local".to_owned()));
        }
        sources
    }

    /// Says what was asked for, so that the doctor can look at it after a failure.
    pub(crate) fn failed(&self) -> FailedDev {
        let mut sources = self.sources();
        let engines = [("postgres.url", &self.pg_url), ("nats.url", &self.nats_url)];
        sources.flags.extend(engines.into_iter().filter_map(|(key, url)| Some((key, url.clone()?))));
        let state = (!self.ephemeral).then(|| self.state.clone());
        FailedDev { state, listen: self.listen, sources }
    }
}

pub(crate) fn run(args: &DevArgs) -> Result<()> {
    let began = Instant::now();
    refuse_passwords([&args.pg_url, &args.nats_url])?;
    let mut sources = args.sources();
    let config = Config::load(&sources)?;
    let wished = args.listen.unwrap_or(config.http.listen);
    if !wished.ip().is_loopback() {
        let refused = "guildhall dev listens on this machine alone; use `guildhall serve` to serve others";
        return Err(Usage(refused).into());
    }
    let _telemetry = start_telemetry(&config)?;

    // Declared before the runtime, so dropped after it: the engines go last.
    let parts = Parts::start(args, &config)?;
    sources.flags.extend(parts.flags());
    if config.secrets.folder.is_empty() {
        sources.flags.push(("secrets.folder", parts.folder().join("secrets").display().to_string()));
    }
    if config.identity.key_encryption_key.expose_secret().is_empty() {
        let key = parts.secret("identity.key")?;
        sources.flags.push(("identity.key_encryption_key", key.expose_secret().to_owned()));
    }
    if default_of("launcher.state")
        .is_some_and(|usual| usual == format!("\"{}\"", config.launcher.state.display()))
    {
        sources.flags.push(("launcher.state", parts.folder().join("launcher").display().to_string()));
    }
    sources.flags.push(("http.listen", address(wished, args.listen.is_some()).to_string()));
    let mut config = Config::load(&sources)?;
    // The engines' passwords and data lie there too.
    config.launcher.out_of_reach.push(parts.folder().display().to_string());

    let password = parts.secret("admin.password")?;
    runtime()?.block_on(serve_until_asked(&config, async |server| {
        match config.launcher.kind {
            LauncherKind::Local => server.create_first_owner(ADMIN, &password, &TENANT.parse()?).await?,
            // Whoever has runners of their own knows whose they are.
            LauncherKind::None => server.create_first_user(ADMIN, &password).await?,
        };
        // Where `guildhall login` in this folder finds the server.
        std::fs::write(parts.folder().join("url"), format!("http://{}", server.address()))?;
        banner::show(args, &config, &parts, server.address(), began.elapsed());
        Ok(())
    }))
}

/// Returns the wished address, or one with a free port where the usual one is taken and none was asked for.
fn address(wished: SocketAddr, asked_for: bool) -> SocketAddr {
    if asked_for || TcpListener::bind(wished).is_ok() {
        return wished;
    }
    SocketAddr::new(wished.ip(), 0)
}
