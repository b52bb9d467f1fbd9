use std::time::Duration;

use guildhall_domain::ops::schema::SchemaState;
use guildhall_store::{Store, StoreError, StoreOptions, schema_state};
use guildhall_testkit::TestDb;

use crate::store;

// covers: R2
#[tokio::test]
async fn empty_database_has_version_zero_until_migrated() {
    let db = TestDb::empty().await;
    let store = store(db.url());
    assert_eq!(schema_state::read(&store).await.expect("read"), SchemaState { applied: 0, floor: 0 });
    store.migrate(Duration::from_secs(30)).await.expect("migrated");
    let migrated = SchemaState { applied: Store::known_migration(), floor: 1 };
    assert_eq!(schema_state::read(&store).await.expect("read"), migrated);
}

#[tokio::test]
async fn unreachable_postgres_differs_from_a_rejected_statement() {
    let nowhere = store("postgres://nobody@127.0.0.1:1/nothing".into());
    let error = schema_state::read(&nowhere).await.expect_err("nobody listens");
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");

    let db = TestDb::new().await;
    db.sql().await.execute("ALTER TABLE schema_state RENAME COLUMN floor TO ceiling").await;
    let error = schema_state::read(&store(db.url())).await.expect_err("no such column");
    assert!(matches!(error, StoreError::Rejected(_)), "{error:?}");
}

#[test]
fn error_for_an_invalid_url_does_not_contain_the_url() {
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
