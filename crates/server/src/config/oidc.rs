use secrecy::SecretString;

use super::section::section;

section! {
    /// Signing in through an identity provider (OpenID Connect). docs/sign-in.md says how to set it up.
    Oidc = "oidc" {
        /// The provider's name for itself, such as `https://accounts.example.org`; empty turns it off. Its discovery
        /// document is read below that address.
        issuer: String = "\"\"";
        /// How the provider knows this server.
        client_id: String = "\"\"";
        /// What this server proves itself with; empty for a client without a secret. Prefer the environment to a file.
        client_secret: SecretString = "\"\"";
    }
}
