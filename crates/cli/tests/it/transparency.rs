//! `guildhall transparency` against the log of `guildhall dev`, honest and forged.

use std::path::Path;

use guildhall_testkit::SqlConnection;
use serde_json::{Value, json};

use crate::dev::postgres_url;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// Cuts the log after its first entry, as a backup or somebody with the database would.
const CUT_LOG: &str = "DELETE FROM transparency_entries WHERE index >= 1;
    DELETE FROM transparency_nodes WHERE (index + 1) << level > 1;
    UPDATE transparency_log SET size = 1, head_size = NULL, head_root = NULL, head_at = NULL, head_signature = NULL";

/// `dev` has logged the certificate of its user.
const EMPTY_LOG: &str = "DELETE FROM transparency_entries; DELETE FROM transparency_nodes;
    UPDATE transparency_log SET size = 0, head_size = NULL, head_root = NULL, head_at = NULL, head_signature = NULL";

struct Fixture {
    server: DevServer,
    user: CliUser,
    folder: tempfile::TempDir,
}

impl Fixture {
    /// Starts with an empty log.
    async fn start() -> Self {
        let (server, user) = (DevServer::ephemeral(), CliUser::new());
        user.login(&server);
        let fixture = Self { server, user, folder: tempfile::tempdir().expect("a folder") };
        fixture.sql().await.execute(EMPTY_LOG).await;
        fixture
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn create(&self, names: &[&str]) {
        let directory = self.folder.path().display().to_string();
        for name in names {
            let created = self.user.run(&["aid", "create", name, "--directory", &directory]);
            assert!(created.status.success(), "{}", stderr(&created));
        }
    }

    async fn sql(&self) -> SqlConnection {
        SqlConnection::connect(&postgres_url(&self.server.ready)).await
    }

    fn save(&self, name: &str) -> String {
        let file = self.path(name);
        let saved = self.user.run(&["transparency", "head", "--save", &file]);
        assert!(saved.status.success(), "{}", stderr(&saved));
        file
    }

    /// Verifies the log, which must fail. Returns the error.
    fn fault(&self, args: &[&str]) -> String {
        let verified = self.user.run(&[&["transparency", "verify", "--json"], args].concat());
        assert_eq!(verified.status.code(), Some(1), "{}", stdout(&verified));
        let answer: Value = serde_json::from_str(&stdout(&verified)).expect("JSON");
        let fault = answer["fault"].as_str().expect("a fault").to_owned();
        assert_eq!(answer, json!({ "ok": false, "fault": fault }));
        assert!(stderr(&verified).contains(&fault), "{}", stderr(&verified));
        fault
    }
}

// covers: A13
#[tokio::test]
async fn log_that_grows_is_verified_from_a_saved_head() {
    let fixture = Fixture::start().await;
    let empty = fixture.save("empty.sth");
    fixture.create(&["alice", "bobby", "carol"]);
    let head = fixture.save("guild.sth");
    fixture.create(&["david"]);
    // Nobody needs to be signed in.
    let visitor = CliUser::new();
    let url = &fixture.server.url;
    let verified = visitor.run(&[
        "transparency",
        "verify",
        "--server",
        url,
        "--from",
        &head,
        "--entries",
        "--save",
        &head,
    ]);
    assert!(verified.status.success(), "{}", stderr(&verified));
    let text = stdout(&verified);
    assert!(text.contains("head of 4 entries, signed "), "{text}");
    assert!(text.contains("it continues the saved head of 3 entries\n4 entries verified\n"), "{text}");
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&head).expect("a file")).expect("JSON");
    assert_eq!(saved["tree_size"], 4, "the new head was saved");
    let again = fixture.user.json(&["transparency", "verify", "--from", &empty, "--entries"]);
    assert_eq!((&again["ok"], &again["from"], &again["size"]), (&json!(true), &json!(0), &json!(4)));
    let shown = fixture.user.json(&[
        "transparency",
        "head",
        "--public-key",
        saved["public_key"].as_str().expect("a key"),
    ]);
    assert_eq!(shown["root_hash"], saved["root_hash"]);
}

// covers: A13
#[tokio::test]
async fn forked_and_shortened_logs_are_found() {
    let fixture = Fixture::start().await;
    fixture.create(&["alice", "bobby", "carol"]);
    let head = fixture.save("guild.sth");
    fixture.sql().await.execute(CUT_LOG).await;
    let fault = fixture.fault(&["--from", &head]);
    assert!(fault.starts_with("the log shrank: the saved head has 3 entries, the later one 1"), "{fault}");
    // The forged log grows again, to the same size and beyond it. Its own entries are valid.
    fixture.create(&["david", "erica"]);
    let forked = "the log forked at 3 entries: the later head does not continue the saved one";
    assert_eq!(fixture.fault(&["--from", &head]), forked);
    fixture.create(&["frank"]);
    assert_eq!(fixture.fault(&["--from", &head]), forked);
    assert!(fixture.user.run(&["transparency", "verify", "--entries"]).status.success());
    let before = std::fs::read_to_string(&head).expect("a file");
    fixture.fault(&["--from", &head, "--save", &head]);
    assert_eq!(
        std::fs::read_to_string(&head).expect("a file"),
        before,
        "a head that is not verified is not saved"
    );
}

