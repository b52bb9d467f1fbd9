use secrecy::SecretString;

use super::section::section;

section! {
    /// Signing keys and tokens.
    Identity = "identity" {
        /// Issuer name of this installation. It is written into every token; tokens of other issuers are rejected.
        issuer: String = "\"guildhall.local\"";
        /// Key that encrypts the private signing keys in the database: 64 hexadecimal digits, the same on every
        /// replica. Create one with `openssl rand -hex 32` and store it apart from the database backups.
        key_encryption_key: SecretString = "\"\"";
    }
}
