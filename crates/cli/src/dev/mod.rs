//! `guildhall dev`: a complete installation on one machine.

mod agents;
mod aid;
mod banner;
mod engines;
mod tls;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use clap::Args;
use guildhall_server::config::{LauncherKind, Sources, default_value};
use guildhall_server::{Config, create_issuer};
use secrecy::ExposeSecret;

use crate::async_runtime::block_on;
use crate::dev_state::{default_state_dir, repository_of, url_file};
use crate::doctor::DevTarget;
use crate::engine_url::reject_passwords;
use crate::error::UsageError;
use crate::serve::start_telemetry;
use crate::signals::serve_until_signal;
use banner::Addresses;
use engines::DevEngines;

/// Name of the first user, and the file in the state directory with the password.
const ADMIN_USER: &str = "admin";
const PASSWORD_FILE: &str = "admin.password";

/// Tenant of the first user, so that runs can be created at once.
const DEV_TENANT: &str = "dev";

/// Name of the issuer of AIDs. `.test` belongs to nobody (RFC 2606).
const DEV_ISSUER: &str = "guildhall.test";

/// The key that signs audit logs, and their anchors, in the state directory.
const AUDIT_KEY_FILE: &str = "audit.key";
const AUDIT_ANCHOR_FILE: &str = "audit-anchors.jsonl";

#[derive(Args)]
pub(crate) struct DevArgs {
    /// State directory for data, passwords and logs; without it ./.guildhall, or inside a Git repository a directory
    /// below ~/.local/state/guildhall
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Use a temporary state directory; all data is deleted at exit
    #[arg(long)]
    ephemeral: bool,
    /// IP address and port to listen on; without it http.listen, or a free port if that is in use
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Also listen for TLS, with a certificate of a local root: on http.tls_listen, or on port 7443 or a free one
    #[arg(long)]
    tls: bool,
    /// URL of a running PostgreSQL to use, without a password; set GUILDHALL_POSTGRES_URL for a URL with one
    #[arg(long, value_name = "URL")]
    pg_url: Option<String>,
    /// URL of a running NATS to use, without a password; set GUILDHALL_NATS_URL for a URL with one
    #[arg(long, value_name = "URL")]
    nats_url: Option<String>,
    /// Configuration file; without it ./guildhall.toml
    #[arg(long, value_name = "FILE", env = "GUILDHALL_CONFIG")]
    config: Option<PathBuf>,
    /// Log filter, such as info; without it telemetry.log_filter, or warn
    #[arg(long, value_name = "FILTER")]
    log: Option<String>,
    /// Print the URLs as one line of JSON when ready
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
            // Local services, such as a test identity provider, are reachable.
            ("egress.allow", "127.0.0.0/8,::1/128".to_owned()),
            // A run gets a runner at once, and runners stop with the server.
            ("launcher.warm", "demo=1".to_owned()),
            ("launcher.end_with_server", "true".to_owned()),
        ];
        // Without a runner binary the server starts too; runs then wait for an external runner.
        if guildhall_server::default_runner_path().exists() {
            sources.defaults.push(("launcher.kind", "local".to_owned()));
        }
        sources
    }

    fn state_dir(&self) -> PathBuf {
        self.state.clone().unwrap_or_else(default_state_dir)
    }

    /// Returns the installation that was requested, for the diagnosis after a failure.
    pub(crate) fn target(&self) -> DevTarget {
        let mut sources = self.sources();
        let engines = [("postgres.url", &self.pg_url), ("nats.url", &self.nats_url)];
        sources.flags.extend(engines.into_iter().filter_map(|(key, url)| Some((key, url.clone()?))));
        let state = (!self.ephemeral).then(|| self.state_dir());
        DevTarget { state, listen: self.listen, sources }
    }
}

