//! Who may register an AID.
//!
//! Official clients cannot send an invitation with `auth.create_aid`. An issuer that is closed therefore opens one name
//! at a time, for one address and for ten minutes.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;

use super::aid::AidName;
use crate::ids::PrincipalId;
use crate::named_enum::named_enum;

/// How long a reserved name can be registered.
pub const RESERVATION_LIFETIME: Duration = Duration::from_secs(600);

named_enum! {
    /// Who may register a name that nobody has reserved.
    RegistrationMode, "registration mode";
    /// Nobody.
    Closed = "closed",
    /// Callers of this machine.
    Loopback = "loopback",
    /// Every caller.
    Open = "open",
}

/// A name that one address may register until a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub name: AidName,
    pub address: IpAddr,
    /// None: whoever registers the name gets a principal of its own.
    pub owner: Option<PrincipalId>,
    pub expires_at: Timestamp,
}

/// The principal that a new AID belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AidOwner {
    /// The user that the name is reserved for.
    Existing(PrincipalId),
    /// A new principal of the kind `agent`, without any right.
    New,
}

/// The name cannot be registered by this caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationDenied {
    #[error("registration is closed: an operator reserves the name first, with `guildhall aid reserve`")]
    Closed,
    #[error("registration is open on the machine of the server alone")]
    NotLoopback,
    #[error("the name is reserved for another address")]
    OtherAddress,
}

/// Decides who owns a new AID. A valid reservation goes before the mode, for its address and against all others.
pub fn registration_owner(
    mode: RegistrationMode,
    reservation: Option<&Reservation>,
    address: IpAddr,
    now: Timestamp,
) -> Result<AidOwner, RegistrationDenied> {
    if let Some(reservation) = reservation.filter(|reservation| now < reservation.expires_at) {
        let same = reservation.address.to_canonical() == address.to_canonical();
        let owner = reservation.owner.map_or(AidOwner::New, AidOwner::Existing);
        return same.then_some(owner).ok_or(RegistrationDenied::OtherAddress);
    }
    match mode {
        RegistrationMode::Closed => Err(RegistrationDenied::Closed),
        RegistrationMode::Loopback if address.to_canonical().is_loopback() => Ok(AidOwner::New),
        RegistrationMode::Loopback => Err(RegistrationDenied::NotLoopback),
        RegistrationMode::Open => Ok(AidOwner::New),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOCAL: &str = "127.0.0.1";
    const REMOTE: &str = "192.0.2.7";

    fn decide(
        mode: RegistrationMode,
        reservation: Option<&Reservation>,
        address: &str,
        second: i64,
    ) -> Result<AidOwner, RegistrationDenied> {
        let now = Timestamp::from_second(second).expect("a time");
        registration_owner(mode, reservation, address.parse().expect("an address"), now)
    }

    fn reservation() -> Reservation {
        Reservation {
            name: "alice".parse().expect("a name"),
            address: REMOTE.parse().expect("an address"),
            owner: Some(PrincipalId::generate()),
            expires_at: Timestamp::from_second(600).expect("a time"),
        }
    }

    #[test]
    fn mode_decides_without_a_reservation() {
        use RegistrationMode::{Closed, Loopback, Open};
        assert_eq!(decide(Closed, None, LOCAL, 0), Err(RegistrationDenied::Closed));
        assert_eq!(decide(Loopback, None, LOCAL, 0), Ok(AidOwner::New));
        assert_eq!(decide(Loopback, None, "::1", 0), Ok(AidOwner::New));
        assert_eq!(decide(Loopback, None, "::ffff:127.0.0.1", 0), Ok(AidOwner::New));
        assert_eq!(decide(Loopback, None, REMOTE, 0), Err(RegistrationDenied::NotLoopback));
        assert_eq!(decide(Open, None, REMOTE, 0), Ok(AidOwner::New));
    }

    #[test]
    fn reservation_opens_one_name_for_one_address_until_it_expires() {
        let reservation = reservation();
        let owned = Ok(AidOwner::Existing(reservation.owner.expect("a user")));
        for mode in RegistrationMode::ALL {
            assert_eq!(decide(*mode, Some(&reservation), REMOTE, 599), owned, "{mode}");
            assert_eq!(decide(*mode, Some(&reservation), "::ffff:192.0.2.7", 0), owned, "{mode}");
            let other = decide(*mode, Some(&reservation), LOCAL, 599);
            assert_eq!(other, Err(RegistrationDenied::OtherAddress), "{mode}");
            let expired = decide(*mode, Some(&reservation), LOCAL, 600);
            assert_eq!(expired, decide(*mode, None, LOCAL, 600), "{mode}");
        }
    }

    #[test]
    fn name_reserved_for_nobody_gets_a_principal_of_its_own() {
        let reservation = Reservation { owner: None, ..reservation() };
        for mode in RegistrationMode::ALL {
            assert_eq!(decide(*mode, Some(&reservation), REMOTE, 599), Ok(AidOwner::New), "{mode}");
            let other = decide(*mode, Some(&reservation), LOCAL, 599);
            assert_eq!(other, Err(RegistrationDenied::OtherAddress), "{mode}");
        }
    }

    proptest! {
        #[test]
        fn closed_registration_needs_a_reservation_of_the_address(address in any::<IpAddr>(), second in 0i64..1200) {
            let reservation = reservation();
            let now = Timestamp::from_second(second).expect("a time");
            let decided = registration_owner(RegistrationMode::Closed, Some(&reservation), address, now);
            let allowed = address.to_canonical() == reservation.address && second < 600;
            prop_assert_eq!(decided.is_ok(), allowed);
            prop_assert!(registration_owner(RegistrationMode::Closed, None, address, now).is_err());
        }
    }
}
