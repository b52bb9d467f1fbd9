//! Allow lists of names.

use std::fmt;

/// A list of names and patterns. A name that matches none of them is not allowed; an empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
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
#[error("invalid pattern {text:?}: use a name, `*`, or a prefix followed by `*`, without control characters")]
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
        self.0.iter().any(|pattern| pattern.matches(name))
    }

    /// Returns the list of names that both lists allow.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        let mut both: Vec<Pattern> = Vec::new();
        for pattern in self.0.iter().flat_map(|own| other.0.iter().filter_map(|other| own.intersect(other))) {
            if !both.contains(pattern) {
                both.push(pattern.clone());
            }
        }
        Self(both)
    }

    /// Returns the patterns as text.
    pub fn patterns(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Pattern::to_string)
    }
}

impl TryFrom<Vec<String>> for AllowList {
    type Error = InvalidPattern;

    fn try_from(patterns: Vec<String>) -> Result<Self, InvalidPattern> {
        Self::parse(patterns)
    }
}

impl From<AllowList> for Vec<String> {
    fn from(list: AllowList) -> Self {
        list.patterns().collect()
    }
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Prefix(prefix) => name.starts_with(prefix),
            Self::Exact(exact) => name == exact,
        }
    }

    /// Returns the pattern of the names that both match: always the narrower of the two. `None` if there are no names.
    fn intersect<'a>(&'a self, other: &'a Self) -> Option<&'a Self> {
        match (self, other) {
            (Self::Any, _) => Some(other),
            (_, Self::Any) => Some(self),
            (Self::Prefix(_), Self::Prefix(longer) | Self::Exact(longer)) if self.matches(longer) => {
                Some(other)
            }
            (Self::Prefix(longer) | Self::Exact(longer), Self::Prefix(_)) if other.matches(longer) => {
                Some(self)
            }
            (Self::Exact(own), Self::Exact(exact)) if own == exact => Some(self),
            (Self::Prefix(_) | Self::Exact(_), Self::Prefix(_) | Self::Exact(_)) => None,
        }
    }

    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let (prefix, star) = text.strip_suffix('*').map_or((text, false), |prefix| (prefix, true));
        match (prefix, star) {
            ("", true) => Ok(Self::Any),
            ("", false) => Err(InvalidPattern { text: text.to_owned() }),
            (inner, _) if inner.contains('*') || inner.contains(char::is_control) => {
                Err(InvalidPattern { text: text.to_owned() })
            }
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
    fn star_in_another_position_and_control_characters_are_rejected() {
        for text in ["", "a*b", "*a", "**", "a**", "a\nb"] {
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
