//! The template that test databases are copied from. It is migrated once and shared by all test processes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sqlx::migrate::Migrator;

use crate::EngineUrls;
use crate::postgres_url::{role_name, with_database};
use crate::sql::SqlConnection;

/// Advisory lock: test processes start concurrently; one creates the template while the others wait.
const LOCK: i64 = 0x6768_7470_6c61_7465;

/// Returns the name of a database with the current migrations applied, creating it if needed.
pub(crate) async fn ensure_template(urls: &EngineUrls) -> String {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let name = format!("template_{}", fingerprint(&migrations));
    let mut admin = SqlConnection::connect(&urls.postgres_admin).await;
    if exists(&mut admin, &name).await {
        return name;
    }
    admin.execute(format!("SELECT pg_advisory_lock({LOCK})")).await;
    if !exists(&mut admin, &name).await {
        create_template(&mut admin, urls, &name, migrations).await;
    }
    admin.execute(format!("SELECT pg_advisory_unlock({LOCK})")).await;
    name
}

/// Creates the template under a temporary name first, so that a database with the final name is always complete.
async fn create_template(admin: &mut SqlConnection, urls: &EngineUrls, name: &str, migrations: PathBuf) {
    let unfinished = format!("{name}_new");
    admin.execute(format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
    let owner = role_name(&urls.postgres);
    admin.execute(format!("CREATE DATABASE {unfinished} OWNER {owner} TEMPLATE template0")).await;
    let url = with_database(&urls.postgres, &unfinished);
    let mut server_role = SqlConnection::connect(&url).await;
    let migrator = Migrator::new(migrations).await.expect("the migrations are readable");
    migrator.run(server_role.connection()).await.expect("the migrations apply");
    let indexes = std::fs::read_to_string(deferred_indexes()).expect("crates/store/deferred_indexes.sql");
    server_role.execute(indexes).await;
    server_role.close().await;
    admin.execute(format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
}

async fn exists(admin: &mut SqlConnection, name: &str) -> bool {
    admin.number(format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'")).await == 1
}

/// The indexes that a server builds after its start, which would slow every test down.
fn deferred_indexes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/deferred_indexes.sql")
}

fn fingerprint(migrations: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(migrations)
        .expect("crates/store/migrations")
        .map(|entry| entry.expect("readable").path())
        .collect();
    files.push(deferred_indexes());
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        hash.update(file.file_name().expect("a name").as_encoded_bytes());
        hash.update(std::fs::read(&file).expect("readable"));
    }
    hash.finalize()[..8].iter().fold(String::new(), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}
