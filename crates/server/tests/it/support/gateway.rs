//! Replicas that issue AIDs.

use std::net::SocketAddr;

use guildhall_server::create_issuer;
use guildhall_testkit::TestDb;
use serde_json::json;
use tempfile::TempDir;

use super::Setup;
use super::aun_client::{AunIdentity, AunSocket, AunTokens};
use super::cluster::{Cluster, SignedInUser};

/// Two replicas of an issuer where everybody may register.
pub(crate) struct Gateway {
    pub(crate) cluster: Cluster,
    pub(crate) _folder: TempDir,
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        Self::with(|setup| setup).await
    }

    pub(crate) async fn with(change: impl FnOnce(Setup) -> Setup) -> Self {
        let db = TestDb::new().await;
        let setup = change(Setup::new(&db));
        Self::open(setup, db).await
    }

    pub(crate) async fn open(setup: Setup, db: TestDb) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let secrets = folder.path().join("secrets").display().to_string();
        let setup = setup
            .with("aun.issuer", "guild.example")
            .with("aun.registration", "open")
            .with("secrets.folder", secrets);
        assert!(create_issuer(&setup.config()).expect("created"));
        Self { cluster: Cluster::with_setup(setup, db).await, _folder: folder }
    }

    pub(crate) async fn register(&self, name: &str) -> AunIdentity {
        AunIdentity::register(self.cluster.first.address, &format!("{name}.guild.example")).await
    }

    /// Registers an AID, and gives it to a person.
    pub(crate) async fn register_for(&self, user: &SignedInUser, name: &str) -> AunIdentity {
        let identity = self.register(name).await;
        let (_, principal) = user.principal.split_once('_').expect("a prefix");
        let owned = format!("UPDATE aids SET principal = '{principal}' WHERE aid = '{}'", identity.aid);
        self.cluster.db.sql().await.execute(owned).await;
        identity
    }

    /// Returns the address of a replica, in turns.
    pub(crate) fn cluster_address(&self, number: usize) -> SocketAddr {
        if number.is_multiple_of(2) { self.cluster.first.address } else { self.cluster.second.address }
    }

    pub(crate) async fn open_socket(&self) -> AunSocket {
        AunSocket::open(self.cluster.first.address).await
    }

    pub(crate) async fn log_in(&self, identity: &AunIdentity) -> AunTokens {
        identity.log_in(self.cluster.first.address, self.cluster.second.address).await
    }

    pub(crate) async fn revoke(&self, identity: &AunIdentity) {
        let path = format!("/api/v1/aids/{}/revoke", identity.aid);
        let body = json!({ "reason": "key_compromise" });
        let revoked = self.cluster.first.post_as(&path, &self.cluster.operator.token, body).await;
        assert_eq!(revoked.status, 200, "{}", revoked.text);
    }

    /// Makes the certificates of an AID old enough to be renewed.
    pub(crate) async fn age_certificates(&self) {
        let update = "UPDATE aid_certificates SET not_before = not_before - interval '2 hours'";
        self.cluster.db.sql().await.execute(update).await;
    }
}
