//! Ids of messages and tool calls. Agents use the same ids in every turn, so ours start with the command.

use guildhall_domain::ids::CommandId;

/// Longest part of an agent's id that is kept, as in results.
const MAX_ITEM_CHARS: usize = 64;

/// What an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IdKind {
    User,
    Text,
    Reasoning,
    Call,
    CallResult,
}

/// Returns the id of the n-th use of an agent's item: `{command}:{kind}{n}:{item}`. The number stands before the item,
/// whose text is free.
pub(super) fn item_id(command: CommandId, kind: IdKind, number: u32, item: &str) -> String {
    let kind = match kind {
        IdKind::User => 'u',
        IdKind::Text => 't',
        IdKind::Reasoning => 'r',
        IdKind::Call => 'c',
        IdKind::CallResult => 'o',
    };
    format!("{command}:{kind}{number}:{item}")
}

/// Returns the command that a message id of ours names. Other ids are the client's own.
#[must_use]
pub fn command_of(message_id: &str) -> Option<CommandId> {
    message_id.split_once(':')?.0.parse().ok()
}

/// Returns the name of an item as it is used in ids.
pub(super) fn item_name(item: &str) -> String {
    item.chars().take(MAX_ITEM_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_names_its_command() {
        let command = CommandId::generate();
        assert_eq!(command_of(&item_id(command, IdKind::Text, 1, "a:b")), Some(command));
        assert_eq!(command_of("f3a1c0de-0000-4000-8000-000000000001"), None);
        assert_eq!(command_of("main:1"), None);
    }
}
