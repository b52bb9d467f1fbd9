//! AIDs on the command line, against the issuer of `guildhall dev`.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// OpenSSL reads the key and the certificate that the command wrote.
#[test]
fn aid_commands_create_list_and_revoke() {
    let (server, user) = (DevServer::ephemeral(), CliUser::new());
    user.login(&server);
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().display().to_string();
    let created = user.run(&["aid", "create", "alice", "--directory", &directory]);
    assert!(created.status.success(), "{}", stderr(&created));
    let (key, certificate) =
        (folder.path().join("alice.guildhall.test.key"), folder.path().join("alice.guildhall.test.crt"));
    let expected = format!(
        "created alice.guildhall.test\n  key: {}\n  certificate: {}\n",
        key.display(),
        certificate.display()
    );
    assert_eq!(stdout(&created), expected);
    assert_eq!(std::fs::metadata(&key).expect("a file").permissions().mode() & 0o777, 0o600);
    let openssl = |arguments: &[&str]| {
        let output =
            Command::new("openssl").args(arguments).current_dir(folder.path()).output().expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let of_key = openssl(&["pkey", "-in", "alice.guildhall.test.key", "-pubout"]);
    let of_certificate = openssl(&["x509", "-in", "alice.guildhall.test.crt", "-pubkey", "-noout"]);
    assert_eq!(of_key, of_certificate, "the certificate is for the key");

    let taken = user.run(&["aid", "create", "alice", "--directory", &directory]);
    assert!(!taken.status.success() && stderr(&taken).contains("already exists"), "{}", stderr(&taken));
    assert_eq!(
        std::fs::read_dir(folder.path()).expect("listed").count(),
        2,
        "no key of the second attempt is left"
    );
    let early = user.run(&["aid", "renew", "alice.guildhall.test"]);
    assert!(stderr(&early).contains("the certificate is less than an hour old"), "{}", stderr(&early));
    let revoked = user.json(&["aid", "revoke", "alice.guildhall.test", "--reason", "superseded"]);
    let state = json!([revoked["certificate"]["status"], revoked["certificate"]["revocationReason"]]);
    assert_eq!(state, json!(["revoked", "superseded"]));
    let listed = stdout(&user.run(&["aid", "ls"]));
    assert!(listed.contains("alice.guildhall.test      revoked"), "{listed}");
    let reserved = stdout(&user.run(&["aid", "reserve", "bobby", "--address", "192.0.2.7"]));
    assert!(reserved.starts_with("192.0.2.7 can register bobby.guildhall.test until "), "{reserved}");
    let owned = user.json(&["aid", "reserve", "bobby", "--address", "192.0.2.7", "--owner", "admin"]);
    let admin = user.json(&["users", "show", "admin"]);
    assert_eq!(owned["owner"], admin["principal"]);
    let unknown = user.run(&["aid", "create", "carol", "--directory", &directory, "--owner", "nobody"]);
    assert!(!unknown.status.success() && stderr(&unknown).contains("nobody"), "{}", stderr(&unknown));
    let audit = stdout(&user.run(&["audit", "tail", "--installation"]));
    for action in ["aid.created", "aid.revoked", "aid.reserved"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
    let reserved = user.run(&["aid", "create", "gateway", "--directory", &directory]);
    assert!(stderr(&reserved).contains("the name is reserved for the issuer"), "{}", stderr(&reserved));
    let invalid = user.run(&["aid", "create", "bob"]);
    assert_eq!(invalid.status.code(), Some(2), "{}", stderr(&invalid));
}
