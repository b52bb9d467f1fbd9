use guildhall_runtime::telemetry::LogFormat;

use super::section::section;

section! {
    /// Logs and traces. Metrics are always at /metrics.
    Telemetry = "telemetry" {
        /// What to log, such as `info` or `warn,guildhall_api=debug`.
        log_filter: String = "\"info\"";
        /// text or json.
        log_format: LogFormat = "\"text\"";
        /// Where spans are sent by OTLP over HTTP, such as `http://127.0.0.1:4318/v1/traces`; empty sends none.
        otlp_endpoint: String = "\"\"";
    }
}
