//! Signed links to attachments. Whoever has a link can read the attachment until it expires.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::attachment::AttachmentOwner;
use crate::ids::AttachmentId;

const PATH_PREFIX: &str = "/api/v1/agent/attachments/";
const PATH_SUFFIX: &str = "/content";

/// The length of a signature: HMAC-SHA256.
pub const SIGNATURE_BYTES: usize = 32;

/// A text that is not the link of an attachment. It says nothing about the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a signed link of an attachment")]
pub struct InvalidAttachmentLink;

/// What a signature is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkClaims {
    pub id: AttachmentId,
    pub expires_at: Timestamp,
}

impl LinkClaims {
    /// Returns claims that expire after a lifetime, rounded down to whole seconds.
    #[must_use]
    pub fn new(id: AttachmentId, now: Timestamp, lifetime: Duration) -> Self {
        let lifetime = SignedDuration::try_from(lifetime).unwrap_or(SignedDuration::MAX);
        let end = now.checked_add(lifetime).unwrap_or(Timestamp::MAX);
        Self { id, expires_at: Timestamp::from_second(end.as_second()).unwrap_or(end) }
    }

    /// Returns the bytes to be signed. The fields have fixed lengths, so that different claims have different bytes.
    #[must_use]
    pub fn signed_bytes(&self, owner: AttachmentOwner) -> [u8; 56] {
        let mut bytes = [0; 56];
        bytes[..16].copy_from_slice(self.id.as_uuid().as_bytes());
        bytes[16..32].copy_from_slice(owner.tenant.as_uuid().as_bytes());
        bytes[32..48].copy_from_slice(owner.principal.as_uuid().as_bytes());
        bytes[48..].copy_from_slice(&self.expires_at.as_second().to_be_bytes());
        bytes
    }

    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        now >= self.expires_at
    }

    /// Returns the whole seconds until the link expires.
    #[must_use]
    pub fn seconds_left(&self, now: Timestamp) -> u64 {
        u64::try_from(self.expires_at.duration_since(now).as_secs()).unwrap_or_default()
    }
}

/// The link of an attachment, with a signature that is not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentLink {
    pub claims: LinkClaims,
    pub signature: [u8; SIGNATURE_BYTES],
}

impl AttachmentLink {
    /// Parses the parts of a request. They must have the form in which [`fmt::Display`] writes them.
    pub fn from_parts(
        id: AttachmentId,
        expires: &str,
        signature: &str,
    ) -> Result<Self, InvalidAttachmentLink> {
        let seconds = expires.parse().map_err(|_| InvalidAttachmentLink)?;
        let expires_at = Timestamp::from_second(seconds).map_err(|_| InvalidAttachmentLink)?;
        let mut bytes = [0; SIGNATURE_BYTES];
        hex::decode_to_slice(signature, &mut bytes).map_err(|_| InvalidAttachmentLink)?;
        let link = Self { claims: LinkClaims { id, expires_at }, signature: bytes };
        let is_canonical = seconds.to_string() == expires && hex::encode(bytes) == signature;
        if is_canonical { Ok(link) } else { Err(InvalidAttachmentLink) }
    }

    /// Parses a URL of this origin. It must have the form in which the server has written it.
    pub fn parse(url: &str, origin: &str) -> Result<Self, InvalidAttachmentLink> {
        let link = url.strip_prefix(origin).ok_or(InvalidAttachmentLink)?;
        let (path, query) = link.split_once('?').ok_or(InvalidAttachmentLink)?;
        let id = path.strip_prefix(PATH_PREFIX).and_then(|rest| rest.strip_suffix(PATH_SUFFIX));
        let id = id.and_then(|id| id.parse().ok()).ok_or(InvalidAttachmentLink)?;
        let values = query.strip_prefix("expires=").and_then(|rest| rest.split_once("&signature="));
        let (expires, signature) = values.ok_or(InvalidAttachmentLink)?;
        Self::from_parts(id, expires, signature)
    }
}

