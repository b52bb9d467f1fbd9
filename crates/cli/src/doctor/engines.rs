//! Checks and problems of PostgreSQL and NATS that several modes share.

use guildhall_domain::ops::schema::SchemaCompatibility;
use guildhall_server::engine_checks::{PostgresCheck, PostgresCheckError, check_schema};

use super::check::CheckResult;
use super::problem::Problem;

/// Describes a failed query to a connected PostgreSQL.
pub(super) fn query_problem(error: &dyn std::error::Error) -> Problem {
    Problem::with_cause(error, "guildhall doctor")
}

/// Checks that this binary supports the schema of the database.
pub(super) async fn check_migrations(postgres: &mut PostgresCheck) -> CheckResult {
    let (state, compatibility) = check_schema(postgres).await.map_err(|error| query_problem(&error))?;
    match compatibility {
        SchemaCompatibility::Compatible => {
            Ok(format!("the schema is compatible (migration {})", state.applied))
        }
        SchemaCompatibility::Behind { applied: 0, .. } => {
            Ok("the database is empty; the server creates its tables at the first start".to_owned())
        }
        SchemaCompatibility::Behind { applied, required } => Ok(format!(
            "the schema is at migration {applied}; the server migrates it to {required} at the next start"
        )),
        SchemaCompatibility::TooNew { floor, known } => Err(Problem::new(
            format!("the database requires a guildhall with migration {floor}; this one has {known}"),
            "guildhall --version   # then install the version of the other servers",
        )),
    }
}

/// Describes a failed connection to PostgreSQL.
pub(super) fn connection_problem(error: &PostgresCheckError) -> Problem {
    let fix = match error {
        PostgresCheckError::InvalidUrl(_) => {
            "export GUILDHALL_POSTGRES_URL=postgres://user:password@host:5432/database".to_owned()
        }
        PostgresCheckError::Unreachable { .. } => {
            "systemctl start postgresql   # or correct postgres.url".to_owned()
        }
        PostgresCheckError::Unavailable { .. } => "guildhall doctor   # try again later".to_owned(),
        PostgresCheckError::Authentication { role, .. } => {
            format!("sudo -u postgres psql -c '\\password {role}'   # or correct GUILDHALL_POSTGRES_URL")
        }
        PostgresCheckError::UnknownDatabase { database, .. } => {
            format!("sudo -u postgres createdb {database}")
        }
        PostgresCheckError::Rejected { .. } => {
            "guildhall config check   # then correct postgres.url".to_owned()
        }
    };
    Problem::with_cause(error, fix)
}
