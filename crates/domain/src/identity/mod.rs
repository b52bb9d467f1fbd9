//! Names of agents and people in the AUN network, who may register one, the state of their certificates and the log of them.

mod aid;
mod call_signature;
mod certificate;
mod challenge;
mod login;
mod registration;
mod session;
mod slot;
mod transparency;

pub use aid::{Aid, AidName, InvalidAid, InvalidIssuer, IssuerName, ReservedName};
pub use call_signature::{CALL_SIGNATURE_WINDOW_SECS, is_signed_now};
pub use certificate::{
    CertificateFingerprint, CertificateStatus, FingerprintQuery, InvalidCertificateFingerprint,
    InvalidFingerprint, InvalidSerial, IssuedCertificate, OwnedAid, RenewalDenied, RevocationReason, Serial,
};
pub use challenge::{LOGIN_CHALLENGE_LIFETIME, LoginChallenge, LoginChallengeError};
pub use login::{AID_TOKEN_LIFETIME, LoginCertificateError, check_login_certificate};
pub use registration::{
    AidOwner, RESERVATION_LIFETIME, RegistrationDenied, RegistrationMode, Reservation, registration_owner,
};
pub use session::AidSession;
pub use slot::{ClientSlot, InvalidClientSlot};
pub use transparency::{
    InvalidTreeHash, LogContent, LogEntry, LoggedCertificate, LoggedManifest, NodeId, SignedTreeHead,
    TreeHash, TreeHead,
};
