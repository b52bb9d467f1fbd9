//! A database of its own for each test.

use std::sync::mpsc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::sql::Sql;
use crate::{Addresses, template};

/// A database that is dropped with this value.
#[derive(Debug)]
pub struct TestDb {
    name: String,
    addresses: Addresses,
}

impl TestDb {
    /// Makes a migrated database on the engines that tests share.
    pub async fn new() -> Self {
        Self::migrated(Addresses::shared()).await
    }

    /// Makes a migrated database on given engines, by copying a template that is migrated once.
    pub async fn migrated(addresses: Addresses) -> Self {
        let template = template::ensure(&addresses).await;
        Self::create(addresses, &format!("TEMPLATE {template}")).await
    }

    /// Returns the address of the migrated template itself, on the engines that tests share.
    pub async fn template_url() -> SecretString {
        let addresses = Addresses::shared();
        let template = template::ensure(&addresses).await;
        in_database(&addresses.postgres, &template)
    }

    /// Makes a database without any table, on the engines that tests share.
    pub async fn empty() -> Self {
        Self::create(Addresses::shared(), "TEMPLATE template0").await
    }

    async fn create(addresses: Addresses, from: &str) -> Self {
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let owner = role_of(&addresses.postgres);
        let mut admin = Sql::connect(&addresses.postgres_admin).await;
        admin.execute(format!("CREATE DATABASE {name} OWNER {owner} {from}")).await;
        Self { name, addresses }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the address of this database, as the server's role.
    #[must_use]
    pub fn url(&self) -> SecretString {
        in_database(&self.addresses.postgres, &self.name)
    }

    /// Returns the address of this database, with every right.
    #[must_use]
    pub fn admin_url(&self) -> SecretString {
        in_database(&self.addresses.postgres_admin, &self.name)
    }

    /// Opens a connection of the test's own, with every right.
    pub async fn sql(&self) -> Sql {
        Sql::connect(&self.admin_url()).await
    }
}

/// How long a test waits for its database to go. A connection that is being opened holds it back; PostgreSQL then
/// finishes when this process ends and its sockets close.
const DROP_WITHIN: Duration = Duration::from_secs(1);

impl Drop for TestDb {
    /// Drops the database from a thread of its own: a destructor cannot wait in the test's runtime.
    fn drop(&mut self) {
        let (admin, name) = (self.addresses.postgres_admin.clone(), self.name.clone());
        let (done, wait) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                // An engine that the test has killed took the database with it.
                let Some(mut admin) = Sql::try_connect(&admin).await else { return };
                admin.try_execute(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
            });
            let _nobody_waits = done.send(());
        });
        let _too_slow = wait.recv_timeout(DROP_WITHIN);
    }
}

pub(crate) fn in_database(url: &SecretString, database: &str) -> SecretString {
    let mut url = Url::parse(url.expose_secret()).expect("a PostgreSQL address");
    url.set_path(database);
    String::from(url).into()
}

pub(crate) fn role_of(url: &SecretString) -> String {
    Url::parse(url.expose_secret()).expect("a PostgreSQL address").username().to_owned()
}
