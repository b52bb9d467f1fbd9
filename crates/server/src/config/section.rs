//! A configuration section as data: its fields with their doc comments and defaults.

/// One section of the configuration.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub name: &'static str,
    pub about: &'static [&'static str],
    pub fields: &'static [Field],
}

/// One key of a section.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub about: &'static [&'static str],
    /// The default as TOML text.
    pub default: &'static str,
    pub kind: &'static str,
}

impl Field {
    /// Returns whether the value is a secret and must not be shown.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        self.kind == "SecretString"
    }
}

impl Section {
    /// Returns a field's full key, such as `http.listen`.
    #[must_use]
    pub fn key(&self, field: &Field) -> String {
        format!("{}.{}", self.name, field.name)
    }

    /// Returns the environment variable that sets a field, such as `GUILDHALL_HTTP_LISTEN`.
    #[must_use]
    pub fn variable(&self, field: &Field) -> String {
        format!("{}{}", self.variable_prefix(), field.name.to_ascii_uppercase())
    }

    #[must_use]
    pub fn variable_prefix(&self) -> String {
        format!("GUILDHALL_{}_", self.name.to_ascii_uppercase())
    }
}

/// Defines a section: a struct to deserialize into, and the same fields as data.
macro_rules! section {
    (
        $(#[doc = $about:literal])+
        $name:ident = $key:literal {
            $( $(#[doc = $doc:literal])+ $(#[serde($($serde:tt)+)])? $field:ident: $kind:ty = $default:literal; )+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])+ $(#[serde($($serde)+)])? pub $field: $kind, )+
        }

        impl $name {
            pub const SECTION: $crate::config::Section = $crate::config::Section {
                name: $key,
                about: &[$($about),+],
                fields: &[$(
                    $crate::config::Field {
                        name: stringify!($field),
                        about: &[$($doc),+],
                        default: $default,
                        kind: stringify!($kind),
                    },
                )+],
            };
        }
    };
}

pub(crate) use section;
