//! Lists of what a tenant may name.

use std::fmt;

/// Names and patterns; what none of them matches is not allowed, so an empty list allows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList(Vec<Pattern>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    /// `*`
    Any,
    /// `acme/*`: everything that begins so. `acme*` would take in `acme-of-others`, too.
    Prefix(String),
    Exact(String),
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a pattern: {text:?}; use a name, `*`, or a beginning with one `*` at its end")]
pub struct InvalidPattern {
    pub text: String,
}

impl AllowList {
    /// Names shown in a refusal: enough to see what is meant, little enough for one line.
    const SHOWN: usize = 8;

    /// Reads the patterns of a configuration.
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
            Pattern::Prefix(beginning) => name.starts_with(beginning),
            Pattern::Exact(exact) => name == exact,
        })
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let (beginning, star) = text.strip_suffix('*').map_or((text, false), |beginning| (beginning, true));
        match (beginning, star) {
            ("", true) => Ok(Self::Any),
            ("", false) => Err(InvalidPattern { text: text.to_owned() }),
            (inner, _) if inner.contains('*') => Err(InvalidPattern { text: text.to_owned() }),
            (beginning, true) => Ok(Self::Prefix(beginning.to_owned())),
            (exact, false) => Ok(Self::Exact(exact.to_owned())),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Prefix(beginning) => write!(f, "{beginning}*"),
            Self::Exact(exact) => f.write_str(exact),
        }
    }
}

impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (place, pattern) in self.0.iter().take(Self::SHOWN).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{pattern}")?;
        }
        match self.0.len().saturating_sub(Self::SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_allowed_by_itself_by_its_beginning_or_by_a_star() {
        let list = AllowList::parse(["acme/*", "other/one"]).expect("patterns");
        let allowed = ["acme/a", "acme/a/b", "other/one", "acme", "acme-of-others/a", "other/one2", "Acme/a"];
        assert_eq!(allowed.map(|name| list.allows(name)), [true, true, true, false, false, false, false]);
        assert!(AllowList::any().allows("whatever") && !AllowList::default().allows("whatever"));
    }

    #[test]
    fn a_star_elsewhere_is_refused_rather_than_taken_for_a_name() {
        for text in ["", "a*b", "*a", "**", "a**"] {
            assert_eq!(AllowList::parse([text]), Err(InvalidPattern { text: text.to_owned() }));
        }
    }

    #[test]
    fn a_long_list_is_shown_in_one_line() {
        assert_eq!(AllowList::default().to_string(), "nothing");
        let list = AllowList::parse((0..10).map(|number| format!("p{number}"))).expect("patterns");
        assert_eq!(list.to_string(), "p0, p1, p2, p3, p4, p5, p6, p7 and 2 more");
    }
}
