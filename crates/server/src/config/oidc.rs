use secrecy::SecretString;

use super::section::section;

section! {
    /// Sign-in through an identity provider (OpenID Connect). docs/sign-in.md describes the setup.
    Oidc = "oidc" {
        /// Issuer URL of the provider, such as `https://accounts.example.org`. The discovery document is fetched from
        /// there. Empty: off.
        issuer: String = "\"\"";
        /// Client ID of this server at the provider.
        client_id: String = "\"\"";
        /// Client secret of this server at the provider. Empty: public client. Set it in the environment rather than in
        /// a file.
        client_secret: SecretString = "\"\"";
    }
}
