//! Deserializes a rate such as `30/60s`. An empty string means no limit.

use guildhall_domain::ops::rate::Rate;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

pub(super) fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Rate>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}
