//! `guildhall aid login`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use guildhall_domain::identity::{Aid, CertificateFingerprint};
use guildhall_identity::pki::{EcKey, P256PublicKey, ParsedCertificate, pem_to_der};
use guildhall_identity::trust::TrustedRoot;
use guildhall_runtime::Clock;
use guildhall_sdk::Client;
use serde_json::json;
use url::Url;

use crate::client::aid_socket::open_device_store;
use crate::client::connection::CommonArgs;
use crate::config_dir::{AidLogin, AidLogins, ConfigDir, Contexts, LoginSettings, PinnedRoot};
use crate::dev_state::{aids_dir, default_state_dir, url_file};
use crate::error::UsageError;
use crate::output::print_result;
use crate::server_client::{client, is_loopback, socket_endpoint};

pub(super) const HELP: &str = "The AID proves its key to the server, and gets tokens for the socket. They are stored in your \
configuration directory, readable by you only, and are refreshed when they expire; the key stays in its file, and is read again \
when the login has ended. The AID becomes the current one: `rpc`, `send`, `inbox` and `chat` use it.

With --root-fingerprint the server has to prove that it belongs to the issuer. Without TLS, and on another machine, that is \
required: somebody in between could log in with the signature.

Examples:
  guildhall aid login alice.guild.example                       With ./alice.guild.example.key and .crt
  guildhall aid login alice.guild.example --key ~/keys/alice.key --certificate ~/keys/alice.crt
  guildhall aid login alice.guild.example --server https://guild.example
  guildhall aid login developer.guildhall.test                  In the directory of `guildhall dev`";

#[derive(Args)]
pub(super) struct AidLoginArgs {
    /// AID, such as alice.guild.example
    aid: Aid,
    /// Private key in PEM; without it AID.key in this directory, or the file of the last login
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Certificate in PEM; without it the file beside the key with the ending .crt, or the one of the last login
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// URL of the server, or of its socket; without it the one of the last login, or of the context
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// SHA-256 of the root certificate of the issuer, from its operator
    #[arg(long, value_name = "SHA256")]
    root_fingerprint: Option<CertificateFingerprint>,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn run(args: &AidLoginArgs) -> Result<()> {
    let dir = ConfigDir::find()?;
    let earlier = AidLogins::load(&dir)?.logins.remove(&args.aid.to_string());
    let earlier = earlier.map(|login| login.settings);
    let mut settings = args.settings(&dir, earlier).await?;
    let key = Arc::new(settings.read_key()?);
    check_pair(&args.aid, &settings, &key)?;
    let (_, store) = open_device_store(&dir, &args.aid, &settings, key)?;
    settings.device = store.device_id().to_owned();
    let endpoint = socket_endpoint(&settings.url)?;
    let now = Clock::system().now();
    let done = endpoint.log_in(&settings.credentials(args.aid.clone())?, now).await?;
    let certificate = done.newer_certificate.unwrap_or(settings.certificate);
    let login = AidLogin::new(LoginSettings { certificate, ..settings }, &done.tokens);
    let LoginSettings { url, key_file, device, .. } = login.settings.clone();
    save(&dir, &args.aid, login).await?;
    let aid = args.aid.to_string();
    let value = json!({ "aid": aid, "url": url, "keyFile": key_file, "device": device });
    print_result(args.common.json, &value, || format!("logged in to {url} as {aid}; it is the current AID"))?;
    Ok(())
}

async fn save(dir: &ConfigDir, aid: &Aid, login: AidLogin) -> Result<()> {
    let lock = dir.lock().await?;
    let mut logins = AidLogins::load(dir)?;
    logins.logins.insert(aid.to_string(), login);
    logins.current = Some(aid.to_string());
    logins.save(dir, &lock)
}

impl AidLoginArgs {
    /// Completes the arguments with what an earlier login used.
    async fn settings(&self, dir: &ConfigDir, earlier: Option<LoginSettings>) -> Result<LoginSettings> {
        let key_file = self.key_file(earlier.as_ref())?;
        let certificate = self.certificate(&key_file, earlier.as_ref())?;
        let url = self.url(dir, earlier.as_ref())?;
        let earlier_root = earlier.filter(|earlier| earlier.url == url).and_then(|earlier| earlier.root);
        let root = match self.root_fingerprint {
            Some(fingerprint) => Some(fetch_root(&client(&url)?, fingerprint).await?),
            None => earlier_root,
        };
        if root.is_none() {
            check_connection(&url)?;
        }
        Ok(LoginSettings { url, key_file, certificate, device: String::new(), root })
    }

