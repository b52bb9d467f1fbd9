//! A macro for enums whose variants have a fixed name in the database, on the wire and in the docs.

/// An unknown enum name. The input is not repeated, because it is untrusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind}: expected one of {}", .known.join(", "))]
pub struct UnknownName {
    pub kind: &'static str,
    pub known: &'static [&'static str],
}

/// Defines an enum with one stored and transmitted name per variant.
macro_rules! named_enum {
    (
        $(#[$doc:meta])* $type:ident, $kind:literal;
        $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $type { $($(#[$variant_doc])* $variant,)+ }

        impl $type {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the stored and transmitted name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Parses a name. There is no default: an unknown name is an error.
            pub fn from_name(name: &str) -> Result<Self, $crate::named_enum::UnknownName> {
                match name {
                    $($name => Ok(Self::$variant),)+
                    _ => Err($crate::named_enum::UnknownName { kind: $kind, known: &[$($name,)+] }),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::from_name(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use named_enum;
