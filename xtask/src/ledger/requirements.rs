//! The requirements of docs/ledger.md.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

/// A requirement id, such as `R9` or `M17a`. The order of the fields is the sort order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RequirementId {
    letter: char,
    index: u16,
    part: Option<char>,
}

impl FromStr for RequirementId {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        parse(text).with_context(|| format!("`{text}` is not a requirement id: write one like R9 or M17a"))
    }
}

fn parse(text: &str) -> Option<RequirementId> {
    let letter = text.chars().next().filter(char::is_ascii_uppercase)?;
    let rest = &text[1..];
    let part = rest.chars().last().filter(char::is_ascii_lowercase);
    let digits = &rest[..rest.len() - usize::from(part.is_some())];
    // One spelling for each id, so that a search finds every claim of it.
    let canonical = digits.chars().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
    let index = digits.parse().ok().filter(|_| canonical)?;
    Some(RequirementId { letter, index, part })
}

impl fmt::Display for RequirementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.index)?;
        self.part.map_or(Ok(()), |part| write!(f, "{part}"))
    }
}

/// Starts the line below a requirement that says why it is not claimed.
const NOT_CLAIMED: &str = "  Not claimed: ";

/// The requirements, in the sections of docs/ledger.md.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) sections: Vec<Section>,
}

/// The requirements of one letter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) letter: char,
    pub(super) title: String,
    pub(super) requirements: BTreeMap<RequirementId, String>,
    /// Why a requirement is not claimed, where that is a decision.
    pub(super) unclaimed: BTreeMap<RequirementId, String>,
}

impl Ledger {
    /// Reads `## M. Title` headings, `- **M1** statement` lines, and `  Not claimed: reason` below a statement; other text
    /// is ignored.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut sections: Vec<Section> = Vec::new();
        let mut last = None;
        for (line, at) in text.lines().zip(1..) {
            let position = || format!("{}:{at}", super::LEDGER);
            if let Some(title) = line.strip_prefix("## ") {
                sections.push(Section::parse(title).with_context(position)?);
            } else if line.starts_with("- ") {
                let section = sections
                    .last_mut()
                    .context("a requirement precedes the first heading")
                    .with_context(position)?;
                last = Some(section.add(line).with_context(position)?);
            } else if let Some(reason) = line.strip_prefix(NOT_CLAIMED) {
                let below = last.zip(sections.last_mut());
                let (id, section) =
                    below.context("a reason precedes the first requirement").with_context(position)?;
                section.unclaimed.insert(id, reason.to_owned());
            }
        }
        ensure!(!sections.is_empty(), "{} has no headings like `## M. Title`", super::LEDGER);
        Ok(Self { sections })
    }

    pub(super) fn contains(&self, id: RequirementId) -> bool {
        self.sections.iter().any(|section| section.requirements.contains_key(&id))
    }

    /// Returns the number of requirements.
    pub(super) fn total(&self) -> usize {
        self.sections.iter().map(|section| section.requirements.len()).sum()
    }
}

impl Section {
    fn parse(title: &str) -> anyhow::Result<Self> {
        let letter = title
            .split_once(". ")
            .and_then(|(letter, _)| letter.parse().ok())
            .filter(char::is_ascii_uppercase)
            .with_context(|| format!("`{title}` is not a heading like `M. Title`"))?;
        Ok(Self {
            letter,
            title: title.to_owned(),
            requirements: BTreeMap::new(),
            unclaimed: BTreeMap::new(),
        })
    }

    fn add(&mut self, line: &str) -> anyhow::Result<RequirementId> {
        let (id, statement) = line
            .strip_prefix("- **")
            .and_then(|rest| rest.split_once("** "))
            .context("a requirement has the form `- **M1** statement`")?;
        let id: RequirementId = id.parse()?;
        ensure!(id.letter == self.letter, "{id} is under the heading of {}", self.letter);
        if self.requirements.insert(id, statement.trim().to_owned()).is_some() {
            bail!("{id} is defined twice");
        }
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> RequirementId {
        text.parse().unwrap()
    }

    #[test]
    fn ids_sort_by_number_then_part() {
        let mut ids = ["R10", "M17b", "R2", "M18", "M17a", "M16", "M2"].map(id);
        ids.sort();
        assert_eq!(ids, ["M2", "M16", "M17a", "M17b", "M18", "R2", "R10"].map(id));
    }

    #[test]
    fn id_has_one_spelling() {
        for wrong in ["", "R", "r9", "9", "R09", "R+9", "R9A", "R9ab", "R 9", "RR9", "R99999", "É1", "Ré"] {
            assert!(wrong.parse::<RequirementId>().is_err(), "{wrong} was accepted");
        }
        assert_eq!(id("M17a").to_string(), "M17a");
    }

    #[test]
    fn parse_groups_requirements_by_section() {
        let text = "# L\n\nprose\n\n## R. Runs\n\n- **R10** ten\n  Not claimed: too much\n- **R2** two\n";
        let ledger = Ledger::parse(text).unwrap();
        let requirements = BTreeMap::from([(id("R2"), "two".to_owned()), (id("R10"), "ten".to_owned())]);
        let unclaimed = BTreeMap::from([(id("R10"), "too much".to_owned())]);
        let runs = Section { letter: 'R', title: "R. Runs".to_owned(), requirements, unclaimed };
        assert_eq!(ledger, Ledger { sections: vec![runs] });
    }

    #[test]
    fn invalid_ledger_is_an_error_with_its_line() {
        for (text, message) in [
            ("## R. Runs\n  Not claimed: x\n", "docs/ledger.md:2: a reason precedes the first requirement"),
            ("- **R1** early\n", "docs/ledger.md:1: a requirement precedes the first heading"),
            (
                "## R. Runs\n- R1 no stars\n",
                "docs/ledger.md:2: a requirement has the form `- **M1** statement`",
            ),
            ("## R. Runs\n- **A1** stray\n", "docs/ledger.md:2: A1 is under the heading of R"),
            ("## R. Runs\n- **R1** a\n- **R1** b\n", "docs/ledger.md:3: R1 is defined twice"),
            ("## Runs\n", "docs/ledger.md:1: `Runs` is not a heading like `M. Title`"),
        ] {
            assert_eq!(format!("{:#}", Ledger::parse(text).unwrap_err()), message);
        }
    }
}
