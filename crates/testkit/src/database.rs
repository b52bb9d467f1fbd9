//! One database per test.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use secrecy::SecretString;

use crate::postgres_url::{role_name, with_database, with_role};
use crate::sql::SqlConnection;
use crate::{EngineUrls, template};

/// A test database, dropped together with this value.
#[derive(Debug)]
pub struct TestDb {
    name: String,
    urls: EngineUrls,
    /// Roles of this test, dropped after the database.
    roles: Mutex<Vec<String>>,
}

impl TestDb {
    /// Creates a migrated database on the shared engines.
    pub async fn new() -> Self {
        Self::migrated(EngineUrls::shared()).await
    }

    /// Creates a migrated database on the given engines by copying a template that is migrated once.
    pub async fn migrated(urls: EngineUrls) -> Self {
        let template = template::ensure_template(&urls).await;
        Self::create(urls, &format!("TEMPLATE {template}")).await
    }

    /// Returns the URL of the migrated template database on the shared engines.
    pub async fn template_url() -> SecretString {
        let urls = EngineUrls::shared();
        let template = template::ensure_template(&urls).await;
        with_database(&urls.postgres, &template)
    }

    /// Creates a database without tables on the shared engines.
    pub async fn empty() -> Self {
        Self::create(EngineUrls::shared(), "TEMPLATE template0").await
    }

    async fn create(urls: EngineUrls, from: &str) -> Self {
        let name = format!("test_{}", uuid::Uuid::now_v7().simple());
        let owner = role_name(&urls.postgres);
        let mut admin = SqlConnection::connect(&urls.postgres_admin).await;
        admin.execute(format!("CREATE DATABASE {name} OWNER {owner} {from}")).await;
        Self { name, urls, roles: Mutex::default() }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the URL of this database with the server's role.
    #[must_use]
    pub fn url(&self) -> SecretString {
        with_database(&self.urls.postgres, &self.name)
    }

    /// Returns the URL of this database with the superuser role.
    #[must_use]
    pub fn admin_url(&self) -> SecretString {
        with_database(&self.urls.postgres_admin, &self.name)
    }

    /// Creates a role of this test that can log in. Returns its name and its URL of this database.
    pub async fn create_role(&self, purpose: &str) -> (String, SecretString) {
        let role = format!("{purpose}_{}", self.name);
        let password = uuid::Uuid::now_v7().simple().to_string();
        self.sql().await.execute(format!("CREATE ROLE {role} LOGIN PASSWORD '{password}'")).await;
        self.roles.lock().expect("the lock is not poisoned").push(role.clone());
        let url = with_role(&self.url(), &role, &password);
        (role, url)
    }

    /// Opens a superuser connection for the test.
    pub async fn sql(&self) -> SqlConnection {
        SqlConnection::connect(&self.admin_url()).await
    }
}

/// How long a test waits for `DROP DATABASE`. A connection that is being opened delays it; PostgreSQL then finishes
/// when this process exits and its sockets close.
const DROP_TIMEOUT: Duration = Duration::from_secs(1);

impl Drop for TestDb {
    /// Drops the database from a new thread: a destructor cannot block on the test's runtime.
    fn drop(&mut self) {
        let (admin, name) = (self.urls.postgres_admin.clone(), self.name.clone());
        let roles = std::mem::take(&mut *self.roles.lock().expect("the lock is not poisoned"));
        let (done_sender, done_receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let Ok(runtime) = runtime else { return };
            runtime.block_on(async {
                // The test may have killed its engine; then there is nothing to drop.
                let Some(mut admin) = SqlConnection::try_connect(&admin).await else { return };
                admin.try_execute(format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await;
                for role in roles {
                    admin.try_execute(format!("DROP ROLE IF EXISTS {role}")).await;
                }
            });
            let _receiver_gone = done_sender.send(());
        });
        let _timed_out = done_receiver.recv_timeout(DROP_TIMEOUT);
    }
}
