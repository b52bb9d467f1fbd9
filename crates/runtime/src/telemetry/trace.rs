//! W3C trace context: joins a request to its caller's trace, and returns the trace in every response.

use std::collections::HashMap;
use std::fmt;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The trace of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace_id: TraceId,
    span_id: SpanId,
    sampled: bool,
}

impl TraceContext {
    /// Joins `span` to the trace of a `traceparent` header, or starts a new trace. An invalid header is ignored, as the
    /// W3C recommendation requires.
    #[must_use]
    pub fn from_traceparent(span: &Span, traceparent: Option<&str>) -> Self {
        let remote = traceparent.and_then(parse);
        if let Some(remote) = &remote {
            let parent = opentelemetry::Context::new().with_remote_span_context(remote.clone());
            // Fails only without an exporter; then the ids are generated below.
            let _no_exporter = span.set_parent(parent);
        }
        let exported = span.context().span().span_context().clone();
        if exported.is_valid() {
            return Self {
                trace_id: exported.trace_id(),
                span_id: exported.span_id(),
                sampled: exported.is_sampled(),
            };
        }
        let ids = RandomIdGenerator::default();
        Self {
            trace_id: remote.as_ref().map_or_else(|| ids.new_trace_id(), SpanContext::trace_id),
            span_id: ids.new_span_id(),
            sampled: remote.is_some_and(|remote| remote.is_sampled()),
        }
    }

    /// Returns the trace id as 32 hexadecimal digits: the `traceId` of failure bodies and logs.
    #[must_use]
    pub fn trace_id(&self) -> String {
        self.trace_id.to_string()
    }
}

/// Formats the outgoing `traceparent` header.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace_id, self.span_id, u8::from(self.sampled))
    }
}

fn parse(traceparent: &str) -> Option<SpanContext> {
    let carrier = HashMap::from([("traceparent".to_owned(), traceparent.to_owned())]);
    let context =
        TraceContextPropagator::new().extract_with_context(&opentelemetry::Context::new(), &carrier);
    let found = context.span().span_context().clone();
    // The vendor state is neither read nor forwarded.
    found.is_valid().then(|| {
        let flags = if found.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        SpanContext::new(found.trace_id(), found.span_id(), flags, true, TraceState::NONE)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn valid_traceparent_gives_the_same_trace_and_a_new_span() {
        let joined = TraceContext::from_traceparent(&Span::none(), Some(PARENT));
        assert_eq!(joined.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        let out = joined.to_string();
        assert!(out.ends_with("-01") && !out.contains("00f067aa0ba902b7"), "{out}");
    }

    proptest! {
        #[test]
        fn any_header_gives_a_valid_trace(header in "\\PC{0,60}") {
            let out = TraceContext::from_traceparent(&Span::none(), Some(&header)).to_string();
            prop_assert!(parse(&out).is_some(), "{out}");
        }
    }
}
