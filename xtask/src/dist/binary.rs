//! What a program needs of the system that it runs on.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::command::output;

/// Libraries that every Linux with glibc has.
const LIBC_FAMILY: [&str; 8] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
];

/// The shared libraries and the glibc of some programs.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct BinaryRequirements {
    pub(super) libraries: BTreeSet<String>,
    /// The second number of the newest version of glibc that a symbol needs.
    glibc_minor: u32,
}

impl BinaryRequirements {
    /// Adds those of a program.
    pub(super) fn add(&mut self, program: &Path) -> Result<()> {
        self.add_headers(&output(Command::new("objdump").arg("-p").arg(program))?);
        Ok(())
    }

    /// Reads what `objdump -p` prints.
    fn add_headers(&mut self, headers: &str) {
        let words = headers.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        for words in words {
            if let ["NEEDED", library] = words[..] {
                self.libraries.insert(library.to_owned());
            }
            let version = words.last().and_then(|word| word.strip_prefix("GLIBC_2."));
            let minor = version.and_then(|version| version.split('.').next()?.parse().ok());
            self.glibc_minor = self.glibc_minor.max(minor.unwrap_or(0));
        }
    }

    pub(super) fn glibc_minor(&self) -> u32 {
        self.glibc_minor
    }

    /// Fails if a system of the supported age does not have what they need.
    pub(super) fn check(&self, max_glibc_minor: u32) -> Result<()> {
        let other: Vec<&String> =
            self.libraries.iter().filter(|name| !LIBC_FAMILY.contains(&name.as_str())).collect();
        ensure!(other.is_empty(), "the programs need libraries other than those of libc: {other:?}");
        ensure!(
            self.glibc_minor <= max_glibc_minor,
            "the programs need glibc 2.{}, newer than 2.{max_glibc_minor}: build them on an older system",
            self.glibc_minor
        );
        Ok(())
    }
}

impl fmt::Display for BinaryRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let libraries: Vec<&str> = self.libraries.iter().map(String::as_str).collect();
        write!(f, "glibc 2.{} or newer; libraries: {}", self.glibc_minor, libraries.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: &str = "Dynamic Section:\n  NEEDED               libgcc_s.so.1\n  NEEDED               libc.so.6\n\
        Version References:\n  required from libc.so.6:\n    0x0d696914 0x00 08 GLIBC_2.4\n\
        \n    0x06969194 0x00 07 GLIBC_2.34\n    0x09691a75 0x00 02 GLIBC_2.2.5\n";

    #[test]
    fn libraries_and_newest_glibc_are_read() {
        let mut found = BinaryRequirements::default();
        found.add_headers(HEADERS);
        assert_eq!(found.to_string(), "glibc 2.34 or newer; libraries: libc.so.6, libgcc_s.so.1");
        found.check(34).expect("all of libc");
        let newer = found.check(33).expect_err("too new").to_string();
        assert!(newer.starts_with("the programs need glibc 2.34, newer than 2.33"), "{newer}");
        found.add_headers("  NEEDED               libssl.so.3\n");
        let other = found.check(34).expect_err("not libc").to_string();
        assert!(other.ends_with("[\"libssl.so.3\"]"), "{other}");
    }
}
