//! The connections to PostgreSQL.

use guildhall_store::{Store, StoreOptions, schema_state};
use secrecy::{ExposeSecret, SecretString};
use tracing::warn;

use crate::Config;
use crate::config::Postgres;
use crate::start_error::StartError;

/// The connections of a server to its database.
pub(crate) struct Stores {
    pub(crate) store: Store,
    /// Connects as the owner of the tables. The same as `store` without `postgres.owner_url`.
    pub(crate) owner: Store,
}

/// Connections of the owner: migrations, partitions and single erasures.
const OWNER_CONNECTIONS: u32 = 2;

/// Migrates the database, and limits the role of the server where another role owns the tables.
pub(crate) async fn prepare_stores(config: &Config) -> Result<Stores, StartError> {
    let migrate_within = config.postgres.migrate_within;
    let store = Store::new(&store_options(&config.postgres))?;
    let owner = match owner_options(&config.postgres) {
        None => {
            store.migrate(migrate_within).await?;
            store.clone()
        }
        Some(options) => {
            let owner = Store::new(&options).map_err(StartError::Owner)?;
            owner.migrate(migrate_within).await?;
            limit_role(&owner, &store).await?;
            owner
        }
    };
    let durability = schema_state::durability(&store).await?;
    if !durability.is_durable() {
        warn!(?durability, "PostgreSQL can lose committed data: turn on fsync and synchronous_commit");
    }
    Ok(Stores { store, owner })
}

/// Takes the privileges to change the audit log from the role of the server, and checks that it has none.
async fn limit_role(owner: &Store, store: &Store) -> Result<(), StartError> {
    owner.limit_application_role(store).await.map_err(StartError::Owner)?;
    let tables = store.changeable_audit_tables().await?;
    if tables.is_empty() { Ok(()) } else { Err(StartError::AuditNotProtected { tables: tables.join(", ") }) }
}

/// Checks the URLs. Does not connect.
pub(crate) fn check_urls(postgres: &Postgres) -> Result<(), StartError> {
    store_options(postgres).check()?;
    owner_options(postgres).map_or(Ok(()), |options| options.check()).map_err(StartError::Owner)
}

fn store_options(postgres: &Postgres) -> StoreOptions {
    options(postgres, &postgres.url, postgres.max_connections.get())
}

/// Returns the options of the role that owns the tables, where it is another one.
fn owner_options(postgres: &Postgres) -> Option<StoreOptions> {
    let url = Some(&postgres.owner_url).filter(|url| !url.expose_secret().is_empty())?;
    Some(options(postgres, url, OWNER_CONNECTIONS))
}

fn options(postgres: &Postgres, url: &SecretString, max_connections: u32) -> StoreOptions {
    StoreOptions {
        url: url.clone(),
        max_connections,
        acquire_timeout: postgres.acquire_timeout,
        statement_timeout: postgres.statement_timeout,
    }
}
