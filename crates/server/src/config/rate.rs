//! Deserializes rates such as `30/60s` and `64GiB/24h`. An empty string means no limit.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub(super) fn rate<'de, D, R>(deserializer: D) -> Result<Option<R>, D::Error>
where
    D: Deserializer<'de>,
    R: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}
