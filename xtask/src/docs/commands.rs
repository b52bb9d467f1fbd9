//! Every `guildhall` command in the documentation must exist, with its flags.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::console;
use super::markdown::Document;
use crate::command::{output, program};

/// The programs whose arguments are checked.
const PROGRAMS: [&str; 2] = ["guildhall", "guildhall-runner"];

/// Placeholders of ids, and the prefix of the id that takes their place: clap checks the form of an id.
const ID_PLACEHOLDERS: [(&str, &str); 6] = [
    ("RUN", "run"),
    ("SESSION", "ses"),
    ("COMMAND", "cmd"),
    ("KEY", "key"),
    ("APPROVAL", "apr"),
    ("RULE", "apl"),
];

/// Pages that name flags of other programs, of scripts beside them, or of earlier versions.
const PAGES_OF_OTHER_FLAGS: [&str; 4] = ["changes/", "examples/", "interop/", "sdks/"];

pub(super) fn check(documents: &[&Document]) -> Result<Vec<String>> {
    let flags = known_flags()?;
    let mut problems: Vec<String> =
        documents.iter().flat_map(|document| unknown_flags(document, &flags)).collect();
    for (invocation, place) in collect(documents) {
        if let Some(error) = usage_error(&invocation)? {
            problems.push(format!("{place}: `{}` is not a valid command: {error}", invocation.join(" ")));
        }
    }
    Ok(problems)
}

/// Returns each invocation of our programs in console blocks and code spans, with the first place where it occurs.
fn collect(documents: &[&Document]) -> BTreeMap<Vec<String>, String> {
    let mut found = BTreeMap::new();
    for document in documents {
        let steps = console::all_steps(document).into_iter().map(|step| (step.line, step.command));
        let spans = document.spans.iter().map(|span| (span.line, span.text.clone()));
        let mut commands: Vec<(usize, String)> = steps.chain(spans).collect();
        commands.sort();
        for (line, command) in commands {
            for invocation in invocations(&command) {
                found.entry(invocation).or_insert_with(|| document.at(line));
            }
        }
    }
    found
}

/// Returns why clap rejects an invocation. With `--help` at the end, nothing is executed and only unknown commands and
/// flags are errors.
fn usage_error(invocation: &[String]) -> Result<Option<String>> {
    let Some((name, args)) = invocation.split_first() else { return Ok(None) };
    let output = Command::new(program(name))
        .args(args.iter().map(|arg| fill_placeholder(arg)))
        .arg("--help")
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}"))?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let error = text.lines().next().unwrap_or("it fails").trim_start_matches("error: ");
    // A text may name a flag without its value.
    let is_flag_alone = error.starts_with("a value is required for ");
    Ok((!is_flag_alone).then(|| error.to_owned()))
}

/// Returns the flags of our programs and of `cargo xtask`.
fn known_flags() -> Result<BTreeSet<String>> {
    let help = [
        output(Command::new(program("guildhall")).arg("help-markdown"))?,
        output(Command::new(program("guildhall-runner")).arg("--help"))?,
    ];
    let mut flags: BTreeSet<String> = help.iter().flat_map(|text| flags_in(text)).collect();
    add_flags(&crate::arguments(), &mut flags);
    Ok(flags)
}

/// Returns the words that start with two dashes.
fn flags_in(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    words.filter(|word| word.len() > 2 && word.starts_with("--")).map(str::to_owned).collect()
}

fn add_flags(command: &clap::Command, flags: &mut BTreeSet<String>) {
    flags.extend(command.get_arguments().filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")));
    for command in command.get_subcommands() {
        add_flags(command, flags);
    }
}

/// Checks code spans that start with a flag. Whether a command has it is checked where the span is a command.
fn unknown_flags(document: &Document, known: &BTreeSet<String>) -> Vec<String> {
    if PAGES_OF_OTHER_FLAGS.iter().any(|folder| document.path.starts_with(folder)) {
        return Vec::new();
    }
    let spans = document.spans.iter().filter(|span| span.text.starts_with("--"));
    spans
        .filter_map(|span| Some((span.line, flags_in(&span.text).into_iter().next()?)))
        .filter(|(_, flag)| !known.contains(flag))
        .map(|(line, flag)| format!("{}: no program of ours has the flag `{flag}`", document.at(line)))
        .collect()
}

/// Replaces a placeholder such as `RUN` or `$RUN` by an id, and `AID` by a name.
fn fill_placeholder(arg: &str) -> String {
    let name = arg.trim_start_matches('$');
    if name == "AID" {
        return "alice.guild.example".to_owned();
    }
    let prefix = ID_PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == name);
    prefix.map_or_else(|| arg.to_owned(), |(_, prefix)| format!("{prefix}_{:032}", 0))
}

