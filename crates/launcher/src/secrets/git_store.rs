//! Credentials of git hosts as files, as runners read them: `<root>/git/<tenant>/<host>` is a token and
//! `<root>/git/<tenant>/ssh/<host>` an SSH key.

use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::ids::TenantId;
use guildhall_domain::profiles::git_credential::{GitCredentialKind, GitHost, StoredGitCredential};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::file_store::{SUFFIX_DIGITS, TEMP_MAX_AGE, TEMP_PREFIX};
use super::private_dir::{FileText, PrivateDir};
use super::store::SecretError;

const GIT: &str = "git";
const SSH: &str = "ssh";
const MAX_BYTES: u64 = 32 * 1024;

/// Stores the credentials that tenants set, in a local directory that no other user can read.
#[derive(Debug, Clone)]
pub struct GitCredentialStore {
    folder: PathBuf,
}

impl GitCredentialStore {
    /// Opens or creates the store in the folder of all secrets.
    pub fn open(root: &Path) -> Result<Self, SecretError> {
        let folder = root.join(GIT);
        PrivateDir::create(&folder)?;
        Ok(Self { folder })
    }

    /// Returns where the store is in the folder of all secrets.
    #[must_use]
    pub fn folder_in(root: &Path) -> PathBuf {
        root.join(GIT)
    }

    /// Stores a credential, instead of an earlier one.
    pub async fn set(
        &self,
        tenant: TenantId,
        host: GitHost,
        kind: GitCredentialKind,
        value: SecretString,
    ) -> Result<StoredGitCredential, SecretError> {
        let folder = self.folder.clone();
        run_blocking(&self.folder, move || {
            let dir = PrivateDir::create(&folder)?.open_or_create(&tenant.to_string())?;
            let dir = match kind {
                GitCredentialKind::Token => dir,
                GitCredentialKind::SshKey => dir.open_or_create(SSH)?,
            };
            let temporary = format!("{TEMP_PREFIX}{}", Uuid::now_v7().simple());
            dir.write(&temporary, value.expose_secret())?;
            dir.replace_file(&temporary, host.as_str())?;
            let found = read(&dir, &host, kind)?;
            let found = found.ok_or_else(|| SecretError::InvalidFormat(folder.join(tenant.to_string())))?;
            remove_abandoned(&dir, found.updated_at)?;
            Ok(found)
        })
        .await
    }

    /// Lists the credentials of a tenant, by host.
    pub async fn list(&self, tenant: TenantId) -> Result<Vec<StoredGitCredential>, SecretError> {
        let folder = self.folder.clone();
        run_blocking(&self.folder, move || {
            let Some(tokens) = PrivateDir::create(&folder)?.open(&tenant.to_string())? else {
                return Ok(Vec::new());
            };
            let mut found = read_all(&tokens, GitCredentialKind::Token)?;
            if let Some(keys) = tokens.open(SSH)? {
                found.extend(read_all(&keys, GitCredentialKind::SshKey)?);
            }
            found.sort_by(|one, other| (&one.host, one.kind).cmp(&(&other.host, other.kind)));
            Ok(found)
        })
        .await
    }

    /// Deletes a credential. Returns false if there was none.
    pub async fn delete(
        &self,
        tenant: TenantId,
        host: GitHost,
        kind: GitCredentialKind,
    ) -> Result<bool, SecretError> {
        let folder = self.folder.clone();
        run_blocking(&self.folder, move || {
            let Some(dir) = PrivateDir::create(&folder)?.open(&tenant.to_string())? else { return Ok(false) };
            let dir = match kind {
                GitCredentialKind::Token => Some(dir),
                GitCredentialKind::SshKey => dir.open(SSH)?,
            };
            dir.map_or(Ok(false), |dir| dir.remove_file(host.as_str()))
        })
        .await
    }
}

async fn run_blocking<T: Send + 'static>(
    folder: &Path,
    work: impl FnOnce() -> Result<T, SecretError> + Send + 'static,
) -> Result<T, SecretError> {
    let (action, path) = ("access", folder.to_owned());
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| SecretError::Io { action, path, source: std::io::Error::other(error) })?
}

