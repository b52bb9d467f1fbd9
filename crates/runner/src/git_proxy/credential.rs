//! The credentials of git hosts, in files: `FOLDER/TENANT/HOST` for HTTPS and `FOLDER/TENANT/ssh/HOST` for SSH; `shared`
//! in place of the tenant for all tenants. No sandbox contains them.

use std::path::PathBuf;

use guildhall_domain::ids::TenantId;
use secrecy::{ExposeSecret, SecretString};

use crate::credential_file::{self, CredentialFileError};

/// Hosts ignore the user of a token, but want one.
const DEFAULT_USER: &str = "git";

/// The folder of the credentials that all tenants use.
const SHARED: &str = "shared";

/// The folder of the SSH keys of a tenant.
const SSH: &str = "ssh";

/// A user and a token for one host.
#[derive(Debug, Clone)]
pub struct GitCredential {
    pub user: String,
    pub token: SecretString,
}

/// Why a credential cannot be used. Messages contain nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error(transparent)]
    File(#[from] CredentialFileError),
    #[error("the file contains neither TOKEN nor USER:TOKEN")]
    Form,
}

/// Reads the credential of a host: that of the tenant, or else the shared one; `None` if there is none.
pub fn read_credential(
    folders: &[PathBuf],
    tenant: TenantId,
    host: &str,
) -> Result<Option<GitCredential>, CredentialError> {
    for path in paths(folders, tenant, host) {
        if let Some(line) = credential_file::read(&path)? {
            return GitCredential::parse(line.expose_secret()).map(Some);
        }
    }
    Ok(None)
}

/// Reads the private SSH key for a host: that of the tenant, or else the shared one; `None` if there is none.
pub fn read_ssh_key(
    folders: &[PathBuf],
    tenant: TenantId,
    host: &str,
) -> Result<Option<SecretString>, CredentialError> {
    for path in paths(folders, tenant, &format!("{SSH}/{host}")) {
        if let Some(key) = credential_file::read_text(&path)? {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// Returns where a credential may be: first those of the tenant, in the order of the folders, then the shared ones.
fn paths(folders: &[PathBuf], tenant: TenantId, name: &str) -> Vec<PathBuf> {
    let owners = [tenant.to_string(), SHARED.to_owned()];
    owners.iter().flat_map(|owner| folders.iter().map(move |folder| folder.join(owner).join(name))).collect()
}

impl GitCredential {
    /// Parses the line of a credential file.
    pub fn parse(line: &str) -> Result<Self, CredentialError> {
        let (user, token) = line.split_once(':').unwrap_or((DEFAULT_USER, line));
        let is_text = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_text(user) || !is_text(token) {
            return Err(CredentialError::Form);
        }
        Ok(Self { user: user.to_owned(), token: SecretString::from(token) })
    }

    /// Adds the credential to a request.
    pub(super) fn authorize(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        // Marked as sensitive by the client, so that it is not in its debug output.
        request.basic_auth(&self.user, Some(self.token.expose_secret()))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::*;

    fn parts(text: &str) -> Result<(String, String), CredentialError> {
        GitCredential::parse(text).map(|found| (found.user, found.token.expose_secret().to_owned()))
    }

    #[test]
    fn credential_is_a_token_with_or_without_a_user() {
        let pair = |user: &str, token: &str| Ok((user.to_owned(), token.to_owned()));
        assert_eq!(parts("hunter2"), pair("git", "hunter2"));
        assert_eq!(parts("oauth2:hunter2"), pair("oauth2", "hunter2"));
        assert_eq!(parts("me:a:b"), pair("me", "a:b"));
        for text in ["", ":hunter2", "me:", "two words", "caf\u{e9}"] {
            assert_eq!(parts(text), Err(CredentialError::Form), "{text:?}");
        }
    }

    fn write(folder: &Path, owner: &str, token: &str) {
        let path = folder.join(owner).join("git.example");
        fs::create_dir_all(folder.join(owner)).expect("create directory");
        fs::write(&path, token).expect("write file");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set mode");
    }

    fn read(folder: &Path, tenant: TenantId, host: &str) -> Result<Option<String>, CredentialError> {
        let found = read_credential(&[folder.join("empty"), folder.to_owned()], tenant, host)?;
        Ok(found.map(|credential| credential.token.expose_secret().to_owned()))
    }

    #[test]
    fn tenant_credential_comes_before_the_shared_one() {
        let folder = tempfile::tempdir().expect("temporary directory");
        let (own, other) = (TenantId::generate(), TenantId::generate());
        write(folder.path(), "shared", "for-all");
        write(folder.path(), &own.to_string(), "own");
        assert_eq!(read(folder.path(), own, "git.example"), Ok(Some("own".to_owned())));
        assert_eq!(read(folder.path(), other, "git.example"), Ok(Some("for-all".to_owned())));
        assert_eq!(read(folder.path(), own, "other.example"), Ok(None));
    }
}
