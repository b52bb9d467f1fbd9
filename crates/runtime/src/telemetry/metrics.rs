//! Metrics of the process in the Prometheus text format.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{BuildError, PrometheusBuilder, PrometheusHandle};
use metrics_process::Collector;

/// Latency buckets in seconds: from a cached response to the request timeout.
const LATENCY_BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Metrics are per process: two servers in one test process share them.
static INSTALLED: OnceLock<PrometheusHandle> = OnceLock::new();

/// Renders the metrics of this process.
#[derive(Debug, Clone)]
pub struct Metrics(PrometheusHandle);

impl Metrics {
    /// Starts collecting, once per process.
    pub fn install() -> Result<Self, BuildError> {
        if let Some(handle) = INSTALLED.get() {
            return Ok(Self(handle.clone()));
        }
        let recorder = PrometheusBuilder::new().set_buckets(&LATENCY_BUCKETS)?.build_recorder();
        let handle = INSTALLED.get_or_init(|| recorder.handle()).clone();
        if metrics::set_global_recorder(recorder).is_ok() {
            Collector::default().describe();
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
