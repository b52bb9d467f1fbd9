//! Workspaces from Git bundles that users upload. A bundle is untrusted data, as a repository is: git reads it in a sandbox.

use std::path::Path;
use std::time::Duration;

use guildhall_domain::runs::policy::{UploadedBundle, WorkspaceRef};
use guildhall_sdk::ClientError;
use guildhall_sdk::runner::LeasedRun;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;
use tracing::warn;

use super::baseline::Baseline;
use super::error::WorkspaceError;
use super::{WorkspaceDirs, git};

/// How often a part is requested while the server is unreachable: half a minute, like the other calls of a runner.
const MAX_TRIES: u32 = 60;

const RETRY_DELAY: Duration = Duration::from_millis(500);

/// Downloads the bundle of a session, if its workspace is one and does not exist yet.
pub(crate) async fn download(
    dirs: &WorkspaceDirs,
    held: &LeasedRun,
    session: &str,
    reference: &Value,
) -> Result<(), WorkspaceError> {
    let Ok(WorkspaceRef::Bundle(bundle)) = serde_json::from_value(reference.clone()) else { return Ok(()) };
    if bundle.size_bytes() > dirs.limits.bytes {
        return Err(WorkspaceError::WorkspaceTooLarge);
    }
    if fs::try_exists(dirs.managed.join(session)).await? {
        return Ok(());
    }
    fs::create_dir_all(&dirs.bundles).await?;
    let path = dirs.bundle_file(session);
    let downloaded = download_file(held, &bundle, &path).await;
    if downloaded.is_err() {
        let _missing = fs::remove_file(&path).await;
    }
    downloaded
}

async fn download_file(held: &LeasedRun, bundle: &UploadedBundle, path: &Path) -> Result<(), WorkspaceError> {
    let mut file = File::create(path).await?;
    let mut digest = Sha256::new();
    for number in 0..bundle.parts() {
        let part = download_part(held, number).await.map_err(WorkspaceError::Download)?;
        if bundle.part_bytes(number) != Some(part.len() as u64) {
            return Err(WorkspaceError::DamagedBundle);
        }
        digest.update(&part);
        file.write_all(&part).await?;
    }
    file.flush().await?;
    let digest: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if digest == bundle.sha256() { Ok(()) } else { Err(WorkspaceError::DamagedBundle) }
}

async fn download_part(held: &LeasedRun, number: u64) -> Result<Vec<u8>, ClientError> {
    let mut tries = 1;
    loop {
        match held.bundle_part(number).await {
            Err(error) if error.is_transient() && tries < MAX_TRIES => {
                warn!("cannot download a part of the workspace: {error}");
                tries += 1;
                sleep(RETRY_DELAY).await;
            }
            part => return part,
        }
    }
}

/// Creates a workspace from the bundle of its session: a repository at the commit of its user, with the files of the
/// working tree, which become the baseline.
pub(super) async fn unpack(
    dirs: &WorkspaceDirs,
    session: &str,
    bundle: &UploadedBundle,
    into: &Path,
) -> Result<(), WorkspaceError> {
    let file = dirs.bundle_file(session);
    let size = fs::metadata(&file).await.map_err(|_| WorkspaceError::DamagedBundle)?.len();
    if size != bundle.size_bytes() {
        return Err(WorkspaceError::DamagedBundle);
    }
    let clone = git::clone_bundle(&dirs.containment, &file, into).await?;
    let baseline = Baseline::create(&dirs.containment, &dirs.baselines.join(session), None).await?;
    baseline.fetch(&file, dirs.limits).await?;
    baseline.check_out(into).await?;
    git::reset_index(&clone).await
}
