use guildhall_domain::access::audit_chain::{ChainTip, UnsealedEntry, seal};
use guildhall_domain::access::audit_checkpoint::{AuditLog, Checkpoint, CheckpointStatement};
use guildhall_domain::ids::{EntryId, TenantId};
use guildhall_domain::journal::Seq;
use guildhall_identity::audit_key::AuditSigningKey;
use jiff::Timestamp;
use secrecy::SecretString;
use uuid::Uuid;

use super::*;

fn key(digit: char) -> AuditSigningKey {
    AuditSigningKey::from_hex(&SecretString::from(digit.to_string().repeat(64))).expect("a key")
}

fn tenant_log() -> AuditLog {
    AuditLog::Tenant(TenantId::from_uuid(Uuid::from_u128(7)))
}

/// An export of six entries with checkpoints after entries 3 and 6, and its anchors.
struct SignedExport {
    lines: Vec<Value>,
    anchors: Vec<Checkpoint>,
}

impl SignedExport {
    fn new(signer: &AuditSigningKey, log: AuditLog, object: &str) -> Self {
        let body = json!({ "object": object }).to_string();
        let id = |seq: i64| EntryId::from_uuid(Uuid::from_u128(u128::try_from(seq).expect("positive")));
        let entries = (1i64..7).map(|seq| UnsealedEntry {
            seq: Seq::new(seq).expect("positive"),
            id: id(seq),
            action: "key.created",
            recorded_at: Timestamp::UNIX_EPOCH,
            body: Some(&body),
        });
        let mut export = Self { lines: Vec::new(), anchors: Vec::new() };
        for entry in seal(ChainTip::START, entries).expect("a valid log") {
            let mut line = json!({
                "v": 1, "type": "entry", "seq": entry.seq, "id": id(entry.seq.get()).to_string(),
                "action": "key.created", "body": { "object": object }, "recordedAt": Timestamp::UNIX_EPOCH,
                "bodyHash": entry.body_hash.to_string(), "hash": entry.hash.to_string(),
            });
            if entry.seq.get() % 3 == 0 {
                let tip = ChainTip { seq: entry.seq, hash: entry.hash };
                let statement = CheckpointStatement { log, tip, signed_at: Timestamp::UNIX_EPOCH };
                let checkpoint = signer.sign(statement);
                line["checkpoint"] = json!({
                    "log": log.to_string(), "signedAt": Timestamp::UNIX_EPOCH,
                    "keyId": checkpoint.key.to_string(), "signature": checkpoint.signature.to_string(),
                });
                export.anchors.push(checkpoint);
            }
            export.lines.push(line);
        }
        export
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn anchors(&self) -> AnchorIndex {
        let lines: Vec<String> = self.anchors.iter().map(Checkpoint::to_anchor_line).collect();
        AnchorIndex::parse(&lines.join("\n")).expect("anchors")
    }
}

fn verify(
    text: &str,
    sources: TrustSources,
    allow_erased: bool,
) -> Result<ExportReport, (Option<u64>, String)> {
    let trust = TrustVerifier::new(sources);
    let verifier = ExportVerifier { chain: ChainVerifier::default(), trust, allow_erased };
    verifier.verify(text.as_bytes()).map_err(|error| match error {
        VerifyError::Read(error) => (None, error.to_string()),
        VerifyError::Fault { line, reason } => (line, reason),
    })
}

fn keys(digit: char) -> TrustSources {
    TrustSources { keys: vec![key(digit).public()], anchors: None }
}

fn anchored(anchors: AnchorIndex) -> TrustSources {
    TrustSources { keys: Vec::new(), anchors: Some(anchors) }
}

#[test]
fn empty_file_incomplete_line_and_stripped_hashes_are_rejected() {
    let mut stripped = SignedExport::new(&key('1'), tenant_log(), "a");
    for line in &mut stripped.lines {
        for field in ["bodyHash", "hash", "checkpoint"] {
            line[field] = Value::Null;
        }
    }
    let unproved = "no entry is proved: the hashes were removed, or the entries are not sealed yet; \
                    export again after a few seconds";
    for (file, line, reason) in [
        ("", None, "the file is empty: nothing is proved"),
        ("{}", Some(1), "incomplete: the line feed at the end is missing"),
        (stripped.text().as_str(), None, unproved),
    ] {
        let found = verify(file, TrustSources::default(), false);
        assert_eq!(found, Err((line, reason.to_owned())), "{file}");
    }
}

#[test]
fn signed_and_anchored_export_is_accepted() {
    let export = SignedExport::new(&key('1'), tenant_log(), "a");
    let six = Seq::new(6);
    let sources = TrustSources { anchors: Some(export.anchors()), ..keys('1') };
    let report = verify(&export.text(), sources, false).expect("valid");
    assert_eq!(report.trust, TrustReport { log: Some(tenant_log()), signed_to: six, anchored_to: six });
    let chain_only = verify(&export.text(), TrustSources::default(), false).expect("valid");
    assert_eq!(chain_only.trust, TrustReport { log: Some(tenant_log()), ..TrustReport::default() });
}

#[test]
fn log_sealed_and_signed_again_is_rejected() {
    let original = SignedExport::new(&key('1'), tenant_log(), "a");
    let forged = SignedExport::new(&key('2'), tenant_log(), "b");
    let (_, reason) = verify(&forged.text(), keys('1'), false).expect_err("another key");
    assert!(reason.contains("not given with --public-key"), "{reason}");
    let mismatch = "entry 3 does not match its anchor: it or an earlier entry was changed";
    let found = verify(&forged.text(), anchored(original.anchors()), false);
    assert_eq!(found, Err((None, mismatch.to_owned())));
    // The id of the key is not secret.
    let mut renamed = forged;
    for line in [2, 5] {
        renamed.lines[line]["checkpoint"]["keyId"] = json!(key('1').public().id().to_string());
    }
    assert_eq!(
        verify(&renamed.text(), keys('1'), false),
        Err((Some(3), "its signature is not valid".to_owned()))
    );
}

#[test]
fn truncated_log_is_rejected_by_its_anchors() {
    let original = SignedExport::new(&key('1'), tenant_log(), "a");
    let missing = "the log ends at entry 3, but was anchored at 6: entries are missing at the end";
    let mut truncated = SignedExport::new(&key('1'), tenant_log(), "a");
    truncated.lines.truncate(3);
    // A valid signature does not say that nothing follows.
    assert!(verify(&truncated.text(), keys('1'), false).is_ok());
    assert_eq!(
        verify(&truncated.text(), anchored(original.anchors()), false),
        Err((None, missing.to_owned()))
    );
}

#[test]
fn unsigned_end_or_missing_anchors_prove_nothing() {
    let mut export = SignedExport::new(&key('1'), tenant_log(), "a");
    let anchors = export.anchors();
    export.lines[5]["checkpoint"] = Value::Null;
    let unsigned = "entries 4 to 6 are not signed: they were changed, or their checkpoint was removed";
    assert_eq!(verify(&export.text(), keys('1'), false), Err((None, unsigned.to_owned())));
    export.lines[2]["checkpoint"] = Value::Null;
    assert_eq!(verify(&export.text(), keys('1'), false), Err((None, "no entry is signed".to_owned())));
    let (_, reason) = verify(&export.text(), anchored(anchors), false).expect_err("no checkpoint");
    assert_eq!(reason, "no entry has a checkpoint: the file does not say which log it is");
    let other = SignedExport::new(&key('1'), AuditLog::Installation, "a");
    let export = SignedExport::new(&key('1'), tenant_log(), "a");
    let (_, reason) = verify(&export.text(), anchored(other.anchors()), false).expect_err("no anchor");
    assert!(reason.starts_with("the anchor file has no anchor of the log ten_"), "{reason}");
}

#[test]
fn erased_body_is_rejected_unless_allowed() {
    let mut export = SignedExport::new(&key('1'), tenant_log(), "a");
    export.lines[1]["body"] = Value::Null;
    assert_eq!(verify(&export.text(), keys('1'), false).map_err(|(line, _)| line), Err(Some(2)));
    assert_eq!(verify(&export.text(), keys('1'), true).map(|report| report.chain.erased), Ok(1));
}
