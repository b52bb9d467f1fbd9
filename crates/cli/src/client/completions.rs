//! `guildhall completions`.

use anyhow::Result;
use clap::{Args, Command, ValueEnum};
use clap_complete::{Shell, generate};

use crate::output::line;

const EXAMPLES: &str = "Examples:
  source <(guildhall completions bash)
  guildhall completions zsh > ~/.zfunc/_guildhall
  guildhall completions fish > ~/.config/fish/completions/guildhall.fish";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionsArgs {
    shell: ForShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum ForShell {
    Bash,
    Zsh,
    Fish,
}

pub(crate) fn run(args: &CompletionsArgs, mut command: Command) -> Result<()> {
    let shell = match args.shell {
        ForShell::Bash => Shell::Bash,
        ForShell::Zsh => Shell::Zsh,
        ForShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, "guildhall", &mut script);
    line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(())
}
