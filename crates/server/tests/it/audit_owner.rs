//! A server whose role does not own the tables: it cannot change the audit log.

use guildhall_server::StartError;
use guildhall_testkit::{SqlConnection, TestDb};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::support::Setup;
use crate::support::cluster::Cluster;

/// What an attacker with the password of the server tries.
const ATTACKS: &[&str] = &[
    "UPDATE journal_entries SET body = '{}' WHERE journal = 1",
    "UPDATE journal_entries_audit SET body = '{}'",
    "UPDATE journal_entries SET body = NULL, erased_at = now()",
    "DELETE FROM journal_entries WHERE journal = 1",
    "DELETE FROM journal_entries_audit",
    "TRUNCATE journal_entries",
    "TRUNCATE journal_entries_audit",
    "INSERT INTO journal_entries SELECT * FROM journal_entries WHERE journal = 1
     ON CONFLICT (journal, owner, seq) DO UPDATE SET body = '{}'",
    "MERGE INTO journal_entries AS old USING (SELECT 1) AS new ON old.journal = 1 WHEN MATCHED THEN DELETE",
    "UPDATE journal_seals SET hash = body_hash",
    "DELETE FROM journal_seals",
    "TRUNCATE journal_seals",
    "UPDATE journal_checkpoints SET seq = seq + 1",
    "DELETE FROM journal_checkpoints",
    "TRUNCATE journal_checkpoints CASCADE",
    "ALTER TABLE journal_entries DISABLE TRIGGER ALL",
    "ALTER TABLE journal_entries DETACH PARTITION journal_entries_audit",
    "ALTER TABLE journal_entries OWNER TO CURRENT_USER",
    "ALTER TABLE journal_seals RENAME TO journal_seals_old",
    "DROP TABLE journal_entries_audit",
    "DROP TABLE journal_seals",
    "DROP SCHEMA public CASCADE",
    "CREATE TRIGGER forge BEFORE INSERT ON journal_entries FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE RULE forge AS ON INSERT TO journal_seals DO INSTEAD NOTHING",
    "CREATE TABLE journal_entries_forged (LIKE journal_entries)",
    "SET session_replication_role = replica",
    "GRANT ALL ON journal_entries TO CURRENT_USER; DELETE FROM journal_entries",
    "SELECT limit_application_role(current_user::text); DELETE FROM journal_entries",
    "UPDATE schema_state SET floor = 9999",
    "DELETE FROM _sqlx_migrations",
];

/// Two roles of a database without tables: the first owns it.
struct Roles {
    owner: SecretString,
    owner_name: String,
    application: SecretString,
    application_name: String,
}

impl Roles {
    async fn create(db: &TestDb) -> Self {
        let (owner_name, owner) = db.create_role("owner").await;
        let (application_name, application) = db.create_role("app").await;
        Self { owner, owner_name, application, application_name }
    }

    fn setup(&self, db: &TestDb) -> Setup {
        self.setup_without_owner(db).with("postgres.owner_url", self.owner.expose_secret())
    }

    fn setup_without_owner(&self, db: &TestDb) -> Setup {
        Setup::new(db)
            .with("postgres.url", self.application.expose_secret())
            .with("housekeeping.audit_seal_every", "100ms")
    }
}

async fn own_database(db: &TestDb, role: &str) {
    db.sql().await.execute(format!("ALTER DATABASE {} OWNER TO {role}", db.name())).await;
}

/// Tries all attacks. Returns those that were carried out.
async fn attack(attacker: &mut SqlConnection) -> Vec<&'static str> {
    let mut succeeded = Vec::new();
    for attack in ATTACKS {
        if attacker.try_execute(format!("BEGIN; {attack}; ROLLBACK")).await {
            succeeded.push(*attack);
        }
        attacker.try_execute("ROLLBACK").await;
    }
    succeeded
}