/// Removes what a killed server had not renamed yet.
fn remove_abandoned(dir: &PrivateDir, now: Timestamp) -> Result<(), SecretError> {
    for name in dir.names()?.iter().filter(|name| name.starts_with(TEMP_PREFIX)) {
        let Some(file) = dir.read(name, MAX_BYTES)? else { continue };
        if Duration::try_from(now.duration_since(file.changed_at)).is_ok_and(|age| age > TEMP_MAX_AGE) {
            dir.remove_file(name)?;
        }
    }
    Ok(())
}

fn read_all(dir: &PrivateDir, kind: GitCredentialKind) -> Result<Vec<StoredGitCredential>, SecretError> {
    let hosts = dir.names()?.into_iter().filter_map(|name| GitHost::try_from(name).ok());
    let found = hosts.map(|host| read(dir, &host, kind)).collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().flatten().collect())
}

fn read(
    dir: &PrivateDir,
    host: &GitHost,
    kind: GitCredentialKind,
) -> Result<Option<StoredGitCredential>, SecretError> {
    let found = dir.read(host.as_str(), MAX_BYTES)?;
    Ok(found.map(|FileText { text, changed_at }| {
        let digest: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        StoredGitCredential {
            host: host.clone(),
            kind,
            sha256_suffix: digest[digest.len() - SUFFIX_DIGITS..].to_owned(),
            updated_at: changed_at,
        }
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    #[tokio::test]
    async fn credentials_are_private_files_of_their_tenant() {
        let root = tempfile::tempdir().expect("a directory");
        let store = GitCredentialStore::open(root.path()).expect("a store");
        let (tenant, other) = (TenantId::generate(), TenantId::generate());
        let host = GitHost::try_from("git.example".to_owned()).expect("a host");
        let (token, ssh) = (GitCredentialKind::Token, GitCredentialKind::SshKey);
        for (kind, value) in [(token, "old"), (token, "hunter2"), (ssh, "the key")] {
            store.set(tenant, host.clone(), kind, SecretString::from(value)).await.expect("stored");
        }
        let listed = store.list(tenant).await.expect("listed");
        assert_eq!(listed.iter().map(|found| found.kind).collect::<Vec<_>>(), [token, ssh]);
        assert!(!format!("{listed:?}").contains("hunter2"));
        assert_eq!(store.list(other).await.expect("listed"), Vec::new());
        let folder = root.path().join("git").join(tenant.to_string());
        for (file, value) in [("git.example", "hunter2"), ("ssh/git.example", "the key")] {
            let path = folder.join(file);
            assert_eq!(fs::read_to_string(&path).expect("readable"), value);
            assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        }
        let names = || fs::read_dir(&folder).expect("readable").count();
        assert_eq!(names(), 2, "no temporary file is left");
        assert!(!store.delete(other, host.clone(), token).await.expect("nothing"));
        assert!(store.delete(tenant, host.clone(), token).await.expect("deleted"));
        assert!(!store.delete(tenant, host, token).await.expect("nothing"));
        assert_eq!(store.list(tenant).await.expect("listed").len(), 1);
    }

    #[tokio::test]
    async fn next_write_removes_the_file_of_a_killed_server() {
        let root = tempfile::tempdir().expect("a directory");
        let store = GitCredentialStore::open(root.path()).expect("a store");
        let (tenant, token) = (TenantId::generate(), GitCredentialKind::Token);
        let host = GitHost::try_from("git.example".to_owned()).expect("a host");
        store.set(tenant, host.clone(), token, SecretString::from("first")).await.expect("stored");
        let folder = root.path().join("git").join(tenant.to_string());
        let (old, new) = (format!("{TEMP_PREFIX}old"), format!("{TEMP_PREFIX}new"));
        for name in [&old, &new] {
            fs::write(folder.join(name), "hunter2").expect("written");
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o600)).expect("private");
        }
        let file = fs::File::options().append(true).open(folder.join(&old)).expect("there");
        file.set_modified(SystemTime::UNIX_EPOCH).expect("set");
        store.set(tenant, host, token, SecretString::from("second")).await.expect("stored");
        let entries = fs::read_dir(&folder).expect("readable").flatten();
        let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        assert_eq!(names, [new, "git.example".to_owned()]);
    }
}