/// The path with the query.
impl fmt::Display for AttachmentLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkClaims { id, expires_at } = self.claims;
        let (expires, signature) = (expires_at.as_second(), hex::encode(self.signature));
        write!(f, "{PATH_PREFIX}{id}{PATH_SUFFIX}?expires={expires}&signature={signature}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::ids::{PrincipalId, TenantId};

    const SECOND: SignedDuration = SignedDuration::from_secs(1);
    const PATH: &str = "/api/v1/agent/attachments/att_00000000000000000000000000000007/content?expires=1794902400\
         &signature=0101010101010101010101010101010101010101010101010101010101010101";

    fn link() -> AttachmentLink {
        let expires_at = Timestamp::from_second(1_794_902_400).unwrap();
        let id = AttachmentId::from_uuid(Uuid::from_u128(7));
        AttachmentLink { claims: LinkClaims { id, expires_at }, signature: [1; SIGNATURE_BYTES] }
    }

    const ORIGIN: &str = "https://guildhall.example.org";

    fn parse(text: &str) -> Result<AttachmentLink, InvalidAttachmentLink> {
        AttachmentLink::parse(text, ORIGIN)
    }

    #[test]
    fn link_has_the_origin_of_the_server() {
        assert_eq!(link().to_string(), PATH);
        assert_eq!(parse(&format!("{ORIGIN}{PATH}")), Ok(link()));
        let others = [
            "",
            "http://guildhall.example.org",
            "https://guildhall.example.org:8443",
            "https://guildhall.example.org.evil.example",
            "https://guildhall.example.org@evil.example",
            "https://evil.example/https://guildhall.example.org",
            "//guildhall.example.org",
            "https://guildhall.example.org/",
        ];
        for origin in others {
            assert_eq!(parse(&format!("{origin}{PATH}")), Err(InvalidAttachmentLink), "{origin}");
        }
    }

    #[test]
    fn other_texts_are_no_links() {
        let of_path = |from: &str, to: &str| PATH.replace(from, to);
        let texts = [
            String::new(),
            "https://storage.example.com/agent-inputs/user-123/image.png?signature=xxx".to_owned(),
            "data:image/png;base64,aGk=".to_owned(),
            format!("ftp://guildhall.example.org{PATH}"),
            format!("{PATH}#x"),
            format!("{PATH}&x=1"),
            format!("{PATH} "),
            format!("/x{PATH}"),
            of_path("att_", "run_"),
            of_path("/content", ""),
            of_path("/content", "/../content"),
            of_path("att_", "../attachments/att_"),
            of_path("/content", "/content/"),
            of_path("expires=", "expires=+"),
            of_path("expires=", "expires=0"),
            of_path("expires=1794902400", "expires=99999999999999"),
            of_path("signature=01", "signature="),
            of_path("signature=", "signature=01"),
            PATH.replace("0101010101", "01010101AB"),
            of_path("&signature", "&other=1&signature"),
        ];
        for text in texts {
            assert_eq!(parse(&text), Err(InvalidAttachmentLink), "{text}");
            assert_eq!(parse(&format!("{ORIGIN}{text}")), Err(InvalidAttachmentLink), "{text}");
        }
    }

    #[test]
    fn link_expires_at_its_second() {
        let now = Timestamp::from_millisecond(1_794_902_399_500).unwrap();
        let claims = LinkClaims::new(link().claims.id, now, Duration::from_secs(1));
        assert_eq!(claims, link().claims, "rounded down");
        let before = claims.expires_at - SECOND;
        assert_eq!((claims.is_expired(before), claims.seconds_left(before)), (false, 1));
        assert_eq!((claims.is_expired(claims.expires_at), claims.seconds_left(claims.expires_at)), (true, 0));
        assert_eq!(claims.seconds_left(claims.expires_at + SECOND), 0);
    }

    fn claims() -> impl Strategy<Value = (LinkClaims, AttachmentOwner)> {
        (0u128..3, 0u128..3, 0u128..3, 0i64..3).prop_map(|(id, tenant, principal, second)| {
            let id = AttachmentId::from_uuid(Uuid::from_u128(id));
            let owner = AttachmentOwner {
                tenant: TenantId::from_uuid(Uuid::from_u128(tenant)),
                principal: PrincipalId::from_uuid(Uuid::from_u128(principal)),
            };
            (LinkClaims { id, expires_at: Timestamp::from_second(second).unwrap() }, owner)
        })
    }

    proptest! {
        #[test]
        fn written_link_is_parsed_as_itself(id in any::<u128>(), second in 0i64..253_402_207_200, signature in any::<[u8; 32]>()) {
            let id = AttachmentId::from_uuid(Uuid::from_u128(id));
            let expires_at = Timestamp::from_second(second).unwrap();
            let link = AttachmentLink { claims: LinkClaims { id, expires_at }, signature };
            prop_assert_eq!(parse(&format!("{ORIGIN}{link}")), Ok(link));
            prop_assert_eq!(parse(&format!("https://a.example{link}")), Err(InvalidAttachmentLink));
        }

        #[test]
        fn different_claims_have_different_bytes(one in claims(), other in claims()) {
            let is_same = one.0.signed_bytes(one.1) == other.0.signed_bytes(other.1);
            prop_assert_eq!(is_same, one == other);
        }

        #[test]
        fn any_text_is_parsed_without_panic(text in any::<String>(), at in 0usize..200, with in any::<char>()) {
            let _any_result = parse(&format!("{ORIGIN}{text}"));
            let changed: String = PATH.chars().enumerate().map(|(index, old)| if index == at { with } else { old }).collect();
            if let Ok(parsed) = parse(&format!("{ORIGIN}{changed}")) {
                prop_assert_eq!(parsed.to_string(), changed, "one text for one link");
            }
        }
    }
}
