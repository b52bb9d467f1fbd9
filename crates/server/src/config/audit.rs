use super::section::section;

section! {
    /// Signatures and anchors of the audit logs.
    Audit = "audit" {
        /// File with the private key that signs the audit logs: 64 hexadecimal digits, the same on every replica,
        /// readable only by this server's user. `guildhall init` creates a missing file. Empty: the logs are not signed,
        /// and whoever can write to the database can rewrite them unnoticed. `guildhall dev` uses its state folder.
        signing_key_file: String = "\"\"";
        /// File to which the server appends an anchor, one line of JSON, for each signed part of a log. Store it where
        /// no user of the database can write. Replicas on one machine may share the file. `guildhall audit verify
        /// --anchor` compares a log with it. Empty: no anchors. `guildhall dev` uses its state folder.
        anchor_file: String = "\"\"";
    }
}
