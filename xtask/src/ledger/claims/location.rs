//! Derives the test binary and the module path of a file's tests from the path of the file.

use std::path::Path;

use anyhow::Context;

use super::TestId;

/// The test binary and the modules of one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestLocation {
    binary: String,
    modules: Vec<String>,
}

impl TestLocation {
    /// Returns the location of `file` in the crate at `crate_dir`; none for the sources of a binary.
    pub(super) fn of(crate_dir: &Path, file: &Path) -> anyhow::Result<Option<Self>> {
        let manifest = crate_dir.join("Cargo.toml");
        let text = super::read(&manifest)?;
        let package =
            package_name(&text).with_context(|| format!("{} has no package name", manifest.display()))?;
        let inside = file
            .strip_prefix(crate_dir)
            .with_context(|| format!("{} is outside of its crate", file.display()))?;
        Ok(Self::at(package, inside))
    }

    /// Derives the location from the path of the file inside its crate.
    fn at(package: &str, inside: &Path) -> Option<Self> {
        let stem = inside.with_extension("");
        let parts: Vec<&str> = stem.iter().filter_map(|part| part.to_str()).collect();
        let (binary, parts) = match parts.as_slice() {
            ["src", "main"] | ["src", "bin", ..] => return None,
            ["src", rest @ ..] => (package.to_owned(), rest),
            ["tests", binary, rest @ ..] => (format!("{package}::{binary}"), rest),
            _ => return None,
        };
        let modules = match parts {
            ["lib" | "main"] => &[],
            [folders @ .., "mod"] => folders,
            whole => whole,
        };
        Some(Self { binary, modules: modules.iter().map(|&name| name.to_owned()).collect() })
    }

    /// Returns the nextest name of `function` in the inline modules `inline` of the file.
    pub(super) fn test<'a>(&'a self, inline: impl Iterator<Item = &'a str>, function: &'a str) -> TestId {
        let path: Vec<&str> =
            self.modules.iter().map(String::as_str).chain(inline).chain([function]).collect();
        TestId { binary: self.binary.clone(), path: path.join("::") }
    }
}

/// Reads `name` of the `[package]` table, which needs no TOML parser.
fn package_name(manifest: &str) -> Option<&str> {
    let package = manifest.lines().skip_while(|line| line.trim() != "[package]").skip(1);
    package
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('='))
        .find(|(key, _)| key.trim() == "name")
        .map(|(_, value)| value.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_path_gives_binary_and_modules() {
        for (file, function) in [
            ("src/lib.rs", Some("guildhall-x f")),
            ("src/failure.rs", Some("guildhall-x failure::f")),
            ("src/telemetry/mod.rs", Some("guildhall-x telemetry::f")),
            ("src/telemetry/trace.rs", Some("guildhall-x telemetry::trace::f")),
            ("tests/it/main.rs", Some("guildhall-x::it f")),
            ("tests/it/layers.rs", Some("guildhall-x::it layers::f")),
            ("tests/it/http/mod.rs", Some("guildhall-x::it http::f")),
            ("tests/it/http/runs.rs", Some("guildhall-x::it http::runs::f")),
            ("tests/alone.rs", Some("guildhall-x::alone f")),
            ("src/main.rs", None),
            ("src/bin/tool.rs", None),
        ] {
            let location = TestLocation::at("guildhall-x", Path::new(file));
            let named = location.map(|location| location.test([].into_iter(), "f").to_string());
            assert_eq!(named.as_deref(), function, "{file}");
        }
    }

    #[test]
    fn package_name_is_read_from_the_package_table() {
        let manifest = "[lib]\nname = \"other\"\n\n[package]\nversion = \"1\"\nname = \"guildhall-x\"\n\n[[bin]]\nname = \"b\"\n";
        assert_eq!(package_name(manifest), Some("guildhall-x"));
        assert_eq!(package_name("[package]\nversion = \"1\"\n[[bin]]\nname = \"b\"\n"), None);
    }
}
