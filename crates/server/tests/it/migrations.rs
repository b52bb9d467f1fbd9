use std::time::Duration;

use guildhall_store::Store;
use guildhall_testkit::TestDb;

use crate::support::Setup;

const TIMEOUT: Duration = Duration::from_secs(5);

// covers: R2
#[tokio::test]
async fn two_replicas_on_an_empty_database_migrate_it_once() {
    let db = TestDb::empty().await;
    let (one, other) = Setup::new(&db).start_two().await;
    for server in [&one, &other] {
        server.wait_until("/health/readiness", TIMEOUT, |a| a.body["status"] == "ready").await;
    }
    let mut sql = db.sql().await;
    // Migration numbers may have gaps. Each version is unique, and applying one twice would have failed.
    let applied = sql.number("SELECT max(version) FROM _sqlx_migrations WHERE success").await;
    assert_eq!(applied, Store::known_migration());
    assert_eq!(sql.number("SELECT count(*) FROM _sqlx_migrations WHERE NOT success").await, 0);
    assert_eq!(sql.number("SELECT count(*) FROM schema_state").await, 1);
}

// covers: R2
#[tokio::test]
async fn replica_is_unready_when_its_tables_are_missing() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    db.sql().await.execute("DROP TABLE schema_state").await;
    let (unready, _) =
        server.wait_until("/health/readiness", TIMEOUT, |response| response.status == 503).await;
    assert_eq!(unready.body["migrations"]["ready"], false);
    let expected = format!("the database has migration 0, this server needs {}", Store::known_migration());
    assert_eq!(unready.body["message"], expected);
}

#[tokio::test]
async fn older_server_serves_a_newer_schema_until_the_floor_is_raised() {
    let db = TestDb::new().await;
    let running = Setup::new(&db).start().await;
    let mut sql = db.sql().await;
    let (known, newer) = (Store::known_migration(), Store::known_migration() + 1);
    sql.execute(format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({newer}, 'of a newer server', true, '\\x00', 0)"
    ))
    .await;
    let started_later = Setup::new(&db).start().await;
    for server in [&running, &started_later] {
        server.wait_until("/health/readiness", TIMEOUT, |a| a.body["status"] == "ready").await;
    }

    sql.execute(format!("UPDATE schema_state SET floor = {newer}")).await;
    for server in [&running, &started_later] {
        let (unready, _) =
            server.wait_until("/health/readiness", TIMEOUT, |response| response.status == 503).await;
        let expected =
            format!("the database needs a server that knows migration {newer}, this one knows {known}");
        assert_eq!(unready.body["message"], expected);
    }
    let error = Setup::new(&db).try_start().await.expect_err("too old for this database");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("install a newer guildhall"), "{cause}");
}

#[tokio::test]
async fn start_fails_when_an_applied_migration_was_edited() {
    let db = TestDb::new().await;
    db.sql().await.execute("UPDATE _sqlx_migrations SET checksum = '\\x00'").await;
    let error = Setup::new(&db).try_start().await.expect_err("a changed checksum");
    let message = format!("{error:?}");
    assert!(message.contains("VersionMismatch"), "{message}");
}

#[tokio::test]
async fn start_fails_when_the_migration_lock_is_not_released() {
    let db = TestDb::new().await;
    let mut holder = db.sql().await;
    let setup = Setup::new(&db).with("postgres.migrate_within", "500ms");
    // sqlx takes an advisory lock whose id is derived from the name of the database.
    let server = setup.start().await;
    drop(server);
    holder.execute(format!("SELECT pg_advisory_lock({})", migration_lock_id(db.name()))).await;
    let error = setup.try_start().await.expect_err("a locked database");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("another process may hold the lock"), "{cause}");
}

/// Returns the id of the advisory lock that sqlx takes on a database during migrations.
fn migration_lock_id(database: &str) -> i64 {
    const CRC: u32 = 0xEDB8_8320;
    let crc = database.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ CRC } else { crc >> 1 })
    });
    0x3d32_ad9e * i64::from(!crc)
}
