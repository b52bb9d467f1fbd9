//! Whether a JSON text is clean: the walk of [`super::redact_json`] without making the value.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::json::{is_secret, secret_name};
use super::{Kind, redact};

/// Says whether [`super::redact_json`] would find nothing in a JSON text. None where it cannot be read as a value.
#[must_use]
pub fn is_clean(json: &str) -> Option<bool> {
    let mut found = false;
    let mut reader = serde_json::Deserializer::from_str(json);
    let read = Walk { named: None, found: &mut found }.deserialize(&mut reader);
    match read.and_then(|()| reader.end()) {
        Ok(()) => Some(true),
        Err(_) if found => Some(false),
        Err(_) => None,
    }
}

/// One value of the text. The first credential ends the walk.
struct Walk<'a> {
    named: Option<Kind>,
    found: &'a mut bool,
}

impl Walk<'_> {
    fn weigh<E: Error>(self, is_secret: bool) -> Result<(), E> {
        *self.found |= is_secret;
        if is_secret { Err(E::custom("a credential")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let named = self.named;
        self.weigh(is_secret(text, named))
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Walk { named: self.named, found: self.found })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(named) = entries.next_key_seed(Name(self.found))? {
            entries.next_value_seed(Walk { named: named.or(self.named), found: self.found })?;
        }
        Ok(())
    }
}

/// A name: what it says of its value, unless it is a credential itself.
struct Name<'a>(&'a mut bool);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<Kind>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Kind>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<Kind>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<Kind>, E> {
        if redact(name).found.is_empty() {
            return Ok(secret_name(name));
        }
        *self.0 = true;
        Err(E::custom("a credential"))
    }
}