    /// Returns an absolute path: later commands run elsewhere.
    fn key_file(&self, earlier: Option<&LoginSettings>) -> Result<PathBuf> {
        let local = PathBuf::from(format!("{}.key", self.aid));
        let dev = aids_dir(&default_state_dir()).join(&local);
        let found = match (&self.key, earlier) {
            (Some(given), _) => given.clone(),
            (None, _) if local.is_file() => local,
            (None, Some(earlier)) => return Ok(earlier.key_file.clone()),
            (None, None) if dev.is_file() => dev,
            (None, None) => local,
        };
        std::path::absolute(&found).with_context(|| format!("cannot find {}", found.display()))
    }

    fn certificate(&self, key_file: &Path, earlier: Option<&LoginSettings>) -> Result<String> {
        let beside = key_file.with_extension("crt");
        let path = match (&self.certificate, earlier) {
            (Some(given), _) => given,
            (None, Some(earlier)) if earlier.key_file == key_file => return Ok(earlier.certificate.clone()),
            (None, _) => &beside,
        };
        std::fs::read_to_string(path).with_context(|| {
            format!(
                "cannot read the certificate in {}\n  next: --key and --certificate name the files",
                path.display()
            )
        })
    }

    fn url(&self, dir: &ConfigDir, earlier: Option<&LoginSettings>) -> Result<String> {
        if let Some(url) = self.server.clone().or_else(|| earlier.map(|earlier| earlier.url.clone())) {
            // Rejects a password, which must not be stored.
            socket_endpoint(&url)?;
            return Ok(url);
        }
        let state = default_state_dir();
        if aids_dir(&state).join(format!("{}.key", self.aid)).is_file() {
            return std::fs::read_to_string(url_file(&state)).context("`guildhall dev` does not run here");
        }
        let contexts = Contexts::load(dir)?;
        match contexts.find(self.common.context.as_deref())? {
            Some((_, context)) => Ok(context.url.clone()),
            None => Err(UsageError("no server selected\n  next: add --server URL").into()),
        }
    }
}

async fn fetch_root(client: &Client, fingerprint: CertificateFingerprint) -> Result<PinnedRoot> {
    let certificate = client.root_certificate().await?;
    TrustedRoot::with_fingerprint(&certificate, fingerprint)?;
    Ok(PinnedRoot { certificate, fingerprint: fingerprint.to_string() })
}

/// Refuses a connection that does not show which server it leads to.
fn check_connection(url: &str) -> Result<()> {
    let is_safe =
        Url::parse(url).is_ok_and(|url| ["https", "wss"].contains(&url.scheme()) || is_loopback(&url));
    ensure!(
        is_safe,
        "{url} uses no TLS: somebody in between could log in as this AID\n  next: use https, or add --root-fingerprint \
         with the fingerprint that the operator of the issuer gives you"
    );
    Ok(())
}

/// Checks here what the server would refuse with less to go on.
fn check_pair(aid: &Aid, settings: &LoginSettings, key: &EcKey) -> Result<()> {
    let certificate = pem_to_der(settings.certificate.trim())
        .and_then(|der| ParsedCertificate::from_der(&der))
        .context("cannot use the certificate")?;
    if certificate.common_name != aid.to_string() {
        bail!("the certificate is not one of {aid}\n  next: --certificate names another file");
    }
    ensure!(
        P256PublicKey::of(key)? == certificate.public_key,
        "the key in {} is not the one of the certificate\n  next: --key and --certificate name the files",
        settings.key_file.display()
    );
    Ok(())
}
