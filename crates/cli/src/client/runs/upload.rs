//! Uploads the repository of the user as the workspace of a run.

use std::path::Path;

use anyhow::{Context, Result};
use guildhall_domain::ids::RunId;
use guildhall_domain::runs::policy::{BUNDLE_PART_BYTES, RequestField};
use guildhall_protocol::rest::runs::{CreateRun, RunView};
use guildhall_sdk::{Client, ClientError};
use serde_json::json;

use super::new_run::{RequestedPolicy, create_run, violates};
use super::working_tree::{History, WorkingTreeBundle};

/// A run with an uploaded workspace.
pub(super) struct UploadedRun {
    pub(super) run: RunView,
    pub(super) bundle: WorkingTreeBundle,
}

/// Creates a run with the repository as its workspace. Leaves out the history if that makes it too large.
pub(super) async fn create_uploaded_run(
    client: &Client,
    request: &CreateRun,
    policy: RequestedPolicy,
    repository: &Path,
) -> Result<UploadedRun> {
    let full = WorkingTreeBundle::create(repository, History::Full);
    let (bundle, created) = match full {
        Ok(bundle) => {
            let created = create(client, request, policy, &bundle).await;
            match created {
                Err(error) if violates(&error, RequestField::WorkspaceSize) => {
                    let bundle = WorkingTreeBundle::create(repository, History::None)?;
                    let created = create(client, request, policy, &bundle).await;
                    (bundle, created)
                }
                created => (bundle, created),
            }
        }
        // Such as a shallow clone, which does not have all commits.
        Err(_) => {
            let bundle = WorkingTreeBundle::create(repository, History::None)?;
            let created = create(client, request, policy, &bundle).await;
            (bundle, created)
        }
    };
    let run = match created {
        Err(error) if violates(&error, RequestField::WorkspaceSize) => {
            return Err(error).context("cannot upload this repository");
        }
        created => created?,
    };
    let id: RunId = run.run_id.parse()?;
    if let Err(error) = upload(client, id, &bundle).await {
        // An abandoned run would count against the limit of the tenant.
        let _unreachable = client.close_run(id).await;
        return Err(error).context("cannot upload this repository");
    }
    Ok(UploadedRun { run, bundle })
}

async fn create(
    client: &Client,
    request: &CreateRun,
    policy: RequestedPolicy,
    bundle: &WorkingTreeBundle,
) -> Result<RunView, ClientError> {
    let reference = json!({ "kind": "bundle", "sizeBytes": bundle.content.len(), "sha256": bundle.sha256() });
    create_run(client, CreateRun { workspace_ref: reference, ..request.clone() }, policy, None).await
}

async fn upload(client: &Client, run: RunId, bundle: &WorkingTreeBundle) -> Result<(), ClientError> {
    let part_bytes = usize::try_from(BUNDLE_PART_BYTES).unwrap_or(usize::MAX);
    for (number, part) in (0..).zip(bundle.content.chunks(part_bytes)) {
        client.put_bundle_part(run, number, part).await?;
    }
    Ok(())
}
