//! Kinds of credentials, their markers, and counts.

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// Kind of a recognised credential.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CredentialKind { $($(#[$doc])* $variant,)+ }

        impl CredentialKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name in markers and metrics.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the text that replaces the credential.
            #[must_use]
            pub const fn marker(self) -> &'static str {
                match self { $(Self::$variant => concat!("[redacted:", $name, "]"),)+ }
            }
        }
    };
}

kinds! {
    /// User and password in a URL.
    Url = "url",
    /// The value of a password field, of any length.
    Password = "password",
    /// The value after `Authorization`, `Bearer` or `Basic`.
    Authorization = "authorization",
    Jwt = "jwt",
    PrivateKey = "private-key",
    /// A key with a provider's prefix: OpenAI, Anthropic, GitHub, GitLab, AWS, Google, Slack, Hugging Face, npm.
    ProviderKey = "provider-key",
    /// A service key, refresh token, invite, enrolment token or browser session of Guildhall.
    Guildhall = "guildhall",
    /// The value of a token, secret or key field.
    Field = "field",
}

impl CredentialKind {
    /// Returns the text without markers; the rest may still be secret.
    pub(super) fn without_markers(text: &str) -> String {
        Self::ALL.iter().fold(text.to_owned(), |text, kind| text.replace(kind.marker(), ""))
    }

    /// Returns whether a text is exactly one marker.
    pub(super) fn is_marker(text: &str) -> bool {
        Self::ALL.iter().any(|kind| kind.marker() == text)
    }
}

/// Number of replaced credentials per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RedactionCounts([u32; CredentialKind::ALL.len()]);

impl RedactionCounts {
    #[must_use]
    pub fn get(&self, kind: CredentialKind) -> u32 {
        self.0[kind as usize]
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// Returns the kinds with a count above zero.
    pub fn iter(&self) -> impl Iterator<Item = (CredentialKind, u32)> + '_ {
        CredentialKind::ALL.iter().map(|kind| (*kind, self.get(*kind))).filter(|(_, count)| *count > 0)
    }

    pub(super) fn add(&mut self, kind: CredentialKind) {
        self.0[kind as usize] = self.0[kind as usize].saturating_add(1);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(other);
        }
    }
}
