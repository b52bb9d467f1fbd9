use secrecy::SecretString;

use super::section::section;

section! {
    /// Who is who.
    Identity = "identity" {
        /// The name of this installation: it stands in every token, and tokens of another are refused.
        issuer: String = "\"guildhall.local\"";
        /// 64 hexadecimal digits under which private keys are sealed in the database; every replica needs the same.
        /// Make one with `openssl rand -hex 32` and keep it apart from the database's backups.
        key_encryption_key: SecretString = "\"\"";
    }
}
