//! Images that applications attach to the messages of users.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{AttachmentId, PrincipalId, TenantId};
use crate::named_enum::named_enum;

named_enum! {
    /// The format of an image. Formats that can contain scripts, such as SVG, are not taken.
    ImageType, "image type";
    Png = "image/png",
    Jpeg = "image/jpeg",
    Gif = "image/gif",
    Webp = "image/webp",
}

/// Why a content is not accepted as an image. The content type of the request is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidImage {
    #[error("Content-Type: must be image/png, image/jpeg, image/gif or image/webp")]
    UnsupportedType,
    #[error("the body does not begin like {0}")]
    OtherContent(ImageType),
}

impl ImageType {
    /// How many bytes of a content are enough to recognise its format.
    pub const SIGNATURE_BYTES: usize = 14;

    /// Recognises the format of a content by its first bytes, as the MIME Sniffing Standard of WHATWG defines them.
    #[must_use]
    pub fn sniff(content: &[u8]) -> Option<Self> {
        if content.starts_with(b"\x89PNG\r\n\x1a\n") {
            return Some(Self::Png);
        }
        if content.starts_with(b"\xff\xd8\xff") {
            return Some(Self::Jpeg);
        }
        if content.starts_with(b"GIF87a") || content.starts_with(b"GIF89a") {
            return Some(Self::Gif);
        }
        // Between them is the size of the file.
        let is_webp = content.starts_with(b"RIFF") && content.get(8..14) == Some(b"WEBPVP");
        is_webp.then_some(Self::Webp)
    }

    /// Parses the `Content-Type` of an upload. Parameters are ignored.
    pub fn from_content_type(text: &str) -> Result<Self, InvalidImage> {
        let essence = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Self::from_name(&essence).map_err(|_| InvalidImage::UnsupportedType)
    }

    /// Checks that a content begins as its declared type says. Its first [`Self::SIGNATURE_BYTES`] bytes are enough.
    pub fn check(self, content: &[u8]) -> Result<(), InvalidImage> {
        if Self::sniff(content) == Some(self) { Ok(()) } else { Err(InvalidImage::OtherContent(self)) }
    }

    /// Returns the usual ending of a file name.
    #[must_use]
    pub const fn file_extension(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }
}

/// Who has uploaded an attachment, and in which tenant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentOwner {
    pub tenant: TenantId,
    pub principal: PrincipalId,
}

/// An image that an application has uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attachment {
    pub id: AttachmentId,
    pub owner: AttachmentOwner,
    pub image_type: ImageType,
    pub size_bytes: u64,
}

/// An attachment of a message, as payloads of commands and events name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentReference {
    pub id: AttachmentId,
    pub mime_type: ImageType,
}

impl AttachmentReference {
    /// The field of a payload.
    pub const FIELD: &'static str = "attachments";

    /// Returns the attachments that a payload names. Whatever else is in the field is ignored: payloads of other clients
    /// may use it as they like.
    #[must_use]
    pub fn list_in(payload: &Value) -> Vec<Self> {
        let listed = payload.get(Self::FIELD).and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(|entry| Self::deserialize(entry).ok()).collect()
    }
}

impl From<&Attachment> for AttachmentReference {
    fn from(attachment: &Attachment) -> Self {
        Self { id: attachment.id, mime_type: attachment.image_type }
    }
}

impl Attachment {
    /// Returns the key of its content in the object storage: the internal path, which clients never see.
    #[must_use]
    pub fn object_key(&self) -> String {
        object_key(self.owner.tenant, self.id)
    }

    /// Returns a name for the file that a browser saves.
    #[must_use]
    pub fn file_name(&self) -> String {
        format!("{}.{}", self.id, self.image_type.file_extension())
    }
}

/// Returns the key of the content of an attachment in the object storage.
#[must_use]
pub fn object_key(tenant: TenantId, id: AttachmentId) -> String {
    format!("{tenant}/{id}")
}

/// How much may be uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttachmentLimits {
    /// The size of one attachment.
    pub max_bytes: u64,
    /// The size of all attachments of an owner that no session uses.
    pub max_unreferenced_bytes: u64,
}

/// An upload that exceeds the quota of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("your attachments that no conversation uses would have more than {max_bytes} bytes")]
pub struct UnreferencedQuotaExceeded {
    pub max_bytes: u64,
}

impl AttachmentLimits {
    /// What a small attachment counts for in the quota, so that the quota also limits their number.
    pub const MIN_COUNTED_BYTES: u64 = 4096;

