//! The disk of `secrets.folder`, which the replicas share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use super::small_disk::SmallDisk;
use super::{Storm, StormTenant};

const DISK_MIB: u32 = 8;

/// The profile whose credential is replaced.
const PROFILE: &str = "storm";

pub(super) struct SecretsDisk {
    disk: SmallDisk,
    writes: AtomicU64,
}

impl SecretsDisk {
    pub(super) fn mount(folder: &Path) -> Self {
        Self { disk: SmallDisk::mount(&folder.join("credentials"), DISK_MIB), writes: AtomicU64::new(0) }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.disk.path().join("secrets")
    }

    /// Replaces a credential while the disk is full: the request fails, and the stored credential stays as it is.
    pub(super) async fn write_on_full_disk(&self, storm: &Storm, replica: usize) {
        let tenant = &storm.tenants[storm.tenants.len() - 1];
        let before = self.write(storm, tenant).await;
        self.disk.fill();
        let request = storm.api.request(replica, Method::PUT, &path(tenant, "/credential"), &tenant.bearer);
        let refused = storm.api.try_send(request.json(&self.new_credential())).await;
        let kept = read(storm, tenant).await;
        self.disk.free();
        assert_eq!(refused, None, "a credential was stored on a full disk");
        assert_eq!(kept, before, "the credential of before is damaged");
        let after = self.write(storm, tenant).await;
        assert_ne!(
            after["hashSuffix"], before["hashSuffix"],
            "the credential is not replaced after the fault"
        );
    }

    fn new_credential(&self) -> Value {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        json!({ "credential": format!("sk-{number}"), "template": "codex" })
    }

    /// Replaces the credential, at the first replica that answers. Returns the stored profile.
    async fn write(&self, storm: &Storm, tenant: &StormTenant) -> Value {
        let (path, body) = (path(tenant, "/credential"), self.new_credential());
        let (status, stored) = storm.api.send(Method::PUT, &path, &tenant.bearer, None, &body).await;
        assert_eq!(status, 200, "{stored}");
        stored
    }
}

async fn read(storm: &Storm, tenant: &StormTenant) -> Value {
    let (status, profile) =
        storm.api.send(Method::GET, &path(tenant, ""), &tenant.bearer, None, &Value::Null).await;
    assert_eq!(status, 200, "{profile}");
    profile
}

fn path(tenant: &StormTenant, rest: &str) -> String {
    format!("/api/v1/provider-profiles/{PROFILE}{rest}?tenantId={}", tenant.id)
}
