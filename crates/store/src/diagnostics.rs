//! A single connection for `guildhall doctor`: finds out what is wrong with PostgreSQL before a server relies on it.

use guildhall_domain::ops::schema::SchemaState;
use jiff::Timestamp;
use jiff_sqlx::Timestamp as SqlTimestamp;
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::StoreError;
use crate::application_role;
use crate::schema_state::{self, Durability};

/// A failed connection attempt, classified by its fix. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum PostgresCheckError {
    #[error(transparent)]
    InvalidUrl(#[from] StoreError),
    #[error("cannot reach PostgreSQL at {address}")]
    Unreachable {
        address: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("PostgreSQL at {address} does not accept connections at the moment")]
    Unavailable {
        address: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("PostgreSQL at {address} rejected the role `{role}` or its password")]
    Authentication { address: String, role: String },
    #[error("PostgreSQL at {address} has no database `{database}`")]
    UnknownDatabase { address: String, database: String },
    #[error("PostgreSQL at {address} rejected the connection")]
    Rejected {
        address: String,
        #[source]
        source: sqlx::Error,
    },
}

impl PostgresCheckError {
    /// Returns whether no server could be contacted at all.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::InvalidUrl(_) | Self::Unreachable { .. } => true,
            Self::Unavailable { .. }
            | Self::Authentication { .. }
            | Self::UnknownDatabase { .. }
            | Self::Rejected { .. } => false,
        }
    }
}

/// Version and clock of the PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresInfo {
    /// The full version text, such as `15.18 (Debian 15.18-1)`.
    pub version: String,
    /// The numeric version, such as 150018.
    pub version_number: i32,
    pub now: Timestamp,
}

/// A read-only diagnostic connection.
#[derive(Debug)]
pub struct PostgresCheck {
    connection: PgConnection,
    /// Host and port or socket path of the server, without the password.
    pub address: String,
}

impl PostgresCheck {
    pub async fn connect(url: &SecretString) -> Result<Self, PostgresCheckError> {
        let options: PgConnectOptions = url
            .expose_secret()
            .parse()
            .map_err(|_| PostgresCheckError::InvalidUrl(StoreError::InvalidUrl))?;
        let address = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let options = options.application_name("guildhall doctor").disable_statement_logging();
        match PgConnection::connect_with(&options).await {
            Ok(connection) => Ok(Self { connection, address }),
            Err(error) => Err(classify(error, address, &options)),
        }
    }

    pub async fn info(&mut self) -> Result<PostgresInfo, StoreError> {
        let row = sqlx::query_file!("queries/schema_state/find_server_info.sql")
            .fetch_one(&mut self.connection)
            .await?;
        Ok(PostgresInfo { version: row.version, version_number: row.version_number, now: row.now.to_jiff() })
    }

    /// Reads the schema version; a database without our tables is at version 0.
    pub async fn schema(&mut self) -> Result<SchemaState, StoreError> {
        schema_state::read_with(&mut self.connection).await
    }

    /// Lists the tables of the audit log that the role of this connection could change.
    pub async fn changeable_audit_tables(&mut self) -> Result<Vec<String>, StoreError> {
        application_role::changeable_audit_tables(&mut self.connection).await
    }

    pub async fn durability(&mut self) -> Result<Durability, StoreError> {
        schema_state::durability_with(&mut self.connection).await
    }
}

fn classify(error: sqlx::Error, address: String, options: &PgConnectOptions) -> PostgresCheckError {
    let code = error.as_database_error().and_then(|database| database.code()).map(|code| code.into_owned());
    match code.as_deref() {
        Some("28P01" | "28000") => {
            PostgresCheckError::Authentication { address, role: options.get_username().to_owned() }
        }
        Some("3D000") => {
            let database = options.get_database().unwrap_or_else(|| options.get_username()).to_owned();
            PostgresCheckError::UnknownDatabase { address, database }
        }
        Some(code) if crate::error::is_transient(code) => {
            PostgresCheckError::Unavailable { address, source: error }
        }
        Some(_) => PostgresCheckError::Rejected { address, source: error },
        None if matches!(error, sqlx::Error::Tls(_)) => {
            PostgresCheckError::Rejected { address, source: error }
        }
        None => PostgresCheckError::Unreachable { address, source: error },
    }
}
