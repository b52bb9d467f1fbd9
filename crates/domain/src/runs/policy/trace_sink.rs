//! Where a run's trace goes.

use std::fmt;
use std::str::FromStr;

use super::profile::is_slug;

/// Where a run's trace is sent besides the journal. The field must be there: `null` says that no one else gets it.
///
/// A sink is named and never addressed: the server sends only to places that its operator configured.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum TraceSink {
    Nowhere,
    Named(SinkName),
}

/// The name of a configured sink.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct SinkName(String);

/// A text that is no sink's name. It is not repeated: a URL may carry a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a trace sink: use null, or the name of a configured sink in lower-case letters, digits and dashes; never a URL"
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

// Written by hand because serde takes a missing field for null wherever it is asked for an option, and would repeat
// a value that is no sink.
impl<'de> serde::Deserialize<'de> for TraceSink {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Null => Ok(Self::Nowhere),
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
    fn the_field_must_be_there_and_may_be_null() {
        let missing = serde_json::from_value::<Body>(json!({})).expect_err("missing");
        assert_eq!(missing.to_string(), "missing field `traceSink`");
        for body in [json!({ "traceSink": null }), json!({ "traceSink": "lab-otlp" })] {
            let read: Body = serde_json::from_value(body.clone()).expect("a sink");
            assert_eq!(serde_json::to_value(read).expect("json"), body);
        }
    }

    #[test]
    fn an_address_is_refused_and_not_repeated() {
        for sink in [json!("https://u:pw@sink.example"), json!({ "url": "https://sink.example" }), json!(1)] {
            let error = serde_json::from_value::<TraceSink>(sink).expect_err("no name");
            assert_eq!(error.to_string(), InvalidSink.to_string());
        }
    }
}
