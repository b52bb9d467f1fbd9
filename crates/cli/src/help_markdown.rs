//! `guildhall help-markdown`: the reference of all commands in Markdown, generated from clap's command tree.

use anyhow::Result;
use clap::{Arg, ArgAction, Command};

use crate::output::print_line;

pub(crate) fn run(command: Command) -> Result<()> {
    print_line(render(command).trim_end())?;
    Ok(())
}

/// Renders a command and all its visible subcommands. The output depends on the command tree only.
fn render(mut command: Command) -> String {
    // Fills in the usage lines and the names of subcommands.
    command.build();
    let mut text = String::new();
    let name = command.get_name().to_owned();
    render_command(&mut command, &[name], &mut text);
    text
}

fn render_command(command: &mut Command, path: &[String], out: &mut String) {
    // `guildhall` is level 1, `guildhall runs` level 2, `guildhall runs create` level 3.
    out.push_str(&format!("{} {}\n\n", "#".repeat(path.len()), path.join(" ")));
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        out.push_str(&format!("{}.\n\n", escape(&about.to_string())));
    }
    out.push_str(&format!("```text\n{}\n```\n\n", usage(command)));
    render_list("Commands", visible_subcommands(command).map(|it| subcommand_item(it, path)), out);
    let visible = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help" && arg.get_id() != "version";
    render_list("Arguments", command.get_positionals().filter(visible).map(argument_item), out);
    let options = command.get_arguments().filter(|arg| !arg.is_positional());
    render_list("Options", options.filter(visible).map(argument_item), out);
    if let Some(help) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        out.push_str(&format!("```text\n{help}\n```\n\n"));
    }
    for subcommand in command.get_subcommands_mut().filter(|it| is_visible(it)) {
        let path = [path, &[subcommand.get_name().to_owned()]].concat();
        render_command(subcommand, &path, out);
    }
}

fn render_list(title: &str, items: impl Iterator<Item = String>, out: &mut String) {
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        out.push_str(&format!("{title}:\n\n{}\n\n", items.join("\n")));
    }
}

fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|it| is_visible(it))
}

/// The generated `help` command is left out: every command has `--help`.
fn is_visible(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn usage(command: &mut Command) -> String {
    let usage = command.render_usage().to_string();
    usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned()
}

fn subcommand_item(command: &Command, path: &[String]) -> String {
    let name = format!("{} {}", path.join(" "), command.get_name());
    let about = command.get_about().map(|about| format!(": {}", escape(&about.to_string())));
    format!("- [`{name}`](#{}){}", name.replace(' ', "-"), about.unwrap_or_default())
}

fn argument_item(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map(|help| escape(&help.to_string()));
    let mut notes = Vec::new();
    let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    let values = if takes_value { arg.get_possible_values() } else { Vec::new() };
    let values: Vec<_> =
        values.iter().filter(|value| !value.is_hide_set()).map(|it| code(it.get_name())).collect();
    if !values.is_empty() {
        notes.push(format!("values: {}", values.join(", ")));
    }
    let defaults: Vec<_> = arg.get_default_values().iter().map(|it| code(&it.to_string_lossy())).collect();
    if takes_value && !defaults.is_empty() {
        notes.push(format!("default: {}", defaults.join(", ")));
    }
    if let Some(variable) = arg.get_env() {
        notes.push(format!("environment variable: {}", code(&variable.to_string_lossy())));
    }
    if !arg.is_positional() && arg.is_required_set() {
        notes.push("required".to_owned());
    }
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("- {}{}{notes}", code(&syntax(arg)), help.map(|help| format!(": {help}")).unwrap_or_default())
}

/// Returns the argument as in help texts, such as `-n, --lines <NUMBER>`.
fn syntax(arg: &Arg) -> String {
    let flags =
        [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let flags = flags.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let (open, close) = if arg.is_positional() && !arg.is_required_set() { ('[', ']') } else { ('<', '>') };
    let names = arg.get_value_names().unwrap_or_default().iter();
    let names = names.map(|name| format!("{open}{name}{close}"));
    let values = names.collect::<Vec<_>>().join(" ");
    let takes_value = arg.is_positional() || matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    match (flags.is_empty(), takes_value) {
        (true, _) => values,
        (false, true) => format!("{flags} {values}"),
        (false, false) => flags,
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Escapes `<` and `|`, and joins lines, so that help texts stay one paragraph.
fn escape(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ").replace('<', "\\<").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::Arguments;

    /// Returns the full names of all commands, with whether they are visible.
    fn all_commands(command: &Command, path: &str, visible: bool, found: &mut Vec<(String, bool)>) {
        for subcommand in command.get_subcommands() {
            let path = format!("{path} {}", subcommand.get_name());
            let visible = visible && !subcommand.is_hide_set();
            found.push((path.clone(), visible));
            all_commands(subcommand, &path, visible, found);
        }
    }

    #[test]
    fn reference_has_every_visible_command_and_no_hidden_one() {
        let text = render(Arguments::command());
        let mut commands = vec![("guildhall".to_owned(), true)];
        all_commands(&Arguments::command(), "guildhall", true, &mut commands);
        assert!(commands.len() > 40, "{commands:?}");
        for (name, visible) in commands {
            let has_heading = text.lines().any(|line| line.trim_start_matches('#').trim() == name);
            assert_eq!(has_heading, visible, "{name}");
        }
    }

    #[test]
    fn every_command_and_argument_has_a_help_text() {
        fn check(command: &Command, path: &str) {
            assert!(command.get_about().is_some(), "{path} has no help text");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{path}: {} has no help text", arg.get_id());
            }
            for subcommand in command.get_subcommands() {
                check(subcommand, &format!("{path} {}", subcommand.get_name()));
            }
        }
        check(&Arguments::command(), "guildhall");
    }

    #[test]
    fn arguments_show_values_default_environment_and_required() {
        #[derive(Parser)]
        #[command(name = "tool", about = "Do it")]
        struct Tool {
            /// Input file
            file: String,
            /// Number of lines
            #[arg(short, long, value_name = "NUMBER", default_value_t = 20, env = "TOOL_LINES")]
            lines: u32,
            /// Colour <mode>
            #[arg(long, value_parser = ["auto", "never"], required = true)]
            colour: String,
            /// Print JSON
            #[arg(long)]
            json: bool,
        }
        insta::assert_snapshot!(render(Tool::command()).trim_end(), @r"
        # tool

        Do it.

        ```text
        tool [OPTIONS] --colour <COLOUR> <FILE>
        ```

        Arguments:

        - `<FILE>`: Input file

        Options:

        - `-l, --lines <NUMBER>`: Number of lines (default: `20`; environment variable: `TOOL_LINES`)
        - `--colour <COLOUR>`: Colour \<mode> (values: `auto`, `never`; required)
        - `--json`: Print JSON
        ");
    }
}
