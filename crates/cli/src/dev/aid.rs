//! The AID of the user of `guildhall dev`.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use guildhall_domain::identity::{Aid, AidName};
use guildhall_sdk::Client;
use secrecy::SecretString;

use super::ADMIN_USER;
use crate::client::identity::key_files::KeyFiles;
use crate::dev_state::aids_dir;

/// `admin` is a reserved name.
const NAME: &str = "developer";

/// Returns the AID of the developer below an issuer; none where the server issues none.
pub(super) fn developer_aid(issuer: &str) -> Option<Aid> {
    format!("{NAME}.{issuer}").parse().ok()
}

/// Creates the AID, with its key in the state directory, unless the directory has one.
pub(super) async fn create(url: &str, state: &Path, aid: &Aid, password: &SecretString) -> Result<()> {
    let directory = aids_dir(state);
    if directory.join(format!("{aid}.key")).exists() {
        return Ok(());
    }
    fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let name: &AidName = aid.name();
    let files = KeyFiles::create(&directory, name)?;
    match register(url, password, name, &files).await {
        Ok(certificate) => files.finish(aid, &certificate).map(drop),
        Err(error) => {
            files.remove()?;
            Err(error.context(format!("cannot create {aid}")))
        }
    }
}

async fn register(url: &str, password: &SecretString, name: &AidName, files: &KeyFiles) -> Result<String> {
    let client = Client::new(url)?;
    let tokens = client.sign_in(ADMIN_USER, password).await?;
    let created =
        client.with_tokens(Arc::new(tokens.access)).create_aid(name, &files.public_key()?, None).await?;
    Ok(created.certificate.certificate)
}