pub(crate) fn run(args: &DevArgs) -> Result<()> {
    let started = Instant::now();
    reject_passwords([&args.pg_url, &args.nats_url])?;
    let mut sources = args.sources();
    let config = Config::load(&sources)?;
    let listen = args.listen.unwrap_or(config.http.listen);
    if !listen.ip().is_loopback() || config.http.tls_listen.is_some_and(|tls| !tls.ip().is_loopback()) {
        let message =
            "`guildhall dev` can only listen on a loopback address; use `guildhall serve` to serve others";
        return Err(UsageError(message).into());
    }
    let _telemetry = start_telemetry(&config)?;

    // Declared before the runtime and so dropped after it: the engines stop last.
    let engines = DevEngines::start(args, &config)?;
    sources.flags.extend(engines.settings());
    add_settings(&mut sources, &config, &engines)?;
    sources.flags.push(("http.listen", choose_address(listen, args.listen.is_some()).to_string()));
    if args.tls {
        add_tls(&mut sources, &config, &engines)?;
    }
    let mut config = Config::load(&sources)?;
    // It also contains the passwords and data of the engines.
    config.launcher.protected_paths.push(engines.folder().display().to_string());
    allow_own_repository(&mut config);
    create_issuer(&config)?;

    let password = engines.secret(PASSWORD_FILE)?;
    block_on(serve_until_signal(&config, async |server| {
        match config.launcher.kind {
            LauncherKind::Local => {
                server.create_first_owner(ADMIN_USER, &password, &DEV_TENANT.parse()?).await?
            }
            // Without local runners no tenant is created: external runners belong to a tenant of the developer.
            LauncherKind::None => server.create_first_user(ADMIN_USER, &password).await?,
        };
        tls::record_url(engines.folder(), server.tls_address().filter(|_| args.tls))?;
        // `guildhall login` in this directory reads the URL of the server.
        let url = format!("http://{}", server.address());
        std::fs::write(url_file(engines.folder()), &url)?;
        if let Some(aid) = aid::developer_aid(&config.aun.issuer)
            && let Err(error) = aid::create(&url, engines.folder(), &aid, &password).await
        {
            // The password may have been changed since the first start.
            eprintln!("warning: {error:#}");
        }
        let containment = match config.launcher.kind {
            LauncherKind::Local => guildhall_server::check_containment(&config).await,
            LauncherKind::None => Ok(()),
        };
        let addresses = Addresses { plain: server.address(), tls: server.tls_address() };
        banner::print(args, &config, &engines, addresses, &containment, started.elapsed());
        Ok(())
    }))
}

/// Adds the settings that the configuration leaves to `dev`: its state directory holds what is stored.
fn add_settings(sources: &mut Sources, config: &Config, engines: &DevEngines) -> Result<()> {
    // Compilers may run on the same machine, and then a connection takes seconds.
    if engines.postgres.is_some() {
        sources.defaults.push(("postgres.acquire_timeout", "30s".to_owned()));
    }
    if config.secrets.folder.is_empty() {
        sources.flags.push(("secrets.folder", engines.folder().join("secrets").display().to_string()));
    }
    if config.attachments.folder.is_empty() && config.attachments.bucket.is_empty() {
        let folder = engines.folder().join("attachments").display().to_string();
        sources.flags.push(("attachments.folder", folder));
    }
    if config.identity.key_encryption_key.expose_secret().is_empty() {
        let key = engines.secret("identity.key")?;
        sources.flags.push(("identity.key_encryption_key", key.expose_secret().to_owned()));
    }
    if config.audit.signing_key_file.is_empty() {
        engines.secret(AUDIT_KEY_FILE)?;
        let path = |file| engines.folder().join(file).display().to_string();
        sources.flags.push(("audit.signing_key_file", path(AUDIT_KEY_FILE)));
        if config.audit.anchor_file.is_empty() {
            sources.flags.push(("audit.anchor_file", path(AUDIT_ANCHOR_FILE)));
        }
    }
    if config.aun.issuer.is_empty() {
        sources.flags.push(("aun.issuer", DEV_ISSUER.to_owned()));
        sources.flags.push(("aun.registration", "loopback".to_owned()));
    }
    if default_value("launcher.state")
        .is_some_and(|default| default == format!("\"{}\"", config.launcher.state.display()))
    {
        sources.flags.push(("launcher.state", engines.folder().join("launcher").display().to_string()));
    }
    Ok(())
}

/// Adds a port for TLS, with a certificate from the state directory unless the configuration has one.
fn add_tls(sources: &mut Sources, config: &Config, engines: &DevEngines) -> Result<()> {
    if config.http.tls_listen.is_none() {
        let address = choose_address(tls::ADDRESS, false);
        sources.flags.push(("http.tls_listen", address.to_string()));
    }
    if config.http.tls_certificate_file.is_empty() && config.http.tls_key_file.is_empty() {
        let issuer = Some(config.aun.issuer.as_str()).filter(|issuer| !issuer.is_empty());
        let files = tls::prepare(engines.folder(), issuer.unwrap_or(DEV_ISSUER))?;
        sources.flags.push(("http.tls_certificate_file", files.certificate.display().to_string()));
        sources.flags.push(("http.tls_key_file", files.key.display().to_string()));
    }
    Ok(())
}

/// Returns the address, or one with any free port if the default port is in use.
fn choose_address(address: SocketAddr, is_explicit: bool) -> SocketAddr {
    if is_explicit || TcpListener::bind(address).is_ok() {
        return address;
    }
    SocketAddr::new(address.ip(), 0)
}

/// Returns the repository that `guildhall dev` was started in.
fn own_repository() -> Option<PathBuf> {
    repository_of(&std::env::current_dir().ok()?.canonicalize().ok()?)
}

/// Lets agents work on copies of the repository that `guildhall dev` was started in, unless the configuration names
/// directories.
fn allow_own_repository(config: &mut Config) {
    let Some(repository) = own_repository() else { return };
    let repository = repository.display().to_string();
    for list in [&mut config.launcher.workspace_roots, &mut config.runs.directories] {
        if list.is_empty() {
            list.push(repository.clone());
        }
    }
}
