//! The numbers of docs/ledger.md and what they ask for.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

/// A requirement's number, such as `R9` or `M17a`. Fields stand in the order in which numbers sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number {
    letter: char,
    index: u16,
    part: Option<char>,
}

impl FromStr for Number {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        parse(text)
            .with_context(|| format!("`{text}` is not a number of the ledger: write one like R9 or M17a"))
    }
}

fn parse(text: &str) -> Option<Number> {
    let letter = text.chars().next().filter(char::is_ascii_uppercase)?;
    let rest = &text[1..];
    let part = rest.chars().last().filter(char::is_ascii_lowercase);
    let digits = &rest[..rest.len() - usize::from(part.is_some())];
    // One spelling for each number, so that a search finds every claim of it.
    let canonical = digits.chars().all(|digit| digit.is_ascii_digit()) && !digits.starts_with('0');
    let index = digits.parse().ok().filter(|_| canonical)?;
    Some(Number { letter, index, part })
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.letter, self.index)?;
        self.part.map_or(Ok(()), |part| write!(f, "{part}"))
    }
}

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
    pub(super) points: BTreeMap<Number, String>,
}

impl Ledger {
    /// Reads `## M. Title` headings and `- **M1** statement` lines; other text is for people.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut sections: Vec<Section> = Vec::new();
        for (line, at) in text.lines().zip(1..) {
            let place = || format!("{}:{at}", super::LEDGER);
            if let Some(title) = line.strip_prefix("## ") {
                sections.push(Section::parse(title).with_context(place)?);
            } else if line.starts_with("- ") {
                let section = sections
                    .last_mut()
                    .context("a point stands above the first heading")
                    .with_context(place)?;
                section.add(line).with_context(place)?;
            }
        }
        ensure!(!sections.is_empty(), "{} has no headings like `## M. Title`", super::LEDGER);
        Ok(Self { sections })
    }

    pub(super) fn contains(&self, number: Number) -> bool {
        self.sections.iter().any(|section| section.points.contains_key(&number))
    }

    /// Counts every point.
    pub(super) fn total(&self) -> usize {
        self.sections.iter().map(|section| section.points.len()).sum()
    }
}

impl Section {
    fn parse(title: &str) -> anyhow::Result<Self> {
        let letter = title
            .split_once(". ")
            .and_then(|(letter, _)| letter.parse().ok())
            .filter(char::is_ascii_uppercase)
            .with_context(|| format!("`{title}` is not a heading like `M. Title`"))?;
        Ok(Self { letter, title: title.to_owned(), points: BTreeMap::new() })
    }

    fn add(&mut self, line: &str) -> anyhow::Result<()> {
        let (number, statement) = line
            .strip_prefix("- **")
            .and_then(|rest| rest.split_once("** "))
            .context("a point has the form `- **M1** statement`")?;
        let number: Number = number.parse()?;
        ensure!(number.letter == self.letter, "{number} stands under the heading of {}", self.letter);
        if self.points.insert(number, statement.trim().to_owned()).is_some() {
            bail!("{number} stands here a second time");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_sort_as_people_count() {
        let mut numbers = ["R10", "M17b", "R2", "M18", "M17a", "M16", "M2"].map(number);
        numbers.sort();
        assert_eq!(numbers, ["M2", "M16", "M17a", "M17b", "M18", "R2", "R10"].map(number));
    }

    #[test]
    fn a_number_has_one_spelling() {
        for wrong in ["", "R", "r9", "9", "R09", "R+9", "R9A", "R9ab", "R 9", "RR9", "R99999", "É1", "Ré"] {
            assert!(wrong.parse::<Number>().is_err(), "{wrong} was taken");
        }
        assert_eq!(number("M17a").to_string(), "M17a");
    }

    #[test]
    fn points_are_read_with_their_section() {
        let ledger = Ledger::parse("# L\n\nprose\n\n## R. Runs\n\n- **R10** ten\n- **R2** two\n").unwrap();
        let points = BTreeMap::from([(number("R2"), "two".to_owned()), (number("R10"), "ten".to_owned())]);
        let runs = Section { letter: 'R', title: "R. Runs".to_owned(), points };
        assert_eq!(ledger, Ledger { sections: vec![runs] });
    }

    #[test]
    fn a_faulty_ledger_is_refused_with_its_line() {
        for (faulty, said) in [
            ("- **R1** early\n", "docs/ledger.md:1: a point stands above the first heading"),
            ("## R. Runs\n- R1 no stars\n", "docs/ledger.md:2: a point has the form `- **M1** statement`"),
            ("## R. Runs\n- **A1** stray\n", "docs/ledger.md:2: A1 stands under the heading of R"),
            ("## R. Runs\n- **R1** a\n- **R1** b\n", "docs/ledger.md:3: R1 stands here a second time"),
            ("## Runs\n", "docs/ledger.md:1: `Runs` is not a heading like `M. Title`"),
        ] {
            assert_eq!(format!("{:#}", Ledger::parse(faulty).unwrap_err()), said);
        }
    }
}