/// Returns the invocations of our programs in a shell command.
fn invocations(command: &str) -> Vec<Vec<String>> {
    simple_commands(command)
        .into_iter()
        .map(|words| words.into_iter().skip_while(|word| is_assignment(word)).collect::<Vec<String>>())
        .filter(|words| words.len() > 1 && PROGRAMS.contains(&words[0].as_str()))
        .collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    })
}

/// Splits a shell command at pipes, lists, redirections and command substitutions. Understands quotes and comments.
fn simple_commands(command: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (_, '$') if chars.peek() == Some(&'(') => {
                // What is substituted is not known; the command inside is checked by itself.
                chars.next();
                end_word(&mut commands, word.take());
                commands.push(Vec::new());
                quote = None;
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';' | '>' | '<' | '(' | ')') => {
                end_word(&mut commands, word.take());
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => end_word(&mut commands, word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut commands, word);
    commands
}

fn end_word(commands: &mut [Vec<String>], word: Option<String>) {
    if let (Some(command), Some(word)) = (commands.last_mut(), word) {
        command.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &str) -> Vec<Vec<String>> {
        invocations(command)
    }

    #[test]
    fn commands_in_pipes_lists_and_substitutions_are_found() {
        let expected = |args: &[&str]| args.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
        assert_eq!(
            words("echo x | guildhall profiles set codex > out && guildhall whoami # guildhall nothing"),
            [expected(&["guildhall", "profiles", "set", "codex"]), expected(&["guildhall", "whoami"])]
        );
        assert_eq!(
            words("GUILDHALL_LOG=x guildhall runs create \"tidy | up\" --watch"),
            [expected(&["guildhall", "runs", "create", "tidy | up", "--watch"])]
        );
        let substituted = words("RUN=$(guildhall runs ls --json | head -1)");
        assert_eq!(substituted, [expected(&["guildhall", "runs", "ls", "--json"])]);
    }

    #[test]
    fn wrong_commands_and_flags_are_usage_errors() {
        let error = |command: &str| usage_error(&words(command)[0]).unwrap();
        assert_eq!(error("guildhall runs ls --json"), None);
        assert_eq!(error("guildhall runs show $RUN"), None);
        assert_eq!(error("guildhall runs create --profile"), None);
        assert_eq!(error("guildhall runs ls --nope"), Some("unexpected argument '--nope' found".to_owned()));
        assert_eq!(error("guildhall runs lst"), Some("unrecognized subcommand 'lst'".to_owned()));
        assert_eq!(error("guildhall-runner --nope"), Some("unexpected argument '--nope' found".to_owned()));
    }

    #[test]
    fn flags_of_no_program_are_reported() {
        let known = known_flags().unwrap();
        let unknown = |path: &str, text: &str| unknown_flags(&Document::parse(path.to_owned(), text), &known);
        let right = "`--watch` `--config FILE` `--one-shot` `--no-run` `--` `--tool NAME=COMMAND`";
        assert_eq!(unknown("x.md", right), [""; 0]);
        let expected = ["x.md:2: no program of ours has the flag `--wach`"];
        assert_eq!(unknown("x.md", "`-x`\n`--wach=1`"), expected);
        assert_eq!(unknown("changes/x.md", "`--wach`"), [""; 0]);
    }

    #[test]
    fn placeholders_of_ids_become_ids() {
        assert_eq!(fill_placeholder("$RUN"), "run_00000000000000000000000000000000");
        assert_eq!(fill_placeholder("SESSION"), "ses_00000000000000000000000000000000");
        assert_eq!(fill_placeholder("AID"), "alice.guild.example");
        assert_eq!(fill_placeholder("PROFILE"), "PROFILE");
    }

    #[test]
    fn other_programs_and_bare_names_are_not_commands() {
        assert_eq!(words("cargo build && ls guildhall"), [[""; 0]; 0]);
        assert_eq!(words("guildhall"), [[""; 0]; 0]);
    }

    #[test]
    fn each_command_is_collected_once_with_its_first_place() {
        let text =
            "Use `guildhall runs ls`.\n\n```console,norun\n$ guildhall runs ls\n$ guildhall runs lst\n```\n";
        let document = Document::parse("x.md".to_owned(), text);
        let places: Vec<(String, String)> =
            collect(&[&document]).into_iter().map(|(words, place)| (words.join(" "), place)).collect();
        let place = |command: &str, at: &str| (command.to_owned(), at.to_owned());
        assert_eq!(places, [place("guildhall runs ls", "x.md:1"), place("guildhall runs lst", "x.md:5")]);
    }
}
