//! Checkpoints and anchors of audit logs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint};
use guildhall_identity::audit_key::AuditPublicKey;
use guildhall_server::StartError;
use guildhall_testkit::{Stopwatch, TestDb};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::cluster::Cluster;
use crate::support::{Setup, TestResponse};

const TIMEOUT: Duration = Duration::from_secs(10);

/// A folder with a signing key, and the path of an anchor file.
struct AuditFiles {
    folder: TempDir,
}

impl AuditFiles {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = Self { folder };
        std::fs::write(files.key(), "5".repeat(64)).expect("written");
        files.set_mode(0o600);
        files
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("audit.key")
    }

    fn anchors(&self) -> PathBuf {
        self.folder.path().join("anchors.jsonl")
    }

    fn set_mode(&self, mode: u32) {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(self.key(), permissions).expect("changed");
    }

    fn setup(&self, db: &TestDb) -> Setup {
        Setup::new(db)
            .with("housekeeping.audit_seal_every", "100ms")
            .with("audit.signing_key_file", self.key().display())
            .with("audit.anchor_file", self.anchors().display())
    }
}

fn read_anchors(path: &Path) -> Vec<Checkpoint> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| Checkpoint::from_anchor_line(line).expect("an anchor")).collect()
}

/// Waits until the last anchor of a log is at an entry, and returns all its anchors.
async fn wait_until_anchored(path: &Path, log: AuditLog, seq: i64) -> Vec<Checkpoint> {
    let began = Stopwatch::start();
    loop {
        let anchors = read_anchors(path);
        let anchors: Vec<_> = anchors.into_iter().filter(|anchor| anchor.statement.log == log).collect();
        if anchors.last().is_some_and(|last| last.statement.tip.seq.get() == seq) {
            return anchors;
        }
        assert!(began.elapsed() < TIMEOUT, "{log} is not anchored at {seq} after {TIMEOUT:?}: {anchors:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn two_replicas_anchor_each_checkpoint_once_and_repair_a_lost_file() {
    let (db, files) = (TestDb::new().await, AuditFiles::new());
    let setup = files.setup(&db);
    let cluster = Cluster::with_setup(setup.clone(), db).await;
    let tenant = cluster.create_tenant("acme").await;
    let log: AuditLog = tenant.parse().expect("a log");
    for _ in 0..5 {
        cluster.create_key(&tenant, "viewer").await;
    }
    let anchors = wait_until_anchored(&files.anchors(), log, 6).await;
    let mut seqs: Vec<i64> = anchors.iter().map(|anchor| anchor.statement.tip.seq.get()).collect();
    let count = seqs.len();
    seqs.dedup();
    assert_eq!(seqs.len(), count, "no anchor is repeated: {seqs:?}");

    let key = cluster.second.get_as("/api/v1/audit/public-key", &cluster.operator.token).await;
    let key: AuditPublicKey = key.body["publicKey"].as_str().and_then(|key| key.parse().ok()).expect("a key");
    assert!(anchors.iter().all(|anchor| key.verifies(anchor) && anchor.key == key.id()));
    let page =
        cluster.first.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &cluster.operator.token).await;
    let last = &anchors[count - 1];
    let expected = serde_json::json!({
        "log": tenant, "signedAt": last.statement.signed_at.to_string(), "keyId": key.id().to_string(),
        "signature": last.signature.to_string(),
    });
    assert_eq!(page.body["entries"][5]["checkpoint"], expected);
    assert_eq!(page.body["entries"][5]["hash"], last.statement.tip.hash.to_string());

    // The file is lost, with nothing new to seal: a replica that starts writes all last checkpoints again.
    std::fs::remove_file(files.anchors()).expect("removed");
    let third = setup.start().await;
    assert_eq!(wait_until_anchored(&files.anchors(), log, 6).await, vec![*last]);
    wait_until_anchored(&files.anchors(), AuditLog::Installation, installation_length(&cluster).await).await;
    assert!(third.server.shutdown().await);
}

async fn installation_length(cluster: &Cluster) -> i64 {
    let page = cluster.first.get_as("/api/v1/audit?fromEnd=0", &cluster.operator.token).await;
    page.body["nextAfterSeq"].as_i64().expect("a number")
}

#[tokio::test]
async fn rewritten_log_is_not_signed_again() {
    let (db, files) = (TestDb::new().await, AuditFiles::new());
    let (mut sql, setup) = (db.sql().await, files.setup(&db));
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_tenant("acme").await;
    let log: AuditLog = tenant.parse().expect("a log");
    for _ in 0..3 {
        cluster.create_key(&tenant, "viewer").await;
    }
    let before = wait_until_anchored(&files.anchors(), log, 4).await;
    let owner = tenant.strip_prefix("ten_").expect("a tenant's id");
    sql.execute(format!(
        "BEGIN;
         SELECT FROM journal_seal_heads WHERE owner = '{owner}' FOR UPDATE;
         UPDATE journal_entries SET body = replace(body, 'viewer', 'owner') WHERE owner = '{owner}';
         DELETE FROM journal_seals WHERE owner = '{owner}';
         DELETE FROM journal_checkpoints WHERE owner = '{owner}';
         UPDATE journal_seal_heads SET sealed_seq = 0, signed_seq = 0, hash = decode(repeat('00', 32), 'hex')
         WHERE owner = '{owner}';
         COMMIT"
    ))
    .await;
    let reports_error = |response: &TestResponse| {
        let tasks = response.body["housekeeping"].as_array().expect("a list");
        tasks.iter().any(|task| task["lastError"] == "cannot seal 1 of the audit logs")
    };
    cluster.first.wait_until("/health/readiness", TIMEOUT, reports_error).await;
    cluster.second.wait_until("/health/readiness", TIMEOUT, reports_error).await;
    assert_eq!(wait_until_anchored(&files.anchors(), log, 4).await, before);
    let path = format!("/api/v1/tenants/{tenant}/audit");
    let page = cluster.first.get_as(&path, &cluster.operator.token).await;
    assert_eq!(page.body["entries"][3].get("hash"), Some(&Value::Null), "it stays unsealed");
}

#[tokio::test]
async fn readable_key_file_or_anchors_without_a_key_prevent_the_start() {
    let (db, files) = (TestDb::new().await, AuditFiles::new());
    files.set_mode(0o644);
    let readable = files.setup(&db).try_start().await.expect_err("refused");
    assert!(matches!(readable, StartError::Audit(_)), "{readable:?}");
    let keyless = Setup::new(&db).with("audit.anchor_file", files.anchors().display());
    let keyless = keyless.try_start().await.expect_err("refused");
    assert!(matches!(keyless, StartError::Audit(_)), "{keyless:?}");
}
