//! How much one page of messages holds.

/// Messages in one page at most.
pub const MAX_PAGE: u32 = 200;

const DEFAULT_PAGE: u32 = 100;

/// Bytes of payloads in one page, below the 1 MiB that the older official clients accept. One message alone may be larger
/// than what is left, but not than this.
pub const MAX_PAGE_BYTES: usize = 900_000;

/// The number of messages that a client asks for, within its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit(u32);

impl PageLimit {
    /// The default is for clients that do not say; zero is one.
    #[must_use]
    pub fn new(asked: Option<u32>) -> Self {
        Self(asked.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE))
    }

    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// Which messages a reader gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageView {
    /// Everything: the first version of pull.
    All,
    /// Without what clients of the second version cannot open.
    WithoutSealedV1,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_clamped() {
        let limits = [None, Some(0), Some(1), Some(200), Some(201), Some(u32::MAX)].map(PageLimit::new);
        assert_eq!(limits.map(PageLimit::get), [100, 1, 1, 200, 200, 200]);
    }
}
