use guildhall_runtime::telemetry::LogFormat;

use super::section::section;

section! {
    /// Logs and traces. Metrics are always available at /metrics.
    Telemetry = "telemetry" {
        /// Log filter, such as `info` or `warn,guildhall_api=debug`.
        log_filter: String = "\"info\"";
        /// Log format: text or json.
        log_format: LogFormat = "\"text\"";
        /// OTLP/HTTP endpoint for spans, such as `http://127.0.0.1:4318/v1/traces`. Empty: spans are not exported.
        otlp_endpoint: String = "\"\"";
    }
}