/// Tries all attacks, and asserts that the tables stay as they are.
async fn assert_attacks_are_refused(db: &TestDb, attacker: &SecretString) {
    let stored = "SELECT md5(string_agg(entry::text, ' ' ORDER BY owner, seq)) FROM journal_entries AS entry";
    let (mut attacker, mut admin) = (SqlConnection::connect(attacker).await, db.sql().await);
    let before = admin.texts(stored).await;
    assert_eq!(attack(&mut attacker).await, Vec::<&str>::new());
    assert_eq!(admin.texts(stored).await, before);
}

#[tokio::test]
async fn role_of_the_server_cannot_change_the_audit_log() {
    let db = TestDb::empty().await;
    let roles = Roles::create(&db).await;
    own_database(&db, &roles.owner_name).await;
    let cluster = Cluster::with_setup(roles.setup(&db), db).await;
    let tenant = cluster.create_test_tenant("acme").await;
    for _ in 0..3 {
        cluster.create_key(&tenant.id, "viewer").await;
    }
    assert_attacks_are_refused(&cluster.db, &roles.application).await;

    // The server still does all its work, and erases as the owner.
    let run = cluster.create_run(&tenant).await;
    let claim = cluster.first.claim(&tenant, &run).await;
    let event = json!([{ "id": "0192aaaa-0000-7000-8000-000000000001", "type": "assistant_message", "payload": { "text": "leak" } }]);
    let appended = cluster.second.append_events(&claim, event).await;
    assert_eq!(appended.status, 200, "{}", appended.text);
    let last = cluster.list_events(&run).await.last().expect("an event")["seq"].as_i64().expect("a number");
    let path = format!("/api/v1/runs/{run}/events/{last}");
    let erased = cluster.first.request_as(Method::DELETE, &path, &cluster.operator.token, None).await;
    assert_eq!(erased.status, 200, "{}", erased.text);
}

#[tokio::test]
async fn installation_with_one_role_is_upgraded_to_two() {
    let db = TestDb::empty().await;
    let roles = Roles::create(&db).await;
    own_database(&db, &roles.application_name).await;
    let cluster = Cluster::with_setup(roles.setup_without_owner(&db), db).await;
    let tenant = cluster.create_tenant("acme").await;
    let Cluster { first, second, operator, db } = cluster;
    assert!(first.server.shutdown().await && second.server.shutdown().await);

    // The server does not start while its role still owns the tables.
    let refused = roles.setup(&db).try_start().await.expect_err("refused");
    assert!(matches!(refused, StartError::Migrate(_) | StartError::Owner(_)), "{refused:?}");
    // The steps of docs/guides/audit.md.
    let reassign = format!("REASSIGN OWNED BY {} TO {}", roles.application_name, roles.owner_name);
    db.sql().await.execute(reassign).await;
    let (first, second) = roles.setup(&db).start_two().await;
    let created = first
        .post_as(
            &format!("/api/v1/tenants/{tenant}/keys"),
            &operator.token,
            json!({ "name": "ci", "role": "viewer" }),
        )
        .await;
    assert_eq!(created.status, 201, "{}", created.text);
    let page = second.get_as(&format!("/api/v1/tenants/{tenant}/audit"), &operator.token).await;
    assert_eq!(page.body["entries"].as_array().map(Vec::len), Some(2), "{}", page.text);
    assert_attacks_are_refused(&db, &roles.application).await;
    // A role that is a member of the owner is no protection.
    db.sql().await.execute(format!("GRANT {} TO {}", roles.owner_name, roles.application_name)).await;
    let refused = roles.setup(&db).try_start().await.expect_err("refused");
    assert!(matches!(refused, StartError::AuditNotProtected { .. }), "{refused:?}");
    // A superuser can do all of it: the attacks are valid statements.
    assert!(first.server.shutdown().await && second.server.shutdown().await);
    assert_eq!(attack(&mut db.sql().await).await, ATTACKS);
}
