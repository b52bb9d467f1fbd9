use guildhall_testkit::{PrivateEngines, Sql, TestDb};
use secrecy::{ExposeSecret, SecretString};

/// What is proved on these engines must hold on real ones: nothing is traded for speed.
#[tokio::test]
async fn the_test_engines_keep_what_they_confirm() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let settings = sql
        .texts("SELECT name || '=' || setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name")
        .await;
    assert_eq!(settings, ["fsync=on", "full_page_writes=on", "synchronous_commit=on"]);
}

#[tokio::test]
async fn nobody_enters_postgres_without_its_password() {
    let db = TestDb::new().await;
    let mut bare = url::Url::parse(db.url().expose_secret()).expect("an address");
    for password in [None, Some("guildhall"), Some("")] {
        bare.set_password(password).expect("set");
        let stranger = Sql::try_connect(&SecretString::from(bare.as_str())).await;
        assert!(stranger.is_none(), "let in with {password:?}");
    }
}

#[tokio::test]
async fn the_servers_role_is_no_superuser() {
    let db = TestDb::new().await;
    let mut sql = Sql::connect(&db.url()).await;
    let rights = sql.number("SELECT (rolsuper OR rolcreatedb OR rolcreaterole)::int::bigint FROM pg_roles WHERE rolname = current_user").await;
    assert_eq!(rights, 0);
    assert!(!sql.try_execute("COPY (SELECT 1) TO PROGRAM 'true'").await, "the role could run programs");
}

#[tokio::test]
async fn each_test_has_a_database_of_its_own() {
    let (one, other) = (TestDb::new().await, TestDb::new().await);
    one.sql().await.execute("CREATE TABLE mine (x int)").await;
    let seen = other.sql().await.number("SELECT count(*) FROM pg_tables WHERE tablename = 'mine'").await;
    assert_eq!(seen, 0);
}

#[tokio::test]
async fn a_confirmed_row_outlives_a_killed_postgres() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.addresses()).await;
    let mut sql = db.sql().await;
    sql.execute("CREATE TABLE kept (x int); INSERT INTO kept SELECT generate_series(1, 1000)").await;
    engines.postgres.kill();
    assert!(!sql.try_execute("SELECT 1").await, "the old connection died with it");
    engines.postgres.up().expect("recovered");
    assert_eq!(db.sql().await.number("SELECT count(*) FROM kept").await, 1000);
}
