//! Several words: a TOML list, or words divided by commas in the environment, where there are no lists.

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    List(Vec<String>),
    Words(String),
}

pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Written::deserialize(deserializer)? {
        Written::List(list) => list,
        Written::Words(words) => {
            words.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        }
    })
}
