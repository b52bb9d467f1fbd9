use guildhall_testkit::{PrivateEngines, SqlConnection, TestDb};
use secrecy::{ExposeSecret, SecretString};

/// Durability must not be traded for test speed: what holds on these engines must hold in production.
#[tokio::test]
async fn test_postgres_runs_with_durable_settings() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    let settings = sql
        .texts("SELECT name || '=' || setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name")
        .await;
    assert_eq!(settings, ["fsync=on", "full_page_writes=on", "synchronous_commit=on"]);
}

#[tokio::test]
async fn postgres_login_without_password_fails() {
    let db = TestDb::new().await;
    let mut url = url::Url::parse(db.url().expose_secret()).expect("an address");
    for password in [None, Some("guildhall"), Some("")] {
        url.set_password(password).expect("set");
        let connection = SqlConnection::try_connect(&SecretString::from(url.as_str())).await;
        assert!(connection.is_none(), "logged in with {password:?}");
    }
}

#[tokio::test]
async fn server_role_has_no_superuser_rights() {
    let db = TestDb::new().await;
    let mut sql = SqlConnection::connect(&db.url()).await;
    let rights = sql.number("SELECT (rolsuper OR rolcreatedb OR rolcreaterole)::int::bigint FROM pg_roles WHERE rolname = current_user").await;
    assert_eq!(rights, 0);
    assert!(!sql.try_execute("COPY (SELECT 1) TO PROGRAM 'true'").await, "the role can run programs");
}

#[tokio::test]
async fn each_test_database_is_isolated() {
    let (one, other) = (TestDb::new().await, TestDb::new().await);
    one.sql().await.execute("CREATE TABLE mine (x int)").await;
    let tables = other.sql().await.number("SELECT count(*) FROM pg_tables WHERE tablename = 'mine'").await;
    assert_eq!(tables, 0);
}

#[tokio::test]
async fn committed_row_survives_a_killed_postgres() {
    let engines = PrivateEngines::start();
    let db = TestDb::migrated(engines.urls()).await;
    let mut sql = db.sql().await;
    sql.execute("CREATE TABLE kept (x int); INSERT INTO kept SELECT generate_series(1, 1000)").await;
    engines.postgres.kill();
    assert!(!sql.try_execute("SELECT 1").await, "the old connection is closed");
    engines.postgres.restart().expect("recovered");
    assert_eq!(db.sql().await.number("SELECT count(*) FROM kept").await, 1000);
}
