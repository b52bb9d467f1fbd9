//! Tasks of tests.

use tokio::task::JoinHandle;

/// Runs a client of a test on a task of its own, so that blocking work of the test does not stop it. The test joins the
/// task or ends with it.
#[expect(clippy::disallowed_methods, reason = "a test has no shutdown that waits for tasks")]
pub fn spawn_task<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    tokio::spawn(task)
}
