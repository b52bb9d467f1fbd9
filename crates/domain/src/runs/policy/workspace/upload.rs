//! Git bundles that callers upload as workspaces.

use super::InvalidWorkspace;
use crate::runs::policy::{PolicyViolation, RequestField};

/// Bytes of a part of an upload, except the last one. In JSON it fits into a request of the default size.
pub const BUNDLE_PART_BYTES: u64 = 1024 * 1024;

/// Larger than any limit that makes sense, so that the number of parts is small.
const MAX_SIZE: u64 = 1 << 40;

/// A Git bundle that the caller uploads in parts after it created the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedBundle {
    size_bytes: u64,
    sha256: String,
}

/// How much may be uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BundleLimits {
    /// Bytes of one bundle; 0 allows none.
    pub max_bytes: u64,
    /// Bytes of all bundles of a tenant at a time.
    pub max_tenant_bytes: u64,
}

impl UploadedBundle {
    /// Checks the size and the digest: 64 lower-case hexadecimal digits.
    pub fn new(size_bytes: u64, sha256: String) -> Result<Self, InvalidWorkspace> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if sha256.len() != 64 || !sha256.bytes().all(is_digit) {
            return Err(InvalidWorkspace::BundleDigest);
        }
        if (1..=MAX_SIZE).contains(&size_bytes) {
            Ok(Self { size_bytes, sha256 })
        } else {
            Err(InvalidWorkspace::BundleSize)
        }
    }

    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the number of parts.
    #[must_use]
    pub const fn parts(&self) -> u64 {
        self.size_bytes.div_ceil(BUNDLE_PART_BYTES)
    }

    /// Returns the size of a part, counted from 0; `None` if there is no such part.
    #[must_use]
    pub fn part_bytes(&self, number: u64) -> Option<u64> {
        let start = number.checked_mul(BUNDLE_PART_BYTES)?;
        let rest = self.size_bytes.checked_sub(start).filter(|rest| *rest > 0)?;
        Some(rest.min(BUNDLE_PART_BYTES))
    }
}

impl BundleLimits {
    /// Admits a bundle of a tenant that has uploaded this much already.
    pub fn admit(&self, bundle: &UploadedBundle, stored_bytes: u64) -> Result<(), PolicyViolation> {
        let max = self.max_bytes.min(self.max_tenant_bytes.saturating_sub(stored_bytes));
        if bundle.size_bytes <= max {
            return Ok(());
        }
        Err(PolicyViolation::TooWide {
            field: RequestField::WorkspaceSize,
            requested: bundle.size_bytes.to_string(),
            allowed: max.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bundle(size_bytes: u64) -> Result<UploadedBundle, InvalidWorkspace> {
        UploadedBundle::new(size_bytes, "0a".repeat(32))
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_size(size in 1..=40 * BUNDLE_PART_BYTES) {
            let bundle = bundle(size).expect("a bundle");
            let sizes: Vec<u64> = (0..bundle.parts()).filter_map(|number| bundle.part_bytes(number)).collect();
            prop_assert_eq!(sizes.len() as u64, bundle.parts());
            prop_assert_eq!(sizes.iter().sum::<u64>(), size);
            prop_assert!(sizes.iter().all(|bytes| (1..=BUNDLE_PART_BYTES).contains(bytes)));
            prop_assert_eq!(bundle.part_bytes(bundle.parts()), None);
        }

        #[test]
        fn admitted_bundles_of_a_tenant_stay_below_its_limit(
            sizes in prop::collection::vec(1..2000_u64, 1..20), max_bytes in 0..1500_u64, max_tenant_bytes in 0..5000_u64,
        ) {
            let limits = BundleLimits { max_bytes, max_tenant_bytes };
            let mut stored = 0;
            for size in sizes {
                if limits.admit(&bundle(size).expect("a bundle"), stored).is_ok() {
                    prop_assert!(size <= max_bytes);
                    stored += size;
                }
            }
            prop_assert!(stored <= max_tenant_bytes);
        }
    }

    #[test]
    fn bundle_without_a_size_or_digest_is_rejected() {
        assert_eq!(bundle(0), Err(InvalidWorkspace::BundleSize));
        assert_eq!(bundle(u64::MAX), Err(InvalidWorkspace::BundleSize));
        for digest in ["", "0a", &"0A".repeat(32), &"xy".repeat(32)] {
            let found = UploadedBundle::new(1, digest.to_owned());
            assert_eq!(found, Err(InvalidWorkspace::BundleDigest), "{digest}");
        }
    }
}
