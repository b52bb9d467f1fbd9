//! What pages say, and what the demo agent answers.

use guildhall_testkit::Rounds;

/// Words of an answer; the demo agent sends forty a second.
const MAX_WORDS: usize = 100;

/// A message of the user.
#[derive(Debug)]
pub(super) enum PagePrompt {
    /// The agent repeats it word by word.
    Echo(String),
    /// The agent prints the word with a tool.
    Print(String),
}

impl PagePrompt {
    pub(super) fn random(rounds: &mut Rounds) -> Self {
        if rounds.random_index(3) == 0 {
            return Self::Print(format!("{:x}", rounds.random()));
        }
        let words = (0..20 + rounds.random_index(MAX_WORDS)).map(|word| format!("w{word}"));
        Self::Echo(words.collect::<Vec<_>>().join(" "))
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Echo(words) => format!("echo:{words}"),
            Self::Print(word) => format!("run:printf {word}"),
        }
    }

    /// Returns role and content of the messages of the turn.
    pub(super) fn expected_messages(&self) -> Vec<(&'static str, String)> {
        let user = ("user", self.text());
        match self {
            Self::Echo(words) => vec![user, ("assistant", format!("Echo: {words}"))],
            Self::Print(word) => vec![
                user,
                ("assistant", "I run what you gave me.".to_owned()),
                ("assistant", format!("{{\"command\":\"printf {word}\"}}")),
                ("tool", word.clone()),
                ("assistant", "It ended with 0.".to_owned()),
            ],
        }
    }
}
