//! The first packet of the git protocol: which service of which repository git wants.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longer than any request of git for our URL.
const MAX_BYTES: usize = 1024;

/// A request for `git-upload-pack` of the repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UploadPackRequest {
    pub(super) version: ProtocolVersion,
}

/// The version of the protocol that git wants to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProtocolVersion {
    Original,
    Two,
}

impl UploadPackRequest {
    /// Reads the packet; `None` if it asks for anything else.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin), key: &str) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        from.read_exact(&mut length).await?;
        let length = std::str::from_utf8(&length).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
        let Some(length) = length.and_then(|length| length.checked_sub(4)) else { return Ok(None) };
        if length > MAX_BYTES {
            return Ok(None);
        }
        let mut packet = vec![0; length];
        from.read_exact(&mut packet).await?;
        Ok(Self::parse(&packet, key))
    }

    /// Parses `git-upload-pack /KEY\0host=…\0\0version=2\0`.
    fn parse(packet: &[u8], key: &str) -> Option<Self> {
        let rest =
            packet.strip_prefix(b"git-upload-pack /")?.strip_prefix(key.as_bytes())?.strip_prefix(b"\0")?;
        let is_version_2 = rest.split(|byte| *byte == 0).any(|parameter| parameter == b"version=2");
        Some(Self { version: if is_version_2 { ProtocolVersion::Two } else { ProtocolVersion::Original } })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &str) -> Option<ProtocolVersion> {
        let packet = format!("{:04x}{text}", text.len() + 4);
        let found = UploadPackRequest::read(&mut packet.as_bytes(), "k1").await;
        found.expect("readable").map(|request| request.version)
    }

    #[tokio::test]
    async fn only_upload_pack_of_the_repository_is_accepted() {
        for (text, expected) in [
            ("git-upload-pack /k1\0host=127.0.0.1:3117\0", Some(ProtocolVersion::Original)),
            ("git-upload-pack /k1\0host=127.0.0.1:3117\0\0version=2\0", Some(ProtocolVersion::Two)),
            ("git-upload-pack /k1\0host=x\0\0version=2;echo\0", Some(ProtocolVersion::Original)),
            ("git-receive-pack /k1\0host=x\0", None),
            ("git-upload-archive /k1\0host=x\0", None),
            ("git-upload-pack /k2\0host=x\0", None),
            ("git-upload-pack /k1/../other\0host=x\0", None),
            ("git-upload-pack /k1", None),
            ("git-upload-pack --upload-pack=x /k1\0", None),
            ("", None),
            (&"x".repeat(2000), None),
        ] {
            assert_eq!(read(text).await, expected, "{text:?}");
        }
        for packet in ["0000", "0003", "zzzz", "+fff"] {
            let found = UploadPackRequest::read(&mut packet.as_bytes(), "k1").await;
            assert_eq!(found.ok().flatten(), None, "{packet}");
        }
    }
}
