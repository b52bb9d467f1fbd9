//! Allow lists of names.

use std::fmt;

/// A list of names and patterns. A name that matches none of them is not allowed; an empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// `*`
    Any,
    /// `acme/*`: every name with this prefix. `acme*` would also match `acme-of-others`.
    Prefix(String),
    Exact(String),
}

/// A malformed pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid pattern {text:?}: use a name, `*`, or a prefix followed by `*`")]
pub struct InvalidPattern {
    pub text: String,
}

impl AllowList {
    /// Maximum patterns in an error message, so that it fits on one line.
    const MAX_DISPLAYED: usize = 8;

    /// Parses configured patterns.
    pub fn parse<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Result<Self, InvalidPattern> {
        patterns.into_iter().map(|text| Pattern::parse(text.as_ref())).collect::<Result<_, _>>().map(Self)
    }

    /// Returns the list that allows everything.
    #[must_use]
    pub fn any() -> Self {
        Self(vec![Pattern::Any])
    }

    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| match pattern {
            Pattern::Any => true,
            Pattern::Prefix(prefix) => name.starts_with(prefix),
            Pattern::Exact(exact) => name == exact,
        })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let (prefix, star) = text.strip_suffix('*').map_or((text, false), |prefix| (prefix, true));
        match (prefix, star) {
            ("", true) => Ok(Self::Any),
            ("", false) => Err(InvalidPattern { text: text.to_owned() }),
            (inner, _) if inner.contains('*') => Err(InvalidPattern { text: text.to_owned() }),
            (prefix, true) => Ok(Self::Prefix(prefix.to_owned())),
            (exact, false) => Ok(Self::Exact(exact.to_owned())),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Prefix(prefix) => write!(f, "{prefix}*"),
            Self::Exact(exact) => f.write_str(exact),
        }
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (index, pattern) in self.0.iter().take(Self::MAX_DISPLAYED).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{pattern}")?;
        }
        match self.0.len().saturating_sub(Self::MAX_DISPLAYED) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_prefixes_and_star_match() {
        let list = AllowList::parse(["acme/*", "other/one"]).expect("patterns");
        let allowed = ["acme/a", "acme/a/b", "other/one", "acme", "acme-of-others/a", "other/one2", "Acme/a"];
        assert_eq!(allowed.map(|name| list.allows(name)), [true, true, true, false, false, false, false]);
        assert!(AllowList::any().allows("whatever") && !AllowList::default().allows("whatever"));
    }

    #[test]
    fn star_in_another_position_is_rejected() {
        for text in ["", "a*b", "*a", "**", "a**"] {
            assert_eq!(AllowList::parse([text]), Err(InvalidPattern { text: text.to_owned() }));
        }
    }

    #[test]
    fn long_list_is_shortened_for_display() {
        assert_eq!(AllowList::default().to_string(), "nothing");
        let list = AllowList::parse((0..10).map(|number| format!("p{number}"))).expect("patterns");
        assert_eq!(list.to_string(), "p0, p1, p2, p3, p4, p5, p6, p7 and 2 more");
    }
}
