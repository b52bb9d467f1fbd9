//! The descriptions of the metrics, taken from their documentation.

use guildhall_runtime::telemetry::metrics::{MetricDescription, MetricKind, Metrics, MetricsOptions};

use crate::start_error::StartError;

const DOCUMENTATION: &str = include_str!("../../../docs/reference/metrics.md");

/// Turns take from seconds to `runs.turn_timeout` (30 min by default).
const TURN_BUCKETS: &[f64] = &[1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0];

/// A model answers within seconds, a reasoning one within minutes.
const FIRST_TOKEN_BUCKETS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0];

/// Powers of two up to the largest group.
const GROUP_BUCKETS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

const BUCKETS: &[(&str, &[f64])] = &[
    ("guildhall_command_seconds", TURN_BUCKETS),
    ("guildhall_first_token_seconds", FIRST_TOKEN_BUCKETS),
    ("guildhall_journal_group_appends", GROUP_BUCKETS),
];

/// Starts collecting metrics, once per process.
pub(crate) fn install() -> Result<Metrics, StartError> {
    Metrics::install(&options()).map_err(|error| StartError::Metrics(Box::new(error)))
}

fn options() -> MetricsOptions {
    MetricsOptions { descriptions: DOCUMENTATION.lines().filter_map(parse_row).collect(), buckets: BUCKETS }
}

/// Parses a row of the table: name, type, labels, meaning.
fn parse_row(line: &'static str) -> Option<MetricDescription> {
    let cells: Vec<&'static str> =
        line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let [name, kind, _labels, meaning] = cells[..] else { return None };
    let kind = match kind {
        "counter" => MetricKind::Counter,
        "gauge" => MetricKind::Gauge,
        "histogram" => MetricKind::Histogram,
        _ => return None,
    };
    Some(MetricDescription { name: name.trim_matches('`'), kind, meaning })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_documentation_is_a_description() {
        let rows = DOCUMENTATION.lines().filter(|line| line.starts_with("| `guildhall_")).count();
        let options = options();
        assert_eq!((options.descriptions.len(), rows > 30), (rows, true));
        let expected = MetricDescription {
            name: "guildhall_http_connections",
            kind: MetricKind::Gauge,
            meaning: "open connections",
        };
        assert!(options.descriptions.contains(&expected));
        for (name, _) in BUCKETS {
            let kind = options.descriptions.iter().find(|it| it.name == *name).map(|it| it.kind);
            assert_eq!(kind, Some(MetricKind::Histogram), "{name}");
        }
    }
}
