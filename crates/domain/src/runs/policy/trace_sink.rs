//! Destination of a run's trace.

use std::fmt;
use std::str::FromStr;

use super::profile::is_slug;

/// Destination of a run's trace in addition to the journal. The field is required; `null` means no other destination.
///
/// A sink is a name and never a URL: the server sends traces only to sinks in its configuration.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum TraceSink {
    None,
    Named(SinkName),
}

/// The name of a configured sink.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct SinkName(String);

/// A malformed sink name. The input is not repeated, because a URL may contain a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid trace sink: use null or the name of a configured sink (lower-case letters, digits and dashes), not a URL"
)]
pub struct InvalidSink;

impl SinkName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SinkName {
    type Err = InvalidSink;

    fn from_str(text: &str) -> Result<Self, InvalidSink> {
        if is_slug(text) { Ok(Self(text.to_owned())) } else { Err(InvalidSink) }
    }
}

impl fmt::Display for SinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// Written by hand, because serde treats a missing optional field as null and repeats invalid values in its errors.
impl<'de> serde::Deserialize<'de> for TraceSink {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => Ok(Self::None),
            serde_json::Value::String(text) => {
                text.parse().map(Self::Named).map_err(serde::de::Error::custom)
            }
            serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => Err(serde::de::Error::custom(InvalidSink)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Body {
        trace_sink: TraceSink,
    }

    // covers: R4
    #[test]
    fn field_is_required_and_can_be_null() {
        let missing = serde_json::from_value::<Body>(json!({})).expect_err("missing");
        assert_eq!(missing.to_string(), "missing field `traceSink`");
        for body in [json!({ "traceSink": null }), json!({ "traceSink": "lab-otlp" })] {
            let read: Body = serde_json::from_value(body.clone()).expect("a sink");
            assert_eq!(serde_json::to_value(read).expect("json"), body);
        }
    }

    #[test]
    fn url_is_rejected_and_not_repeated() {
        for sink in [json!("https://u:pw@sink.example"), json!({ "url": "https://sink.example" }), json!(1)] {
            let error = serde_json::from_value::<TraceSink>(sink).expect_err("no name");
            assert_eq!(error.to_string(), InvalidSink.to_string());
        }
    }
}
