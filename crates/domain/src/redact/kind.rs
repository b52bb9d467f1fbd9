//! What was recognised: the kinds of credential, their marks, and how many were found.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// What a credential was recognised as.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind { $($(#[$doc])* $variant,)+ }

        impl Kind {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name that stands in the mark and in metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the text that stands where the credential was.
            #[must_use]
            pub const fn marker(self) -> &'static str {
                match self { $(Self::$variant => concat!("[redacted:", $name, "]"),)+ }
            }
        }
    };
}

kinds! {
    /// User and password in front of a host.
    Url = "url",
    /// The value of something called a password, of any length.
    Password = "password",
    /// What follows `Authorization`, `Bearer` or `Basic`.
    Authorization = "authorization",
    Jwt = "jwt",
    PrivateKey = "private-key",
    /// A key with a provider's prefix: OpenAI, Anthropic, GitHub, GitLab, AWS, Google, Slack, Hugging Face, npm.
    ProviderKey = "provider-key",
    /// A service key, refresh token, invite, enrolment token or browser session of Guildhall.
    Guildhall = "guildhall",
    /// The value of something called a token, a secret or a key.
    Field = "field",
}

impl Kind {
    /// Returns the text without our marks: what is left of it may still be secret.
    pub(super) fn without_markers(text: &str) -> String {
        Self::ALL.iter().fold(text.to_owned(), |text, kind| text.replace(kind.marker(), ""))
    }

    /// Says whether a text is one of our marks and nothing else.
    pub(super) fn is_marker(text: &str) -> bool {
        Self::ALL.iter().any(|kind| kind.marker() == text)
    }
}

/// How many credentials of each kind were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts([u32; Kind::ALL.len()]);

impl Counts {
    #[must_use]
    pub fn of(&self, kind: Kind) -> u32 {
        self.0[kind as usize]
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Returns the kinds that were found, each with its number.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, u32)> + '_ {
        Kind::ALL.iter().map(|kind| (*kind, self.of(*kind))).filter(|(_, count)| *count > 0)
    }

    pub(super) fn add(&mut self, kind: Kind) {
        self.0[kind as usize] = self.0[kind as usize].saturating_add(1);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
}
