//! Metrics of the process in the Prometheus text format.

use std::sync::OnceLock;

use metrics::{describe_counter, describe_gauge, describe_histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

/// Latency buckets in seconds: from a cached response to the request timeout.
const LATENCY_BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Metrics are per process: two servers in one test process share them.
static INSTALLED: OnceLock<PrometheusHandle> = OnceLock::new();

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// The description of a metric, shown as its `HELP` line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricDescription {
    pub name: &'static str,
    pub kind: MetricKind,
    pub meaning: &'static str,
}

/// Descriptions, and the buckets of histograms that do not have those of a request.
#[derive(Debug, Clone, Default)]
pub struct MetricsOptions {
    pub descriptions: Vec<MetricDescription>,
    pub buckets: &'static [(&'static str, &'static [f64])],
}

/// Renders the metrics of this process.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Starts collecting, once per process.
    pub fn install(options: &MetricsOptions) -> Result<Self, BuildError> {
        if let Some(handle) = INSTALLED.get() {
            return Ok(Self(handle.clone()));
        }
        let mut builder = PrometheusBuilder::new().set_buckets(&LATENCY_BUCKETS)?;
        for (name, buckets) in options.buckets {
            builder = builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), buckets)?;
        }
        let recorder = builder.build_recorder();
        let handle = INSTALLED.get_or_init(|| recorder.handle()).clone();
        if metrics::set_global_recorder(recorder).is_ok() {
            Collector::default().describe();
            options.descriptions.iter().for_each(describe);
        }
        Ok(Self(handle))
    }

    /// Returns all metrics as text.
    #[must_use]
    pub fn render(&self) -> String {
        Collector::default().collect();
        self.0.run_upkeep();
        self.0.render()
    }
}

fn describe(metric: &MetricDescription) {
    match metric.kind {
        MetricKind::Counter => describe_counter!(metric.name, metric.meaning),
        MetricKind::Gauge => describe_gauge!(metric.name, metric.meaning),
        MetricKind::Histogram => describe_histogram!(metric.name, metric.meaning),
    }
}
