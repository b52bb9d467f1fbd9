use secrecy::SecretString;

use super::section::section;

section! {
    /// NATS 2.11 or newer, without JetStream. It carries wake-ups only: without it, updates arrive later and none is
    /// lost.
    Nats = "nats" {
        /// Connection URL. It contains a password: set it in the environment rather than in a file.
        url: SecretString = "\"nats://127.0.0.1:4222\"";
        /// Prefix of every subject. Installations that share a NATS server need different prefixes.
        subject_prefix: String = "\"gh\"";
    }
}
