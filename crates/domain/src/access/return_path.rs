//! Redirect target after a browser sign-in: always a path on this server.

use std::fmt;
use std::str::FromStr;

/// A path on this server, with its query. It cannot lead to another host, even in browsers that treat a backslash as a
/// slash or drop invisible characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPath(String);

/// A path that is invalid or may leave this server. The input is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a path on this server: start with a single slash, at most {} visible ASCII characters, no backslash and no #",
    ReturnPath::MAX_LENGTH
)]
pub struct InvalidReturnPath;

impl ReturnPath {
    pub const MAX_LENGTH: usize = 1024;

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ReturnPath {
    fn default() -> Self {
        Self("/".to_owned())
    }
}

impl FromStr for ReturnPath {
    type Err = InvalidReturnPath;

    fn from_str(text: &str) -> Result<Self, InvalidReturnPath> {
        let is_visible = text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\' && b != b'#');
        let has_single_slash = text.starts_with('/') && !text.starts_with("//");
        if is_visible && has_single_slash && text.len() <= Self::MAX_LENGTH {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidReturnPath)
        }
    }
}

impl fmt::Display for ReturnPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    #[test]
    fn local_paths_are_accepted_and_external_targets_rejected() {
        for inside in
            ["/", "/console/runs?tenant=acme&x=https://example.org", "/@evil.example", "/.//evil.example"]
        {
            assert_eq!(inside.parse::<ReturnPath>().map(|path| path.to_string()), Ok(inside.to_owned()));
        }
        for outside in [
            "",
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/\t/evil.example",
            "/\r\nset-cookie: a=b",
            " /",
            "evil.example",
            "javascript:alert(1)",
            "/é",
            "/a#b",
        ] {
            assert_eq!(outside.parse::<ReturnPath>(), Err(InvalidReturnPath), "{outside:?}");
        }
        assert!(format!("/{}", "a".repeat(1024)).parse::<ReturnPath>().is_err());
    }

    proptest! {
        #[test]
        fn accepted_path_stays_on_the_server(text in "/[/\\\\@:.?#\t\r\n a-z%2fF]{0,12}") {
            if let Ok(path) = text.parse::<ReturnPath>() {
                let base = Url::parse("https://guildhall.example.org").expect("a URL");
                prop_assert_eq!(base.join(path.as_str()).expect("joins").origin(), base.origin());
                let written = Url::parse(&format!("https://guildhall.example.org{path}")).expect("a URL");
                prop_assert_eq!(written.origin(), base.origin());
            }
        }
    }
}
