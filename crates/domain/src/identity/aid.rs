//! AIDs: `name.issuer`, for example `alice.guild.example`.

use std::fmt;
use std::str::FromStr;

const MIN_NAME: usize = 4;
const MAX_NAME: usize = 64;

/// A DNS name has at most 253 characters, and the name before it and the dot take up to 65.
const MAX_ISSUER: usize = 253 - MAX_NAME - 1;
const MAX_LABEL: usize = 63;

/// Host names of the issuer's own services, and names that could be taken for one of its operators.
const RESERVED: &[&str] = &[
    "admin",
    "administrator",
    "agent",
    "agents",
    "auth",
    "gateway",
    "group",
    "guildhall",
    "hostmaster",
    "issuer",
    "localhost",
    "mail",
    "message",
    "meta",
    "operator",
    "peer",
    "postmaster",
    "registry",
    "relay",
    "root",
    "search",
    "security",
    "storage",
    "stream",
    "support",
    "system",
    "task",
    "trust",
    "webmaster",
];

/// The text is not an AID of this issuer. The text is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAid {
    #[error("invalid name: expected {MIN_NAME} to {MAX_NAME} characters of a-z, 0-9, `_` and `-`")]
    Name,
    #[error("invalid name: it must not start with `-` or `guest`")]
    Start,
    #[error("invalid AID: expected a name, a dot and the name of its issuer")]
    NoIssuer,
    #[error(transparent)]
    Issuer(#[from] InvalidIssuer),
}

/// The name belongs to the issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the name is reserved for the issuer: choose another")]
pub struct ReservedName;

/// The text is not the name of an issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid issuer: expected a DNS name of at least two labels in lower case, at most {MAX_ISSUER} characters"
)]
pub struct InvalidIssuer;

/// The DNS name of an issuer. Its AIDs are names below it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IssuerName(String);

/// The first label of an AID.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AidName(String);

/// The name of an agent or a person: a name and its issuer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Aid {
    name: AidName,
    issuer: IssuerName,
}

impl IssuerName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the host name of one of the issuer's services, for example `gateway`.
    #[must_use]
    pub fn host(&self, service: &str) -> String {
        format!("{service}.{}", self.0)
    }
}

impl FromStr for IssuerName {
    type Err = InvalidIssuer;

    fn from_str(text: &str) -> Result<Self, InvalidIssuer> {
        let mut labels = text.split('.');
        let valid = text.len() <= MAX_ISSUER && labels.clone().count() >= 2 && labels.clone().all(is_label);
        // The last label of a DNS name is not a number: `127.0.0.1` is an address.
        let named =
            labels.next_back().is_some_and(|label| label.bytes().any(|byte| byte.is_ascii_lowercase()));
        if valid && named { Ok(Self(text.to_owned())) } else { Err(InvalidIssuer) }
    }
}

fn is_label(label: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_LABEL).contains(&label.len())
        && label.bytes().all(allowed)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

impl AidName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Checks that a new AID may have the name. Names that exist, and those of other issuers, are not checked: the list
    /// may grow.
    pub fn check_available(&self) -> Result<(), ReservedName> {
        if RESERVED.contains(&self.as_str()) { Err(ReservedName) } else { Ok(()) }
    }
}

impl FromStr for AidName {
    type Err = InvalidAid;

    fn from_str(text: &str) -> Result<Self, InvalidAid> {
        let allowed =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-';
        if !(MIN_NAME..=MAX_NAME).contains(&text.len()) || !text.bytes().all(allowed) {
            return Err(InvalidAid::Name);
        }
        if text.starts_with('-') || text.starts_with("guest") {
            return Err(InvalidAid::Start);
        }
        Ok(Self(text.to_owned()))
    }
}

impl Aid {
    #[must_use]
    pub fn new(name: AidName, issuer: IssuerName) -> Self {
        Self { name, issuer }
    }

    #[must_use]
    pub fn name(&self) -> &AidName {
        &self.name
    }

    #[must_use]
    pub fn issuer(&self) -> &IssuerName {
        &self.issuer
    }
}

impl FromStr for Aid {
    type Err = InvalidAid;

    fn from_str(text: &str) -> Result<Self, InvalidAid> {
        let (name, issuer) = text.split_once('.').ok_or(InvalidAid::NoIssuer)?;
        Ok(Self { name: name.parse()?, issuer: issuer.parse()? })
    }
}

impl fmt::Display for IssuerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Aid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.name, self.issuer)
    }
}

macro_rules! serde_as_text {
    ($($type:ident),+) => {$(
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}
serde_as_text!(IssuerName, AidName, Aid);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_follow_the_rules_of_the_official_client() {
        for text in ["alice", "b-ob", "a_1-", "0000", "_abc", &"a".repeat(64)] {
            assert_eq!(text.parse::<AidName>().map(|name| name.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "bob", "Alice", "al ice", "al.ice", "älice", &"a".repeat(65)] {
            assert_eq!(text.parse::<AidName>(), Err(InvalidAid::Name), "{text}");
        }
        for text in ["-abc", "guest", "guest-1", "guests"] {
            assert_eq!(text.parse::<AidName>(), Err(InvalidAid::Start), "{text}");
        }
        for text in RESERVED {
            let name: AidName = text.parse().expect("others may have it");
            assert_eq!(name.check_available(), Err(ReservedName), "{text}");
        }
        assert_eq!("alice".parse::<AidName>().expect("a name").check_available(), Ok(()));
    }

    #[test]
    fn issuer_is_a_dns_name_in_lower_case() {
        for text in ["guild.example", "a.b", "x1-y.guild.example", "0.example"] {
            assert_eq!(text.parse::<IssuerName>().map(|issuer| issuer.to_string()), Ok(text.to_owned()));
        }
        let long = format!("{}.example", ["a".repeat(60), "a".repeat(60), "a".repeat(60)].join("."));
        for text in [
            "",
            "guild",
            "guild.",
            ".guild.example",
            "Guild.example",
            "guild..example",
            "-g.example",
            "g-.example",
            "127.0.0.1",
            "gu_ild.example",
            &long,
        ] {
            assert_eq!(text.parse::<IssuerName>(), Err(InvalidIssuer), "{text}");
        }
    }

    #[test]
    fn aid_without_an_issuer_is_rejected() {
        assert_eq!("alice".parse::<Aid>(), Err(InvalidAid::NoIssuer));
        assert_eq!("alice.guild".parse::<Aid>(), Err(InvalidAid::Issuer(InvalidIssuer)));
    }

    proptest! {
        #[test]
        fn aid_is_parsed_from_its_own_text(name in "[a-f0-9_][a-f0-9_-]{3,63}", issuer in "[a-z][a-z0-9]{0,20}\\.[a-z]{2,10}") {
            let text = format!("{name}.{issuer}");
            let aid: Aid = text.parse().expect("an AID");
            prop_assert_eq!(aid.to_string(), text);
            prop_assert_eq!((aid.name().as_str(), aid.issuer().as_str()), (name.as_str(), issuer.as_str()));
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in any::<String>()) {
            if let Ok(aid) = text.parse::<Aid>() {
                prop_assert_eq!(aid.to_string(), text);
            }
        }
    }
}
