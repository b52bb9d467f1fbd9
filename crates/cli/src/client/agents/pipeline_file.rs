//! Pipelines in files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;

#[derive(Args)]
pub(crate) struct PipelineArg {
    /// JSON file with the pipeline: `workers`, `context` and `enabledTools`
    #[arg(long, value_name = "FILE")]
    pipeline: Option<PathBuf>,
}

impl PipelineArg {
    /// Reads the file, if one was given.
    pub(crate) fn read(&self) -> Result<Option<Value>> {
        self.pipeline.as_deref().map(read_json).transpose()
    }
}

fn read_json(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not valid JSON", path.display()))
}
