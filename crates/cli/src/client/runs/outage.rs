//! Messages about an unreachable server.

use guildhall_sdk::ClientError;

use super::watch_display::WatchDisplay;

/// Reports an unreachable server once, and its return once.
#[derive(Default)]
pub(super) struct OutageReporter(bool);

impl OutageReporter {
    pub(super) fn report_lost(
        &mut self,
        error: &ClientError,
        display: &mut WatchDisplay,
    ) -> std::io::Result<()> {
        if std::mem::replace(&mut self.0, true) {
            return Ok(());
        }
        display.print_message(format_args!("{error}; retrying"))
    }

    pub(super) fn report_restored(&mut self, display: &mut WatchDisplay) -> std::io::Result<()> {
        if !std::mem::take(&mut self.0) {
            return Ok(());
        }
        display.print_message("the server is reachable again")
    }
}
