//! Pipelines in requests.

use guildhall_domain::agents::pipeline::Pipeline;
use serde_json::Value;

use crate::edge::error::ApiError;
use crate::edge::input::parse_part;

/// Parses the pipeline of a request. Its size and counts are checked by the service.
pub(super) fn parse(value: Option<Value>) -> Result<Option<Pipeline>, ApiError> {
    value.map(|value| parse_part("pipeline", value)).transpose()
}
