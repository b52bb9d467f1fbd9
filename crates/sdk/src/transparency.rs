//! The transparency log of certificates. Its answers are not verified here: see `guildhall_identity::transparency`.

use guildhall_domain::identity::Serial;
use guildhall_protocol::rest::identity::{
    ConsistencyProofView, InclusionProofView, LogEntriesView, LogEntryView, TreeHeadView,
};

use crate::{Client, ClientError};

impl Client {
    /// Returns the newest signed tree head. Needs no token, as all methods of the log.
    pub async fn tree_head(&self) -> Result<TreeHeadView, ClientError> {
        self.call_without_token(self.root_request(&["ct", "sth"])).await
    }

    /// Lists at most 100 entries by index.
    pub async fn log_entries(&self, start: u64, limit: u32) -> Result<LogEntriesView, ClientError> {
        let query = [("start", start), ("limit", u64::from(limit))];
        self.call_without_token(self.root_query(&["ct", "entries"], &query)).await
    }

    /// Returns the entry of a certificate.
    pub async fn log_entry_of(&self, serial: &Serial) -> Result<LogEntryView, ClientError> {
        self.call_without_token(self.root_request(&["ct", "certs", &serial.to_string()])).await
    }

    /// Returns a proof that an entry is in the log of a size.
    pub async fn inclusion_proof(&self, size: u64, index: u64) -> Result<InclusionProofView, ClientError> {
        let segments = ["ct", "proof", &size.to_string(), &index.to_string()];
        self.call_without_token(self.root_request(&segments)).await
    }

    /// Returns a proof that the log has only grown from one size to another.
    pub async fn consistency_proof(
        &self,
        first: u64,
        second: u64,
    ) -> Result<ConsistencyProofView, ClientError> {
        let segments = ["ct", "consistency", &first.to_string(), &second.to_string()];
        self.call_without_token(self.root_request(&segments)).await
    }
}
