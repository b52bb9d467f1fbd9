use std::time::Duration;

use guildhall_domain::identity::RegistrationMode;

use super::section::section;

section! {
    /// The AUN network: names (AIDs) of agents and people, and their certificates.
    Aun = "aun" {
        /// DNS name of this installation as an issuer of AIDs: with `guild.example`, AIDs are names such as
        /// `alice.guild.example`. Its keys are in `secrets.folder`, created by `guildhall init`. Empty: the server
        /// issues no AIDs. `guildhall dev` uses `guildhall.test`.
        issuer: String = "\"\"";
        /// Who may register a name that no operator has reserved: `closed` (nobody), `loopback` (clients on the machine
        /// of the server) or `open` (everybody). `guildhall dev` uses `loopback`.
        registration: RegistrationMode = "\"closed\"";
        /// URL of the socket that clients of AUN are told, such as `wss://guildhall.example.org/aun`. Empty: the path
        /// `/aun` at `http.public_url`, or else at the address for TLS, or else at the listen address.
        gateway_url: String = "\"\"";
        /// How long messages are kept for recipients that do not read them. At most 30 days.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        message_lifetime: Duration = "\"24h\"";
        /// How long messages of the delivery mode `queue` can be read, of which an AID has at most 200. At most an hour.
        #[serde(with = "jiff::fmt::serde::unsigned_duration::required")]
        queue_lifetime: Duration = "\"5m\"";
    }
}
