//! Which command runs for which tool.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::RunArgs;
use crate::error::UsageError;

/// Tools of one guard.
const MAX_TOOLS: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolFile {
    tools: BTreeMap<String, String>,
}

/// Parses `NAME=COMMAND`.
pub(super) fn parse_tool(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && !command.trim().is_empty() => {
            Ok((name.to_owned(), command.to_owned()))
        }
        Some(_) | None => Err("expected NAME=COMMAND"),
    }
}

/// Returns the commands of the arguments and of the file.
pub(super) fn commands(args: &RunArgs) -> Result<BTreeMap<String, String>> {
    let mut tools = args.file.as_deref().map(read).transpose()?.unwrap_or_default();
    tools.extend(args.tools.iter().cloned());
    if tools.is_empty() {
        return Err(UsageError("no tool: use --tool NAME=COMMAND or --file FILE").into());
    }
    if tools.len() > MAX_TOOLS {
        return Err(UsageError("more than 200 tools").into());
    }
    Ok(tools)
}

fn read(file: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let parsed: ToolFile =
        toml::from_str(&text).with_context(|| format!("{} has no valid table [tools]", file.display()))?;
    Ok(parsed.tools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_a_name_and_a_command() {
        let parsed = parse_tool("read_file=cat a=b");
        assert_eq!(parsed, Ok(("read_file".to_owned(), "cat a=b".to_owned())));
        for text in ["read_file", "=cat", "read_file= ", ""] {
            assert!(parse_tool(text).is_err(), "{text}");
        }
    }
}
