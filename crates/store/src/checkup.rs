//! One connection, to find out what is wrong with PostgreSQL before a server relies on it.

use guildhall_domain::ops::schema::SchemaState;
use jiff::Timestamp;
use jiff_sqlx::Timestamp as SqlTimestamp;
use secrecy::{ExposeSecret, SecretString};
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::StoreError;
use crate::schema_state::{self, Durability};

/// Why there is no connection, told apart by what repairs it. No message repeats a password.
#[derive(Debug, thiserror::Error)]
pub enum NoConnection {
    #[error(transparent)]
    Address(#[from] StoreError),
    #[error("no PostgreSQL answers at {place}")]
    Unreachable {
        place: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("PostgreSQL at {place} takes no connections now")]
    NotNow {
        place: String,
        #[source]
        source: sqlx::Error,
    },
    #[error("PostgreSQL at {place} refuses the role `{role}` or its password")]
    Authentication { place: String, role: String },
    #[error("PostgreSQL at {place} has no database `{database}`")]
    NoDatabase { place: String, database: String },
    #[error("PostgreSQL at {place} refuses the connection")]
    Refused {
        place: String,
        #[source]
        source: sqlx::Error,
    },
}

impl NoConnection {
    /// Returns whether nobody was there to refuse anything.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Address(_) | Self::Unreachable { .. } => true,
            Self::NotNow { .. }
            | Self::Authentication { .. }
            | Self::NoDatabase { .. }
            | Self::Refused { .. } => false,
        }
    }
}

/// What PostgreSQL says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// As it writes it, such as `15.18 (Debian 15.18-1)`.
    pub version: String,
    /// Such as 150018.
    pub version_number: i32,
    pub now: Timestamp,
}

/// A connection that looks, and changes nothing.
#[derive(Debug)]
pub struct Checkup {
    connection: PgConnection,
    /// Where PostgreSQL is, without a password.
    pub place: String,
}

impl Checkup {
    pub async fn connect(url: &SecretString) -> Result<Self, NoConnection> {
        let options: PgConnectOptions =
            url.expose_secret().parse().map_err(|_| NoConnection::Address(StoreError::Address))?;
        let place = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let options = options.application_name("guildhall doctor").disable_statement_logging();
        match PgConnection::connect_with(&options).await {
            Ok(connection) => Ok(Self { connection, place }),
            Err(error) => Err(sorted(error, place, &options)),
        }
    }

    pub async fn facts(&mut self) -> Result<Facts, StoreError> {
        let row = sqlx::query_file!("queries/schema_state/facts.sql").fetch_one(&mut self.connection).await?;
        Ok(Facts { version: row.version, version_number: row.version_number, now: row.now.to_jiff() })
    }

    /// Reads how far the schema is; a database without our tables is at zero.
    pub async fn schema(&mut self) -> Result<SchemaState, StoreError> {
        schema_state::read_by(&mut self.connection).await
    }

    pub async fn durability(&mut self) -> Result<Durability, StoreError> {
        schema_state::durability_by(&mut self.connection).await
    }
}

fn sorted(error: sqlx::Error, place: String, options: &PgConnectOptions) -> NoConnection {
    let code = error.as_database_error().and_then(|database| database.code()).map(|code| code.into_owned());
    match code.as_deref() {
        Some("28P01" | "28000") => {
            NoConnection::Authentication { place, role: options.get_username().to_owned() }
        }
        Some("3D000") => {
            let database = options.get_database().unwrap_or_else(|| options.get_username()).to_owned();
            NoConnection::NoDatabase { place, database }
        }
        Some(code) if crate::error::is_not_now(code) => NoConnection::NotNow { place, source: error },
        Some(_) => NoConnection::Refused { place, source: error },
        None if matches!(error, sqlx::Error::Tls(_)) => NoConnection::Refused { place, source: error },
        None => NoConnection::Unreachable { place, source: error },
    }
}
