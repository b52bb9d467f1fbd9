//! The questions that every mode puts to the engines.

use guildhall_domain::ops::schema::SchemaVerdict;
use guildhall_server::checkup::{NoPostgres, PostgresLook, schema};

use super::check::{Finding, Trouble};

/// What a failed question to a connected PostgreSQL is.
pub(super) fn broken(error: &dyn std::error::Error) -> Trouble {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    Trouble::new(format!("{error}{cause}"), "guildhall doctor")
}

/// Holds the schema against what this binary knows.
pub(super) async fn migrations(postgres: &mut PostgresLook) -> Finding {
    let (state, verdict) = schema(postgres).await.map_err(|error| broken(&error))?;
    match verdict {
        SchemaVerdict::Fits => Ok(format!("the schema is at migration {} and fits", state.applied)),
        SchemaVerdict::Behind { applied: 0, .. } => {
            Ok("the database is empty; the first start makes its tables".to_owned())
        }
        SchemaVerdict::Behind { applied, wanted } => {
            Ok(format!("the schema is at migration {applied}; the next start brings it to {wanted}"))
        }
        SchemaVerdict::TooNew { floor, known } => Err(Trouble::new(
            format!("the database needs a binary that knows migration {floor}, this one knows {known}"),
            "guildhall --version   # then install the version that the other servers run",
        )),
    }
}

/// Says why there is no connection, with what repairs it.
pub(super) fn no_postgres(fault: &NoPostgres) -> Trouble {
    let fix = match fault {
        NoPostgres::Address(_) => {
            "export GUILDHALL_POSTGRES_URL=postgres://user:password@host:5432/database".to_owned()
        }
        NoPostgres::Unreachable { .. } => "systemctl start postgresql   # or correct postgres.url".to_owned(),
        NoPostgres::NotNow { .. } => "guildhall doctor   # in a moment".to_owned(),
        NoPostgres::Authentication { role, .. } => {
            format!("sudo -u postgres psql -c '\\password {role}'   # or correct GUILDHALL_POSTGRES_URL")
        }
        NoPostgres::NoDatabase { database, .. } => format!("sudo -u postgres createdb {database}"),
        NoPostgres::Refused { .. } => {
            "guildhall config check   # is postgres.url as it should be?".to_owned()
        }
    };
    let cause = std::error::Error::source(fault).map(|cause| format!(": {cause}")).unwrap_or_default();
    Trouble::new(format!("{fault}{cause}"), fix)
}
