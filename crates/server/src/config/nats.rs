use secrecy::SecretString;

use super::section::section;

section! {
    /// NATS 2.11 or newer, core only: wake-ups. Nothing is lost without it, only slower.
    Nats = "nats" {
        /// Its address. Holds a password: prefer the environment to a file.
        url: SecretString = "\"nats://127.0.0.1:4222\"";
        /// The first part of every subject: installations that share a NATS need different ones.
        subject_prefix: String = "\"gh\"";
    }
}
