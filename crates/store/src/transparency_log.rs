//! The log of certificates and published manifests: entries, the nodes of its tree, its size and its newest signed head.

use std::collections::HashMap;

use guildhall_domain::identity::{
    Aid, CertificateFingerprint, LogContent, LogEntry, LoggedCertificate, LoggedManifest, NodeId, Serial,
    SignedTreeHead, TreeHash, TreeHead,
};
use guildhall_domain::ids::AgentId;
use jiff_sqlx::{Timestamp, ToSqlx};

use uuid::Uuid;

use crate::agent_manifests::stored_hash;
use crate::{Store, StoreError, Tx};

/// The size of the log, and its newest signed head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransparencyLogState {
    pub size: u64,
    pub head: Option<SignedTreeHead>,
}

/// A certificate that is not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnloggedCertificate {
    pub serial: Serial,
    pub der: Vec<u8>,
}

/// Locks the log until the transaction ends, so that nobody else appends. Returns its size.
pub async fn lock(tx: &mut Tx) -> Result<u64, StoreError> {
    let size =
        sqlx::query_file_scalar!("queries/transparency_log/lock.sql").fetch_one(tx.connection()).await?;
    unsigned(size)
}

/// Appends entries and the nodes that are complete with them. The log must be locked. An entry without a serial is that of a
/// manifest, whose row names it.
pub async fn append(
    tx: &mut Tx,
    first: u64,
    serials: &[Option<&Serial>],
    logged_at: jiff::Timestamp,
    nodes: &[(NodeId, TreeHash)],
) -> Result<(), StoreError> {
    let (first, count) = (signed(first)?, signed(serials.len() as u64)?);
    let indexes: Vec<i64> = (first..first + count).collect();
    let serials: Vec<Option<&[u8]>> = serials.iter().map(|serial| serial.map(Serial::as_bytes)).collect();
    sqlx::query_file!(
        "queries/transparency_entries/insert.sql",
        &indexes,
        &serials as &[Option<&[u8]>],
        logged_at.to_sqlx() as Timestamp
    )
    .execute(tx.connection())
    .await?;
    let (levels, indexes) = columns(nodes.iter().map(|(id, _)| id))?;
    let hashes: Vec<&[u8]> = nodes.iter().map(|(_, hash)| hash.as_bytes().as_slice()).collect();
    sqlx::query_file!("queries/transparency_nodes/insert.sql", &levels, &indexes, &hashes as &[&[u8]])
        .execute(tx.connection())
        .await?;
    sqlx::query_file!("queries/transparency_log/grow.sql", first + count).execute(tx.connection()).await?;
    Ok(())
}

/// Returns the size of the log and its newest head.
pub async fn get(store: &Store) -> Result<TransparencyLogState, StoreError> {
    let row = sqlx::query_file!("queries/transparency_log/get.sql").fetch_one(&store.pool).await?;
    let head = match (row.head_size, row.head_root, row.head_at, row.head_signature) {
        (Some(size), Some(root), Some(at), Some(signature)) => {
            let head = TreeHead { size: unsigned(size)?, root: hash(root)?, at: at.to_jiff() };
            Some(SignedTreeHead { head, signature })
        }
        _ => None,
    };
    Ok(TransparencyLogState { size: unsigned(row.size)?, head })
}

