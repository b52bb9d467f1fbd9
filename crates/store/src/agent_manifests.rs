//! Versions of the manifests of agents.

use guildhall_domain::agents::diff::{Consent, Contract};
use guildhall_domain::agents::manifest::document::{ManifestDocument, ManifestHash};
use guildhall_domain::agents::manifest::version::{
    ManifestPin, ManifestText, ManifestVerdicts, ManifestVersion, PublishedManifest,
};
use guildhall_domain::ids::{AgentId, PrincipalId};
use jiff_sqlx::Timestamp;

use crate::{Store, StoreError, Tx};

/// Values of a new version.
#[derive(Debug, Clone)]
pub struct NewManifestVersion<'a> {
    pub agent: AgentId,
    pub version: i64,
    pub document: &'a ManifestDocument,
    pub verdicts: Option<ManifestVerdicts>,
    pub created_by: PrincipalId,
}

struct Row {
    version: i64,
    hash: Vec<u8>,
    contract: Option<String>,
    consent: Option<String>,
    log_index: Option<i64>,
    created_at: Timestamp,
}

impl Row {
    fn into_version(self) -> Result<ManifestVersion, StoreError> {
        let verdicts = match (self.contract, self.consent) {
            (Some(contract), Some(consent)) => Some(ManifestVerdicts {
                contract: Contract::from_name(&contract).map_err(unreadable)?,
                consent: Consent::from_name(&consent).map_err(unreadable)?,
            }),
            _ => None,
        };
        Ok(ManifestVersion {
            pin: ManifestPin { version: self.version, hash: stored_hash(&self.hash)? },
            verdicts,
            log_index: self.log_index.map(u64::try_from).transpose().map_err(unreadable)?,
            created_at: self.created_at.to_jiff(),
        })
    }
}

/// Inserts a version. The caller holds the lock of the agent's tenant.
pub async fn insert(tx: &mut Tx, new: &NewManifestVersion<'_>) -> Result<(), StoreError> {
    let NewManifestVersion { agent, version, document, verdicts, created_by } = new;
    let hash = document.hash();
    sqlx::query_file!(
        "queries/agent_manifests/insert.sql",
        agent.as_uuid(),
        version,
        document.canonical(),
        hash.as_bytes().as_slice(),
        verdicts.map(|verdicts| verdicts.contract.as_str()),
        verdicts.map(|verdicts| verdicts.consent.as_str()),
        created_by.as_uuid()
    )
    .execute(tx.connection())
    .await?;
    Ok(())
}

pub async fn find(store: &Store, agent: AgentId, version: i64) -> Result<Option<ManifestText>, StoreError> {
    let row = sqlx::query_file!("queries/agent_manifests/find.sql", agent.as_uuid(), version)
        .fetch_optional(&store.pool)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let version = Row {
        version: row.version,
        hash: row.hash,
        contract: row.contract,
        consent: row.consent,
        log_index: row.log_index,
        created_at: row.created_at,
    };
    Ok(Some(ManifestText { version: version.into_version()?, canonical: row.canonical }))
}

/// Returns the text of a version, in a transaction that may hold the lock of its tenant.
pub async fn load_text(tx: &mut Tx, agent: AgentId, version: i64) -> Result<Option<String>, StoreError> {
    let row = sqlx::query_file!("queries/agent_manifests/find.sql", agent.as_uuid(), version)
        .fetch_optional(tx.connection())
        .await?;
    Ok(row.map(|row| row.canonical))
}

/// Lists at most `limit` versions below `before`, newest first.
pub async fn list(
    store: &Store,
    agent: AgentId,
    before: i64,
    limit: u32,
) -> Result<Vec<ManifestVersion>, StoreError> {
    let rows = sqlx::query_file_as!(
        Row,
        "queries/agent_manifests/list.sql",
        agent.as_uuid(),
        before,
        i64::from(limit)
    )
    .fetch_all(&store.pool)
    .await?;
    rows.into_iter().map(Row::into_version).collect()
}

/// Finds what everybody may read: a version of a published agent that was published, or the current one.
pub async fn find_published(
    store: &Store,
    agent: AgentId,
    version: Option<i64>,
) -> Result<Option<PublishedManifest>, StoreError> {
    let row = sqlx::query_file!("queries/agent_manifests/find_published.sql", agent.as_uuid(), version)
        .fetch_optional(&store.pool)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let version = Row {
        version: row.version,
        hash: row.hash,
        contract: row.contract,
        consent: row.consent,
        log_index: row.log_index,
        created_at: row.created_at,
    };
    let text = ManifestText { version: version.into_version()?, canonical: row.canonical };
    Ok(Some(PublishedManifest { agent, name: row.name, text }))
}

/// Returns whether a version has an entry in the transparency log.
pub async fn is_logged(tx: &mut Tx, agent: AgentId, version: i64) -> Result<bool, StoreError> {
    let found = sqlx::query_file_scalar!("queries/agent_manifests/is_logged.sql", agent.as_uuid(), version)
        .fetch_optional(tx.connection())
        .await?;
    Ok(found.unwrap_or(false))
}

/// Names the entry of a version in the transparency log. It never changes.
pub async fn set_log_index(
    tx: &mut Tx,
    agent: AgentId,
    version: i64,
    log_index: u64,
) -> Result<(), StoreError> {
    let log_index = i64::try_from(log_index).map_err(unreadable)?;
    sqlx::query_file!("queries/agent_manifests/set_log_index.sql", agent.as_uuid(), version, log_index)
        .execute(tx.connection())
        .await?;
    Ok(())
}

pub(crate) fn stored_hash(bytes: &[u8]) -> Result<ManifestHash, StoreError> {
    Ok(ManifestHash::new(bytes.try_into().map_err(unreadable)?))
}

fn unreadable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unreadable { column: "agent_manifests", source: source.into() }
}
