//! Where a browser goes after a sign-in: somewhere on this server, and nowhere else.

use std::fmt;
use std::str::FromStr;

/// A path on this server, with its query. Whoever reads it as an address ends on this server, also a browser that
/// takes a backslash for a slash and leaves out what cannot be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnPath(String);

/// A text that leads elsewhere, or may. It is not repeated: it is a stranger's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a path on this server: one slash at its beginning, at most {} visible ASCII characters, no backslash and no #",
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
        let visible = text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\' && b != b'#');
        let one_slash = text.starts_with('/') && !text.starts_with("//");
        if visible && one_slash && text.len() <= Self::MAX_LENGTH {
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
    fn paths_of_this_server_pass_and_ways_out_do_not() {
        for inside in
            ["/", "/console/runs?tenant=acme&x=https://example.org", "/@evil.example", "/.//evil.example"]
        {
            assert_eq!(inside.parse::<ReturnPath>().map(|path| path.to_string()), Ok(inside.to_owned()));
        }
        for out in [
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
            assert_eq!(out.parse::<ReturnPath>(), Err(InvalidReturnPath), "{out:?}");
        }
        assert!(format!("/{}", "a".repeat(1024)).parse::<ReturnPath>().is_err());
    }

    proptest! {
        #[test]
        fn what_passes_stays_on_the_server_however_it_is_joined(text in "/[/\\\\@:.?#\t\r\n a-z%2fF]{0,12}") {
            if let Ok(path) = text.parse::<ReturnPath>() {
                let base = Url::parse("https://guildhall.example.org").expect("an address");
                prop_assert_eq!(base.join(path.as_str()).expect("joins").origin(), base.origin());
                let written = Url::parse(&format!("https://guildhall.example.org{path}")).expect("an address");
                prop_assert_eq!(written.origin(), base.origin());
            }
        }
    }
}
