//! `guildhall completions`.

use anyhow::Result;
use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};
use guildhall_protocol::rpc::Method;

use crate::output::print_line;

const EXAMPLES: &str = "Examples:
  source <(guildhall completions bash)
  guildhall completions zsh > ~/.zfunc/_guildhall
  guildhall completions fish > ~/.config/fish/completions/guildhall.fish";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    /// Shell to print the script for
    shell: ShellArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum ShellArg {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let shell = match args.shell {
        ShellArg::Bash => Shell::Bash,
        ShellArg::Zsh => Shell::Zsh,
        ShellArg::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "guildhall", &mut script);
    let mut script = String::from_utf8_lossy(&script).trim_end().to_owned();
    if let ShellArg::Fish = args.shell {
        script.push_str(&fish_methods());
    }
    print_line(&script)?;
    Ok(())
}

/// Returns the line that completes the methods of `guildhall rpc`: the generator for fish completes options alone.
fn fish_methods() -> String {
    let names: Vec<&str> = Method::ALL.iter().map(|method| method.spec().name).collect();
    format!(
        "\ncomplete -c guildhall -n \"__fish_guildhall_using_subcommand rpc\" -f -a \"{}\"",
        names.join(" ")
    )
}
