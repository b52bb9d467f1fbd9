//! Names of agents and people in the AUN network, who may register one, and the state of their certificates.

mod aid;
mod certificate;
mod challenge;
mod registration;

pub use aid::{Aid, AidName, InvalidAid, InvalidIssuer, IssuerName, ReservedName};
pub use certificate::{
    CertificateFingerprint, CertificateStatus, FingerprintQuery, InvalidFingerprint, InvalidSerial,
    IssuedCertificate, OwnedAid, RenewalDenied, RevocationReason, Serial,
};
pub use challenge::{LOGIN_CHALLENGE_LIFETIME, LoginChallenge, LoginChallengeError};
pub use registration::{
    AidOwner, RESERVATION_LIFETIME, RegistrationDenied, RegistrationMode, Reservation, registration_owner,
};
