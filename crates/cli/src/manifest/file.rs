//! Manifests in files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use guildhall_domain::agents::manifest::document::MAX_TEXT_BYTES;
use guildhall_domain::agents::manifest::finding::{Findings, Severity};
use guildhall_protocol::manifest::{CheckedManifest, check};

/// Reads the text of a manifest, which is bounded.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let context = || format!("cannot read {}", path.display());
    let file = File::open(path).with_context(context)?;
    let mut text = String::new();
    let limit = u64::try_from(MAX_TEXT_BYTES)?.saturating_add(1);
    file.take(limit).read_to_string(&mut text).with_context(context)?;
    if text.len() > MAX_TEXT_BYTES {
        bail!("{} is no manifest: it has more than {MAX_TEXT_BYTES} bytes", path.display());
    }
    Ok(text)
}

/// Reads a manifest that has to be valid.
pub(super) fn read_valid(path: &Path) -> Result<CheckedManifest> {
    check(&read_text(path)?).map_err(|findings| {
        let path = path.display();
        let count = count(&findings, Severity::Error);
        anyhow::anyhow!(
            "{path} is not a valid manifest: {count}\n  next: `guildhall manifest lint {path}` shows them"
        )
    })
}

/// Returns the number of findings in words, such as `2 errors`.
pub(super) fn count(findings: &Findings, severity: Severity) -> String {
    let count = findings.as_slice().iter().filter(|finding| finding.rule.severity() == severity).count();
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {severity}{plural}")
}
