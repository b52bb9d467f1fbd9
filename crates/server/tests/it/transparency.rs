//! The transparency log and the list of trusted roots through the API of two replicas.

use guildhall_identity::trust::{AuthorityKey, TrustListRules};
use guildhall_runtime::Clock;
use guildhall_server::{StartError, create_issuer};
use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::aids::{create, issuer, issuer_setup};
use crate::support::runs::text;

/// The fields of an object of the log, whose values differ in every run.
fn names(value: &Value) -> Vec<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

// covers: A13
#[tokio::test]
async fn everybody_reads_the_log_at_any_replica() {
    let (cluster, _folder) = issuer().await;
    let alice = create(&cluster, "alice").await;
    create(&cluster, "bobby").await;
    let head = cluster.second.get("/ct/sth").await.body;
    assert_eq!(head, cluster.first.get("/ct/sth").await.body);
    let fields = [
        "hash_algorithm",
        "log_id",
        "public_key",
        "root_hash",
        "signature",
        "signature_algorithm",
        "sth_version",
        "timestamp",
        "tree_size",
    ];
    assert_eq!((names(&head), &head["tree_size"]), (fields.to_vec(), &json!(2)));
    let entries = cluster.second.get("/ct/entries?start=0&limit=1").await.body;
    let entry = &entries["entries"][0];
    assert_eq!(entries, json!({ "entries": [entry] }));
    let certificate = &alice["certificate"];
    let expected = json!({
        "log_id": 0, "timestamp": entry["timestamp"], "entry_type": "certificate", "aid": "alice.guild.example",
        "issuer": "guild.example",
        "serial": certificate["serial"], "cert_sha256": certificate["fingerprint"], "leaf_hash": entry["leaf_hash"],
        "certificate": certificate["certificate"],
    });
    assert_eq!(entry, &expected);
    assert_eq!(cluster.first.get("/ct/entries/0").await.body, expected);
    let serial = text(certificate, "serial");
    assert_eq!(cluster.first.get(&format!("/ct/certs/{serial}")).await.body, expected);
    let second = cluster.first.get("/ct/entries/1").await.body;
    let proof = cluster.first.get("/ct/proof/2/0").await.body;
    let hashes = json!([second["leaf_hash"]]);
    assert_eq!(
        proof,
        json!({ "tree_size": 2, "leaf_index": 0, "leaf_hash": entry["leaf_hash"], "hashes": hashes })
    );
    let consistency = cluster.second.get("/ct/consistency/1/2").await.body;
    assert_eq!(consistency, json!({ "first": 1, "second": 2, "hashes": hashes }));
    assert_eq!(cluster.first.get("/ct/entries?start=2").await.body, json!({ "entries": [] }));
    for path in [
        "/ct/entries/2",
        "/ct/entries/-1",
        "/ct/entries/x",
        "/ct/proof/3/0",
        "/ct/proof/2/2",
        "/ct/consistency/0/2",
        "/ct/consistency/2/1",
        "/ct/consistency/2/3",
        "/ct/certs/1234",
        "/ct/certs/xyz",
        "/ct/proof/18446744073709551615/3",
        "/ct/proof/18446744073709551616/3",
    ] {
        cluster.first.get(path).await.assert_failure(404, "not-found");
    }
    for query in ["limit=0", "limit=101", "start=-1", "start=x", "page=1"] {
        cluster.first.get(&format!("/ct/entries?{query}")).await.assert_failure(400, "schema-invalid");
    }
}

// covers: A12
#[tokio::test]
async fn list_of_roots_has_one_version_and_is_trusted_with_the_pinned_key() {
    let (cluster, _folder) = issuer().await;
    let certificate = cluster.first.get("/pki/trust-authority.crt").await;
    assert_eq!(certificate.header("content-type"), "application/x-pem-file");
    let authority = AuthorityKey::from_certificate_pem(&certificate.text).expect("a certificate");
    let root = cluster.first.get("/root.crt").await.text;
    let now = Clock::system().now();
    for (replica, path) in [
        (&cluster.first, "/pki/trust-roots.json"),
        (&cluster.second, "/pki/trust-roots.json"),
        (&cluster.second, "/trust-root.json"),
    ] {
        let list = replica.get(path).await.body;
        let rules = TrustListRules { authority: &authority, stored_version: 1, now };
        let trusted = rules.verify(&list).expect("trusted");
        assert_eq!((trusted.version, trusted.roots.len()), (1, 1), "{path}");
        assert!(trusted.find_pem(&root).is_ok(), "the root of the chain is in the list");
        let rules = TrustListRules { stored_version: 2, ..rules };
        assert!(rules.verify(&list).is_err(), "a client that has a newer list keeps it");
    }
    let other = "UPDATE trust_list SET version = 7, content_hash = sha256('other')";
    cluster.db.sql().await.execute(other).await;
    let refused = cluster.first.get("/pki/trust-roots.json").await;
    assert_eq!(refused.status, 500, "another replica has newer roots: {}", refused.text);
}

#[tokio::test]
async fn version_of_the_list_rises_with_other_roots_and_not_with_a_restart() {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = issuer_setup(&db, &folder);
    assert!(create_issuer(&setup.config()).expect("created"));
    let version = |body: &Value| body["version"].as_u64();
    let first = setup.start().await;
    assert_eq!(version(&first.get("/pki/trust-roots.json").await.body), Some(1));
    let second = setup.start().await;
    assert_eq!(version(&second.get("/pki/trust-roots.json").await.body), Some(1));
    db.sql().await.execute("UPDATE trust_list SET content_hash = sha256('older roots')").await;
    let third = setup.start().await;
    assert_eq!(version(&third.get("/pki/trust-roots.json").await.body), Some(2));
}

#[tokio::test]
async fn folder_without_the_later_keys_issues_certificates_until_they_are_added() {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = issuer_setup(&db, &folder);
    assert!(create_issuer(&setup.config()).expect("created"));
    let aun = folder.path().join("secrets/aun");
    for file in ["log.key", "trust.key", "trust.crt"] {
        std::fs::remove_file(aun.join(file)).expect("removed");
    }
    let older = setup.start().await;
    for path in ["/ct/sth", "/pki/trust-roots.json", "/pki/trust-authority.crt"] {
        let missing = older.get(path).await;
        missing.assert_failure(404, "not-found");
        assert!(missing.text.contains("guildhall init"), "{}", missing.text);
    }
    assert_eq!(older.get("/ct/entries").await.body, json!({ "entries": [] }));
    assert!(create_issuer(&setup.config()).expect("added"));
    assert!(!create_issuer(&setup.config()).expect("nothing is missing"));
    let newer = setup.start().await;
    assert_eq!(newer.get("/ct/sth").await.body["tree_size"], 0);
    std::fs::remove_file(aun.join("log.key")).expect("removed");
    assert!(create_issuer(&setup.config()).expect("another key"));
    assert!(matches!(setup.try_start().await.err(), Some(StartError::OtherIssuer)), "another log");
}
