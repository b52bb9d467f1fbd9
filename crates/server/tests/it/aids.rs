//! AIDs through the API of two replicas: who may create, read and revoke them, and what everybody can read.

use guildhall_server::{StartError, create_issuer};
use guildhall_testkit::TestDb;
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::Setup;
use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::runs::text;

/// A P-256 key, whose private half nobody has.
const KEY: &str = "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEB5ZW4rPi+/oyk94m/JfUsOxvb7xt7QJHvitfRid5kYojTPEbp+I6eXCUxmdogX9mdCcCzGbbo7MiSJPkTHHvhg==";

pub(crate) fn issuer_setup(db: &TestDb, folder: &TempDir) -> Setup {
    let secrets = folder.path().join("secrets").display().to_string();
    Setup::new(db).with("aun.issuer", "guild.example").with("secrets.folder", secrets)
}

pub(crate) async fn issuer() -> (Cluster, TempDir) {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = issuer_setup(&db, &folder);
    assert!(create_issuer(&setup.config()).expect("created"));
    (Cluster::with_setup(setup, db).await, folder)
}

pub(crate) async fn create(cluster: &Cluster, name: &str) -> Value {
    let body = json!({ "name": name, "publicKey": KEY });
    let created = cluster.first.post_as("/api/v1/aids", &cluster.operator.token, body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.body
}

// covers: A27
#[tokio::test]
async fn certificate_is_read_at_the_other_replica_until_it_is_revoked() {
    let (cluster, _folder) = issuer().await;
    let created = create(&cluster, "alice").await;
    let certificate = &created["certificate"];
    let pem = text(certificate, "certificate");
    assert_eq!(
        (text(&created, "aid"), text(certificate, "status")),
        ("alice.guild.example".to_owned(), "active".to_owned())
    );
    let fingerprint = text(certificate, "fingerprint");
    for query in [
        "",
        &format!("?cert_fingerprint={fingerprint}"),
        &format!("?cert_fingerprint=sha256:{}", &fingerprint[..16]),
    ] {
        let read = cluster.second.get(&format!("/pki/cert/alice.guild.example{query}")).await;
        assert_eq!((read.status.as_u16(), read.text.as_str()), (200, pem.as_str()), "{query}");
        assert_eq!(read.header("content-type"), "application/x-pem-file");
    }
    let path = format!("/pki/ocsp/{}", text(certificate, "serial"));
    assert_eq!(text(&cluster.second.get(&path).await.body, "status"), "good");
    let revoke = "/api/v1/aids/alice.guild.example/revoke";
    let revoked =
        cluster.first.post_as(revoke, &cluster.operator.token, json!({ "reason": "key_compromise" })).await;
    assert_eq!(text(&revoked.body["certificate"], "revocationReason"), "key_compromise");
    let answer = cluster.second.get(&path).await.body;
    assert_eq!(text(&answer, "status"), "revoked");
    assert!(!text(&answer, "ocsp_response").is_empty());
    let renewed = cluster
        .second
        .post_as("/api/v1/aids/alice.guild.example/renew", &cluster.operator.token, json!({}))
        .await;
    renewed.assert_failure(409, "conflict");
    let again = cluster
        .second
        .post_as("/api/v1/aids", &cluster.operator.token, json!({ "name": "alice", "publicKey": KEY }))
        .await;
    again.assert_failure(409, "conflict");
}

#[tokio::test]
async fn names_are_created_by_operators_and_managed_by_their_owner() {
    let (cluster, _folder) = issuer().await;
    create(&cluster, "alice").await;
    let user: SignedInUser = cluster.create_user("ada").await;
    let body = json!({ "name": "bobby", "publicKey": KEY });
    cluster.first.post_as("/api/v1/aids", &user.token, body).await.assert_failure(404, "not-found");
    let body = json!({ "name": "bobby", "address": "127.0.0.1" });
    cluster
        .first
        .post_as("/api/v1/aid-reservations", &user.token, body.clone())
        .await
        .assert_failure(404, "not-found");
    let to_operator =
        |path: &'static str, body: Value| cluster.first.post_as(path, &cluster.operator.token, body);
    let reserved = to_operator("/api/v1/aid-reservations", body).await;
    assert_eq!(reserved.body["owner"], Value::Null);
    assert_eq!(
        (reserved.status.as_u16(), text(&reserved.body, "aid")),
        (201, "bobby.guild.example".to_owned())
    );
    assert_eq!(
        cluster.first.get_as("/api/v1/aids", &user.token).await.body,
        json!({ "aids": [], "nextCursor": null })
    );
    cluster
        .first
        .get_as("/api/v1/aids/alice.guild.example", &user.token)
        .await
        .assert_failure(404, "not-found");
    let move_to = format!("UPDATE aids SET principal = '{}'", user.principal.trim_start_matches("prn_"));
    cluster.db.sql().await.execute(move_to).await;
    let listed = cluster.second.get_as("/api/v1/aids", &user.token).await.body;
    assert_eq!(text(&listed["aids"][0], "owner"), user.principal);
    // An operator can name the owner, if it is a user.
    let body = json!({ "name": "carol", "publicKey": KEY, "owner": user.principal });
    assert_eq!(text(&to_operator("/api/v1/aids", body).await.body, "owner"), user.principal);
    let body = json!({ "name": "david", "address": "127.0.0.1", "owner": user.principal });
    assert_eq!(text(&to_operator("/api/v1/aid-reservations", body).await.body, "owner"), user.principal);
    for owner in ["prn_01920000000070008000000000000000", "ada"] {
        let body = json!({ "name": "erika", "publicKey": KEY, "owner": owner });
        to_operator("/api/v1/aids", body).await.assert_failure(400, "schema-invalid");
        let body = json!({ "name": "erika", "address": "127.0.0.1", "owner": owner });
        to_operator("/api/v1/aid-reservations", body).await.assert_failure(400, "schema-invalid");
    }
    let age = "UPDATE aid_certificates SET not_before = not_before - interval '2 hours'";
    cluster.db.sql().await.execute(age).await;
    let renew = cluster
        .second
        .request_as(Method::POST, "/api/v1/aids/alice.guild.example/renew", &user.token, None)
        .await;
    assert_eq!(
        (renew.status.as_u16(), text(&renew.body["certificate"], "status")),
        (200, "active".to_owned())
    );
}

#[tokio::test]
async fn invalid_names_keys_and_fingerprints_are_rejected() {
    let (cluster, _folder) = issuer().await;
    for (name, key) in
        [("bob", KEY), ("guest-1", KEY), ("gateway", KEY), ("alice", "AAAA"), ("alice", "not base64")]
    {
        let body = json!({ "name": name, "publicKey": key });
        let refused = cluster.first.post_as("/api/v1/aids", &cluster.operator.token, body).await;
        refused.assert_failure(400, "schema-invalid");
    }
    cluster
        .first
        .get("/pki/cert/alice.guild.example?cert_fingerprint=12")
        .await
        .assert_failure(400, "schema-invalid");
    for path in [
        "/pki/cert/nobody.guild.example",
        "/pki/cert/%2e%2e",
        "/pki/ocsp/xyz",
        "/pki/ocsp/0",
        &format!("/pki/ocsp/{}", "f".repeat(40)),
    ] {
        cluster.first.get(path).await.assert_failure(404, "not-found");
    }
    assert_eq!(text(&cluster.first.get("/pki/ocsp/1234").await.body, "status"), "unknown");
}

#[tokio::test]
async fn server_that_is_not_an_issuer_has_no_aids() {
    let cluster = Cluster::new().await;
    for path in [
        "/pki/chain",
        "/root.crt",
        "/pki/crl.json",
        "/pki/ocsp/1234",
        "/pki/cert/alice.guild.example",
        "/ct/sth",
        "/ct/entries",
        "/trust-root.json",
    ] {
        cluster.first.get(path).await.assert_failure(404, "not-found");
    }
    cluster.first.get_as("/api/v1/aids", &cluster.operator.token).await.assert_failure(404, "not-found");
}

#[tokio::test]
async fn issuer_without_keys_or_with_another_name_does_not_start() {
    let (db, folder) = (TestDb::new().await, tempfile::tempdir().expect("a folder"));
    let setup = issuer_setup(&db, &folder);
    assert!(matches!(setup.try_start().await.err(), Some(StartError::Aun(_))), "no keys");
    assert!(create_issuer(&setup.config()).expect("created"));
    let other = issuer_setup(&db, &folder).with("aun.issuer", "other.example");
    assert!(matches!(other.try_start().await.err(), Some(StartError::Aun(_))), "another name");
    let (_first, elsewhere) = (setup.start().await, tempfile::tempdir().expect("a folder"));
    let second_root = issuer_setup(&db, &elsewhere);
    assert!(create_issuer(&second_root.config()).expect("created"));
    assert!(matches!(second_root.try_start().await.err(), Some(StartError::OtherIssuer)), "another root");
    let invalid = Setup::new(&db).with("aun.issuer", "guild.example");
    assert!(matches!(invalid.try_start().await.err(), Some(StartError::Aun(_))), "no folder");
}