// covers: A13
#[tokio::test]
async fn two_saved_heads_are_compared_without_the_server() {
    let fixture = Fixture::start().await;
    fixture.create(&["alice", "bobby", "carol"]);
    let first = fixture.save("first.sth");
    fixture.create(&["david", "erica"]);
    let second = fixture.save("second.sth");
    let asked = fixture.user.json(&["transparency", "verify", "--from", &first, "--to", &second]);
    assert_eq!((&asked["from"], &asked["size"]), (&json!(3), &json!(5)), "{asked}");
    let proof = fixture.path("proof.json");
    let response = reqwest::get(format!("{}/ct/consistency/3/5", fixture.server.url)).await;
    std::fs::write(&proof, response.expect("a response").text().await.expect("text")).expect("written");
    fixture.sql().await.execute(CUT_LOG).await;
    fixture.create(&["frank", "grace"]);
    let forged = fixture.save("forged.sth");
    let Fixture { server, folder: _folder, .. } = fixture;
    drop(server);

    // Somebody without a server and without an account, in any order of the heads.
    let auditor = CliUser::new();
    let verify = |args: &[&str]| auditor.run(&[&["transparency", "verify", "--json"], args].concat());
    for heads in [[&first, &second], [&second, &first]] {
        let verified = verify(&["--from", heads[0], "--to", heads[1], "--proof", &proof]);
        let answer: Value = serde_json::from_str(&stdout(&verified)).expect("JSON");
        assert_eq!(
            answer,
            json!({ "ok": true, "log": asked["log"], "from": 3, "size": 5 }),
            "{}",
            stderr(&verified)
        );
    }
    let forked = "the log forked at 3 entries: the later head does not continue the saved one";
    for (args, fault) in [
        (vec!["--from", &first, "--to", &forged], forked.to_owned()),
        (
            vec!["--from", &second, "--to", &forged],
            "the log shrank: the saved head has 5 entries, the later one 3: entries were removed, or a backup was restored"
                .to_owned(),
        ),
    ] {
        let found = verify(&args);
        let answer: Value = serde_json::from_str(&stdout(&found)).expect("JSON");
        assert_eq!((answer, found.status.code()), (json!({ "ok": false, "fault": fault }), Some(1)));
    }
}

// covers: A13
#[tokio::test]
async fn one_flipped_byte_is_found() {
    let fixture = Fixture::start().await;
    fixture.create(&["alice", "bobby"]);
    let head = fixture.save("guild.sth");
    let mut sql = fixture.sql().await;
    let flip = |column: &str, byte: usize| {
        format!(
            "UPDATE aid_certificates SET {column} = set_byte({column}, {byte}, get_byte({column}, {byte}) # 1)
             WHERE aid = 'bobby.guildhall.test'"
        )
    };
    // The last byte is one of the signature.
    let last = sql
        .number(
            "SELECT octet_length(der)::bigint - 1 FROM aid_certificates WHERE aid = 'bobby.guildhall.test'",
        )
        .await;
    let last = usize::try_from(last).expect("an index");
    for (column, byte, expected) in [
        ("fingerprint", 0, "entry 1: the fingerprint is not the one of the certificate"),
        ("der", last, "entry 1: the fingerprint is not the one of the certificate"),
        ("der", 1, "entry 1: the certificate cannot be read"),
    ] {
        sql.execute(flip(column, byte)).await;
        assert_eq!(fixture.fault(&["--entries"]), expected, "{column} {byte}");
        sql.execute(flip(column, byte)).await;
    }
    let shift =
        "UPDATE transparency_entries SET logged_at = logged_at + interval '1 millisecond' WHERE index = 1";
    sql.execute(shift).await;
    let fault = fixture.fault(&["--from", &head, "--entries"]);
    assert_eq!(fault, "the first 2 entries are not those of the saved head: an entry was changed");
    sql.execute(shift.replace('+', "-")).await;
    sql.execute("DELETE FROM transparency_entries WHERE index = 1").await;
    assert_eq!(fixture.fault(&["--entries"]), "entries are missing: the head has 2, the server lists 1");
}

#[tokio::test]
async fn changed_heads_and_other_keys_are_rejected() {
    let fixture = Fixture::start().await;
    fixture.create(&["alice"]);
    let head = fixture.save("guild.sth");
    let text = std::fs::read_to_string(&head).expect("a file");
    let mut view: Value = serde_json::from_str(&text).expect("JSON");
    view["tree_size"] = json!(0);
    std::fs::write(&head, view.to_string()).expect("written");
    assert_eq!(fixture.fault(&["--from", &head]), "the signature of the tree head is invalid");
    std::fs::write(&head, "{}").expect("written");
    let invalid = fixture.user.run(&["transparency", "verify", "--from", &head]);
    assert!(stderr(&invalid).contains("is not a saved tree head"), "{}", stderr(&invalid));
    let other = Fixture::start().await;
    let foreign = other.save("other.sth");
    let fault = fixture.fault(&["--from", &foreign]);
    assert!(fault.starts_with("the tree head is signed with another key: expected log "), "{fault}");
    assert!(Path::new(&foreign).exists());
    let nothing = fixture.user.run(&["transparency", "verify"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", stderr(&nothing));
}
