use std::time::Duration;

use guildhall_domain::ops::schema::SchemaState;
use guildhall_store::{Store, StoreError, StoreOptions, schema_state};
use guildhall_testkit::TestDb;

use crate::store;

// covers: R2
#[tokio::test]
async fn an_empty_database_is_at_zero_until_it_is_migrated() {
    let db = TestDb::empty().await;
    let store = store(db.url());
    assert_eq!(schema_state::read(&store).await.expect("read"), SchemaState { applied: 0, floor: 0 });
    store.migrate(Duration::from_secs(30)).await.expect("migrated");
    let migrated = SchemaState { applied: Store::known_migration(), floor: 1 };
    assert_eq!(schema_state::read(&store).await.expect("read"), migrated);
}

#[tokio::test]
async fn a_postgres_that_is_away_is_told_apart_from_a_fault_of_ours() {
    let nowhere = store("postgres://nobody@127.0.0.1:1/nothing".into());
    let error = schema_state::read(&nowhere).await.expect_err("nobody listens");
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");

    let db = TestDb::new().await;
    db.sql().await.execute("ALTER TABLE schema_state RENAME COLUMN floor TO ceiling").await;
    let error = schema_state::read(&store(db.url())).await.expect_err("no such column");
    assert!(matches!(error, StoreError::Refused(_)), "{error:?}");
}

#[test]
fn an_address_that_cannot_be_read_is_not_repeated() {
    let second = Duration::from_secs(1);
    let options = StoreOptions {
        url: "postgres://me:hunter2@[broken".into(),
        max_connections: 1,
        acquire_timeout: second,
        statement_timeout: second,
    };
    let error = Store::new(&options).expect_err("refused");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
}