/// Stores a newer head. Returns false where another replica has stored one that is as new.
pub async fn set_head(store: &Store, signed_head: &SignedTreeHead) -> Result<bool, StoreError> {
    let SignedTreeHead { head, signature } = signed_head;
    let done = sqlx::query_file!(
        "queries/transparency_log/set_head.sql",
        signed(head.size)?,
        head.root.as_bytes().as_slice(),
        head.at.to_sqlx() as Timestamp,
        signature
    )
    .execute(&store.pool)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Finds nodes. Those that are not complete yet are missing in the result.
pub async fn nodes(store: &Store, ids: &[NodeId]) -> Result<HashMap<NodeId, TreeHash>, StoreError> {
    // Nodes of a size that no log has are not stored.
    let Ok((levels, indexes)) = columns(ids) else { return Ok(HashMap::new()) };
    let rows = sqlx::query_file_as!(NodeRow, "queries/transparency_nodes/list.sql", &levels, &indexes)
        .fetch_all(&store.pool)
        .await?;
    rows.into_iter().map(NodeRow::into_node).collect()
}

/// Finds nodes under the lock of the log.
pub async fn locked_nodes(tx: &mut Tx, ids: &[NodeId]) -> Result<HashMap<NodeId, TreeHash>, StoreError> {
    let (levels, indexes) = columns(ids)?;
    let rows = sqlx::query_file_as!(NodeRow, "queries/transparency_nodes/list.sql", &levels, &indexes)
        .fetch_all(tx.connection())
        .await?;
    rows.into_iter().map(NodeRow::into_node).collect()
}

/// Lists at most `limit` entries by index.
pub async fn entries(store: &Store, start: u64, limit: u32) -> Result<Vec<LogEntry>, StoreError> {
    let Ok(start) = signed(start) else { return Ok(Vec::new()) };
    let rows =
        sqlx::query_file_as!(EntryRow, "queries/transparency_entries/list.sql", start, i64::from(limit))
            .fetch_all(&store.pool)
            .await?;
    rows.into_iter().map(EntryRow::into_entry).collect()
}

/// Finds the entry of a certificate.
pub async fn find_by_serial(store: &Store, serial: &Serial) -> Result<Option<LogEntry>, StoreError> {
    let row =
        sqlx::query_file_as!(EntryRow, "queries/transparency_entries/find_by_serial.sql", serial.as_bytes())
            .fetch_optional(&store.pool)
            .await?;
    row.map(EntryRow::into_entry).transpose()
}

/// Lists at most `limit` certificates that are not in the log, in the order in which they were issued.
pub async fn list_missing(tx: &mut Tx, limit: u32) -> Result<Vec<UnloggedCertificate>, StoreError> {
    let rows = sqlx::query_file!("queries/transparency_entries/list_missing.sql", i64::from(limit))
        .fetch_all(tx.connection())
        .await?;
    let certificate = |row: (Vec<u8>, Vec<u8>)| {
        Ok(UnloggedCertificate { serial: Serial::from_bytes(&row.0).map_err(unreadable)?, der: row.1 })
    };
    rows.into_iter().map(|row| certificate((row.serial, row.der))).collect()
}

struct NodeRow {
    level: i16,
    index: i64,
    hash: Vec<u8>,
}

impl NodeRow {
    fn into_node(self) -> Result<(NodeId, TreeHash), StoreError> {
        let level = u8::try_from(self.level).map_err(unreadable)?;
        Ok((NodeId { level, index: unsigned(self.index)? }, hash(self.hash)?))
    }
}

struct EntryRow {
    index: i64,
    logged_at: Timestamp,
    serial: Option<Vec<u8>>,
    aid: Option<String>,
    der: Option<Vec<u8>>,
    fingerprint: Option<Vec<u8>>,
    agent: Option<Uuid>,
    version: Option<i64>,
    hash: Option<Vec<u8>>,
}

impl EntryRow {
    fn into_entry(self) -> Result<LogEntry, StoreError> {
        let (index, logged_at) = (unsigned(self.index)?, self.logged_at.to_jiff());
        let content = match (self.serial, self.aid, self.der, self.fingerprint) {
            (Some(serial), Some(aid), Some(der), Some(fingerprint)) => {
                LogContent::Certificate(LoggedCertificate {
                    serial: Serial::from_bytes(&serial).map_err(unreadable)?,
                    aid: aid.parse::<Aid>().map_err(unreadable)?,
                    der,
                    fingerprint: CertificateFingerprint::new(array(fingerprint)?),
                })
            }
            _ => match (self.agent, self.version, self.hash) {
                (Some(agent), Some(version), Some(hash)) => LogContent::Manifest(LoggedManifest {
                    agent: AgentId::from_uuid(agent),
                    version,
                    hash: stored_hash(&hash)?,
                }),
                _ => return Err(unreadable("an entry has neither a certificate nor a manifest")),
            },
        };
        Ok(LogEntry { index, logged_at, content })
    }
}

fn columns<'a>(ids: impl IntoIterator<Item = &'a NodeId>) -> Result<(Vec<i16>, Vec<i64>), StoreError> {
    let ids = ids.into_iter().map(|id| Ok((i16::from(id.level), signed(id.index)?)));
    let pairs: Vec<(i16, i64)> = ids.collect::<Result<_, StoreError>>()?;
    Ok(pairs.into_iter().unzip())
}

fn hash(bytes: Vec<u8>) -> Result<TreeHash, StoreError> {
    array(bytes).map(TreeHash::new)
}

fn array(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| unreadable("a hash has another length"))
}

fn signed(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(unreadable)
}

fn unsigned(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(unreadable)
}

fn unreadable(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Unreadable { column: "transparency_log", source: source.into() }
}
