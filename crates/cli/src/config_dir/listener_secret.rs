//! The signing secret of `guildhall listen`: a receiver under development keeps it over restarts.

use anyhow::{Result, anyhow};
use guildhall_identity::webhook_secret::WebhookSecret;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use super::dir::ConfigDir;

const FILE: &str = "listener.json";

/// No `Debug`: it would print the secret.
#[derive(Default, Serialize, Deserialize)]
struct StoredListener {
    secret: Option<String>,
}

/// Returns the secret of this directory. The first call creates it.
pub(crate) async fn listener_secret(dir: &ConfigDir) -> Result<WebhookSecret> {
    let lock = dir.lock().await?;
    let path = dir.file(FILE);
    if let Some(text) = dir.read::<StoredListener>(FILE)?.secret {
        let secret = WebhookSecret::from_text(&SecretString::from(text));
        return secret.map_err(|_| {
            let path = path.display();
            anyhow!("{path} has no signing secret\n  next: remove the file, for a new one")
        });
    }
    let secret = WebhookSecret::generate();
    let stored = StoredListener { secret: Some(secret.to_text().expose_secret().to_owned()) };
    dir.write(FILE, &stored, &lock)?;
    Ok(secret)
}
