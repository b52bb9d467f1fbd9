use std::time::Duration;

use guildhall_store::Store;
use guildhall_testkit::TestDb;

use crate::support::Setup;

const SOON: Duration = Duration::from_secs(5);

// covers: R2
#[tokio::test]
async fn two_replicas_that_start_on_an_empty_database_migrate_it_once() {
    let db = TestDb::empty().await;
    let (one, other) = Setup::on(&db).start_two().await;
    for server in [&one, &other] {
        server.until("/health/readiness", SOON, |a| a.body["status"] == "ready").await;
    }
    let mut sql = db.sql().await;
    // Numbers may be left out; each that is there stands once, and a second attempt at one would have failed.
    let applied = sql.number("SELECT max(version) FROM _sqlx_migrations WHERE success").await;
    assert_eq!(applied, Store::known_migration());
    assert_eq!(sql.number("SELECT count(*) FROM _sqlx_migrations WHERE NOT success").await, 0);
    assert_eq!(sql.number("SELECT count(*) FROM schema_state").await, 1);
}

// covers: R2
#[tokio::test]
async fn a_replica_whose_tables_are_gone_takes_no_traffic() {
    let db = TestDb::new().await;
    let server = Setup::on(&db).start().await;
    db.sql().await.execute("DROP TABLE schema_state").await;
    let (unready, _) = server.until("/health/readiness", SOON, |answer| answer.status == 503).await;
    assert_eq!(unready.body["migrations"]["ready"], false);
    let wanted = format!("the database has migration 0, this server needs {}", Store::known_migration());
    assert_eq!(unready.body["message"], wanted);
}

#[tokio::test]
async fn an_older_server_works_beside_a_newer_schema_until_the_floor_is_raised() {
    let db = TestDb::new().await;
    let running = Setup::on(&db).start().await;
    let mut sql = db.sql().await;
    let (known, newer) = (Store::known_migration(), Store::known_migration() + 1);
    sql.execute(format!(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES ({newer}, 'of a newer server', true, '\\x00', 0)"
    ))
    .await;
    let beside = Setup::on(&db).start().await;
    for server in [&running, &beside] {
        server.until("/health/readiness", SOON, |a| a.body["status"] == "ready").await;
    }

    sql.execute(format!("UPDATE schema_state SET floor = {newer}")).await;
    for server in [&running, &beside] {
        let (unready, _) = server.until("/health/readiness", SOON, |answer| answer.status == 503).await;
        let wanted =
            format!("the database needs a server that knows migration {newer}, this one knows {known}");
        assert_eq!(unready.body["message"], wanted);
    }
    let error = Setup::on(&db).try_start().await.expect_err("too old for this database");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("install a newer guildhall"), "{cause}");
}

#[tokio::test]
async fn a_migration_that_was_edited_afterwards_stops_the_start() {
    let db = TestDb::new().await;
    db.sql().await.execute("UPDATE _sqlx_migrations SET checksum = '\\x00'").await;
    let error = Setup::on(&db).try_start().await.expect_err("the schema is not what it says");
    let words = format!("{error:?}");
    assert!(words.contains("VersionMismatch"), "{words}");
}

#[tokio::test]
async fn a_start_that_cannot_get_the_migration_lock_gives_up_and_says_so() {
    let db = TestDb::new().await;
    let mut holder = db.sql().await;
    let setup = Setup::on(&db).with("postgres.migrate_within", "500ms");
    // The lock of the migrations is an advisory one on the database's name; take every one that a start asks for.
    let starting = setup.start().await;
    drop(starting);
    holder.execute(format!("SELECT pg_advisory_lock({})", migration_lock(db.name()))).await;
    let error = setup.try_start().await.expect_err("the lock is held");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("another process may hold the lock"), "{cause}");
}

/// Returns the id under which sqlx locks a database while it migrates.
fn migration_lock(database: &str) -> i64 {
    const CRC: u32 = 0xEDB8_8320;
    let crc = database.bytes().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { (crc >> 1) ^ CRC } else { crc >> 1 })
    });
    0x3d32_ad9e * i64::from(!crc)
}