    /// Decides whether an owner with `unreferenced_bytes` may store `size_bytes` more.
    pub fn admit(&self, unreferenced_bytes: u64, size_bytes: u64) -> Result<(), UnreferencedQuotaExceeded> {
        let (max_bytes, size_bytes) = (self.max_unreferenced_bytes, size_bytes.max(Self::MIN_COUNTED_BYTES));
        let is_within = unreferenced_bytes.checked_add(size_bytes).is_some_and(|sum| sum <= max_bytes);
        if is_within { Ok(()) } else { Err(UnreferencedQuotaExceeded { max_bytes }) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn payload_names_its_attachments_and_other_values_are_ignored() {
        let id = AttachmentId::from_uuid(Uuid::from_u128(7));
        let reference = AttachmentReference { id, mime_type: ImageType::Webp };
        let entry = json!({ "id": "att_00000000000000000000000000000007", "mimeType": "image/webp" });
        assert_eq!(json!(reference), entry);
        let others = [json!("plan.png"), json!({ "id": "../x", "mimeType": "image/webp" }), json!(null)];
        let svg = json!({ "id": id, "mimeType": "image/svg+xml" });
        let listed: Vec<Value> = others.into_iter().chain([entry, svg]).collect();
        assert_eq!(AttachmentReference::list_in(&json!({ "attachments": listed })), [reference]);
        for payload in [json!({}), json!({ "attachments": "none" }), json!(null)] {
            assert_eq!(AttachmentReference::list_in(&payload), [], "{payload}");
        }
    }

    /// The beginning of a file of each format.
    const BEGINNINGS: [(ImageType, &[u8]); 6] = [
        (ImageType::Png, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"),
        (ImageType::Jpeg, b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
        (ImageType::Gif, b"GIF87a\x01\0\x01\0"),
        (ImageType::Gif, b"GIF89a\x01\0\x01\0"),
        (ImageType::Webp, b"RIFF\x24\0\0\0WEBPVP8 "),
        (ImageType::Webp, b"RIFF\x24\0\0\0WEBPVP8X"),
    ];

    #[test]
    fn format_is_recognised_by_its_first_bytes() {
        for (expected, content) in BEGINNINGS {
            assert_eq!(ImageType::sniff(content), Some(expected));
        }
    }

    #[test]
    fn scripts_and_other_formats_are_no_images() {
        let contents: [&[u8]; 10] = [
            b"",
            b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>",
            b"<?xml version=\"1.0\"?><svg/>",
            b"<!DOCTYPE html><script>alert(1)</script>",
            b" \x89PNG\r\n\x1a\n",
            b"\x89PNG\n\x1a\n",
            b"GIF88a",
            b"RIFF\x24\0\0\0WAVEfmt ",
            b"RIFF\x24\0\0\0WEBP",
            b"BM\x36\0\0\0",
        ];
        for content in contents {
            assert_eq!(ImageType::sniff(content), None, "{content:?}");
        }
    }

    #[test]
    fn content_type_is_one_of_four_in_any_case_and_without_parameters() {
        assert_eq!(ImageType::from_content_type("image/png"), Ok(ImageType::Png));
        assert_eq!(ImageType::from_content_type(" Image/WebP ; q=1"), Ok(ImageType::Webp));
        for text in ["", "image/svg+xml", "text/html", "image/*", "image/jpg", "application/octet-stream"] {
            assert_eq!(ImageType::from_content_type(text), Err(InvalidImage::UnsupportedType), "{text}");
        }
    }

    #[test]
    fn names_contain_only_the_ids_and_the_format() {
        let attachment = Attachment {
            id: AttachmentId::from_uuid(uuid::Uuid::from_u128(3)),
            owner: AttachmentOwner {
                tenant: TenantId::from_uuid(uuid::Uuid::from_u128(1)),
                principal: PrincipalId::from_uuid(uuid::Uuid::from_u128(2)),
            },
            image_type: ImageType::Jpeg,
            size_bytes: 1,
        };
        let names = (attachment.object_key(), attachment.file_name());
        let expected = (
            "ten_00000000000000000000000000000001/att_00000000000000000000000000000003",
            "att_00000000000000000000000000000003.jpg",
        );
        assert_eq!((names.0.as_str(), names.1.as_str()), expected);
    }

    fn any_type() -> impl Strategy<Value = ImageType> {
        proptest::sample::select(ImageType::ALL)
    }

    proptest! {
        #[test]
        fn declared_type_is_accepted_only_for_its_own_content(
            declared in any_type(), (actual, beginning) in proptest::sample::select(&BEGINNINGS[..]), rest in any::<Vec<u8>>(),
        ) {
            let content = [beginning, &rest].concat();
            let expected = if declared == actual { Ok(()) } else { Err(InvalidImage::OtherContent(declared)) };
            prop_assert_eq!(declared.check(&content), expected);
            // The rest of the content does not matter.
            prop_assert_eq!(declared.check(&content[..ImageType::SIGNATURE_BYTES.min(content.len())]), expected);
        }

        #[test]
        fn changed_signature_is_not_recognised_as_its_format(
            (actual, beginning) in proptest::sample::select(&BEGINNINGS[..]), bit in 0u8..8, at in 0usize..3,
        ) {
            let mut content = beginning.to_vec();
            content[at] ^= 1 << bit;
            prop_assert_ne!(ImageType::sniff(&content), Some(actual));
        }

        #[test]
        fn text_is_no_image(text in "[ \\t\\n<!a-zA-Z/]{0,40}") {
            prop_assert_eq!(ImageType::sniff(text.as_bytes()), None);
        }

        #[test]
        fn quota_counts_what_is_stored_and_what_is_added(stored in any::<u64>(), size in any::<u64>(), max in any::<u64>()) {
            let limits = AttachmentLimits { max_bytes: u64::MAX, max_unreferenced_bytes: max };
            let is_within = u128::from(stored) + u128::from(size.max(4096)) <= u128::from(max);
            prop_assert_eq!(limits.admit(stored, size).is_ok(), is_within);
        }
    }
}
