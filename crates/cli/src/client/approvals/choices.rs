//! What a person can type at the prompt of a question.

use guildhall_domain::approvals::question::OptionEffect;
use guildhall_protocol::rest::approvals::question::OptionBody;

use super::question_text::format_option;

/// The answers to a question, as they are typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choices {
    /// One option that allows and does nothing else, and one that denies.
    AllowOrDeny { allow: OptionBody, deny: OptionBody },
    /// Any other options, chosen by number.
    Numbered(Vec<OptionBody>),
}

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedChoice {
    Option(OptionBody),
    /// The same, for the same action in this session from now on.
    Remembered(OptionBody),
    /// The whole question again.
    Details,
    Unknown,
}

impl Choices {
    pub(super) fn of(options: &[OptionBody]) -> Self {
        let is = |option: &OptionBody, effect: OptionEffect| {
            option.effect == effect.as_str() && !option.changes_mode
        };
        match options {
            [allow, deny] if is(allow, OptionEffect::Allow) && is(deny, OptionEffect::Deny) => {
                Self::AllowOrDeny { allow: allow.clone(), deny: deny.clone() }
            }
            [deny, allow] if is(allow, OptionEffect::Allow) && is(deny, OptionEffect::Deny) => {
                Self::AllowOrDeny { allow: allow.clone(), deny: deny.clone() }
            }
            _ => Self::Numbered(options.to_vec()),
        }
    }

    /// Returns the list of options, if they are chosen by number.
    pub(super) fn list(&self) -> Option<String> {
        match self {
            Self::AllowOrDeny { .. } => None,
            Self::Numbered(options) => {
                let lines = (1..)
                    .zip(options)
                    .map(|(number, option)| format!("{number:>3}  {}", format_option(option)));
                Some(lines.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Returns the text before the cursor. It fits on one line.
    pub(super) fn prompt(&self) -> String {
        match self {
            Self::AllowOrDeny { .. } => {
                "Allow it? y once, a always in this session, n denies it, d shows details: ".to_owned()
            }
            Self::Numbered(options) => format!("Choose 1 to {}; d shows details: ", options.len()),
        }
    }

    /// Parses a typed line. Nothing is an answer unless it is typed: an empty line chooses nothing.
    pub(super) fn parse(&self, line: &str) -> TypedChoice {
        let typed = line.trim().to_lowercase();
        if ["d", "details"].contains(&typed.as_str()) {
            return TypedChoice::Details;
        }
        if let Self::AllowOrDeny { allow, .. } = self
            && ["a", "always"].contains(&typed.as_str())
        {
            return TypedChoice::Remembered(allow.clone());
        }
        let option = match self {
            Self::AllowOrDeny { allow, deny } => match typed.as_str() {
                "y" | "yes" => Some(allow),
                "n" | "no" => Some(deny),
                _ => None,
            },
            Self::Numbered(options) => {
                typed.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?))
            }
        };
        option.cloned().map_or(TypedChoice::Unknown, TypedChoice::Option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn option(id: &str, effect: &str, changes_mode: bool) -> OptionBody {
        OptionBody {
            id: id.to_owned(),
            label: format!("Label of {id}\u{1b}"),
            effect: effect.to_owned(),
            changes_mode,
        }
    }

    #[test]
    fn plain_question_is_answered_with_y_or_n_in_any_order_of_options() {
        let (allow, deny) = (option("accept", "allow", false), option("decline", "deny", false));
        for options in [[allow.clone(), deny.clone()], [deny.clone(), allow.clone()]] {
            let choices = Choices::of(&options);
            assert_eq!((choices.list(), choices.parse("1")), (None, TypedChoice::Unknown));
            for (line, expected) in [
                ("y\n", TypedChoice::Option(allow.clone())),
                (" YES ", TypedChoice::Option(allow.clone())),
                ("n\n", TypedChoice::Option(deny.clone())),
                ("no", TypedChoice::Option(deny.clone())),
                ("D\n", TypedChoice::Details),
                ("\n", TypedChoice::Unknown),
                ("yn", TypedChoice::Unknown),
                ("accept", TypedChoice::Unknown),
            ] {
                assert_eq!(choices.parse(line), expected, "{line:?}");
            }
        }
    }

    #[test]
    fn other_options_are_listed_and_chosen_by_number() {
        let options =
            [option("once", "allow", false), option("mode", "allow", true), option("no", "deny", false)];
        let choices = Choices::of(&options);
        insta::assert_snapshot!(choices.list().expect("a list"), @r"
        1  Label of once\u{1b} (allow)
        2  Label of mode\u{1b} (allow; also changes the mode of the agent's session)
        3  Label of no\u{1b} (deny)
        ");
        assert_eq!(choices.prompt(), "Choose 1 to 3; d shows details: ");
        assert_eq!(choices.parse("2"), TypedChoice::Option(options[1].clone()));
        for line in ["0", "4", "y", "", "-1", "1 2"] {
            assert_eq!(choices.parse(line), TypedChoice::Unknown, "{line:?}");
        }
    }

    #[test]
    fn option_that_changes_the_mode_is_not_a_plain_yes() {
        let options = [option("yes", "allow", true), option("no", "deny", false)];
        assert_eq!(Choices::of(&options), Choices::Numbered(options.to_vec()));
        assert_eq!(Choices::of(&options[1..]), Choices::Numbered(options[1..].to_vec()));
    }
}
