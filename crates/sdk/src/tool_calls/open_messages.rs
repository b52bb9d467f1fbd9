//! Messages that are being handled beside each other, and up to where an inbox can be confirmed.

use std::collections::BTreeSet;

/// The messages of an inbox that were taken and are not handled yet.
#[derive(Debug, Default)]
pub(super) struct OpenMessages {
    open: BTreeSet<i64>,
    last: i64,
}

impl OpenMessages {
    pub(super) fn begin(&mut self, seq: i64) {
        self.open.insert(seq);
        self.last = self.last.max(seq);
    }

    /// Ends a message. Returns up to where everything was handled.
    pub(super) fn end(&mut self, seq: i64) -> i64 {
        self.open.remove(&seq);
        self.last = self.last.max(seq);
        self.open.first().map_or(self.last, |first| first - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_before_every_open_message_is_confirmed() {
        let mut messages = OpenMessages::default();
        messages.begin(3);
        messages.begin(5);
        assert_eq!(messages.end(4), 2);
        assert_eq!(messages.end(5), 2);
        messages.begin(7);
        assert_eq!(messages.end(3), 6);
        assert_eq!(messages.end(7), 7);
        assert_eq!(messages.end(9), 9);
    }
}
