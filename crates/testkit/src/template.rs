//! The template that test databases are copied from: migrated once, shared by all test processes.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sqlx::migrate::Migrator;

use crate::Addresses;
use crate::database::{in_database, role_of};
use crate::sql::Sql;

/// Test processes start at once; one of them makes the template while the others wait here.
const LOCK: i64 = 0x6768_7470_6c61_7465;

/// Returns the name of a database with the present migrations applied.
pub(crate) async fn ensure(addresses: &Addresses) -> String {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let name = format!("template_{}", fingerprint(&migrations));
    let mut admin = Sql::connect(&addresses.postgres_admin).await;
    if exists(&mut admin, &name).await {
        return name;
    }
    admin.execute(format!("SELECT pg_advisory_lock({LOCK})")).await;
    if !exists(&mut admin, &name).await {
        make(&mut admin, addresses, &name, migrations).await;
    }
    admin.execute(format!("SELECT pg_advisory_unlock({LOCK})")).await;
    name
}

/// Makes the template under another name first, so that one with its own name is always whole.
async fn make(admin: &mut Sql, addresses: &Addresses, name: &str, migrations: PathBuf) {
    let unfinished = format!("{name}_new");
    admin.execute(format!("DROP DATABASE IF EXISTS {unfinished} WITH (FORCE)")).await;
    let owner = role_of(&addresses.postgres);
    admin.execute(format!("CREATE DATABASE {unfinished} OWNER {owner} TEMPLATE template0")).await;
    let url = in_database(&addresses.postgres, &unfinished);
    let mut role = Sql::connect(&url).await;
    let migrator = Migrator::new(migrations).await.expect("the migrations are readable");
    migrator.run(role.connection()).await.expect("the migrations apply");
    role.close().await;
    admin.execute(format!("ALTER DATABASE {unfinished} RENAME TO {name}")).await;
}

async fn exists(admin: &mut Sql, name: &str) -> bool {
    admin.number(format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'")).await == 1
}

fn fingerprint(migrations: &Path) -> String {
    let mut files: Vec<PathBuf> = std::fs::read_dir(migrations)
        .expect("crates/store/migrations")
        .map(|entry| entry.expect("readable").path())
        .collect();
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
