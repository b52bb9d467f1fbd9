//! JSON pointers (RFC 6901).

use std::fmt;

/// A place in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pointer(String);

impl Pointer {
    /// Returns the whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Parses a pointer, such as a validator reports it.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Returns the place of a member.
    #[must_use]
    pub fn key(&self, name: &str) -> Self {
        Self(format!("{}/{}", self.0, name.replace('~', "~0").replace('/', "~1")))
    }

    /// Returns the place of an element.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// Returns the place that a pointer leads to from here.
    #[must_use]
    pub fn join(&self, relative: &str) -> Self {
        Self(format!("{}{relative}", self.0))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_of_keys_are_escaped() {
        let pointer = Pointer::root().key("a/b~c").index(3).key("");
        assert_eq!(pointer.as_str(), "/a~1b~0c/3/");
        let document = serde_json::json!({ "a/b~c": [0, 1, 2, { "": "here" }] });
        assert_eq!(document.pointer(pointer.as_str()), Some(&serde_json::json!("here")));
    }
}
