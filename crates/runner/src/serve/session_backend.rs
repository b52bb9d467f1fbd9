//! Wraps a backend with what this machine knows of its session: the setup of the project runs before the first start, a
//! thread that cannot be resumed because its storage is
//! missing gets its own failure kind, and each turn reports the workspace files that it changed.

use std::path::PathBuf;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use crate::backend::setup::WorkspaceSetup;
use crate::backend::{
    Backend, BackendEvent, BackendFailure, Capabilities, EventSink, Prompt, ThreadId, ThreadStart,
    TurnControl, TurnOutcome,
};
use crate::storage::{self, SessionStorage};
use crate::workspace::{self, Snapshot};

pub(super) struct SessionBackend {
    pub(super) backend: Box<dyn Backend>,
    pub(super) storage: SessionStorage,
    pub(super) workspace: PathBuf,
    /// The setup of the project, where it declares one.
    pub(super) setup: Option<WorkspaceSetup>,
}

impl Backend for SessionBackend {
    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn start<'a>(
        &'a mut self,
        thread: ThreadStart,
        sink: &'a EventSink,
    ) -> BoxFuture<'a, Result<ThreadId, BackendFailure>> {
        // Checked before the start, which creates the directory.
        let was_missing = self.storage.is_missing();
        Box::pin(async move {
            if let Some(setup) = &mut self.setup {
                setup.run(sink).await?;
            }
            let started = self.backend.start(thread, sink).await;
            started.map_err(|failure| storage::classify_resume_failure(failure, was_missing))
        })
    }

    fn run_turn<'a>(
        &'a mut self,
        prompt: &'a Prompt,
        sink: &'a EventSink,
        control: &'a mut mpsc::Receiver<TurnControl>,
    ) -> BoxFuture<'a, TurnOutcome> {
        Box::pin(async move {
            let before = Snapshot::take(&self.workspace).await;
            let outcome = self.backend.run_turn(prompt, sink, control).await;
            let after = Snapshot::take(&self.workspace).await;
            if let (Some(before), Some(after)) = (before, after) {
                for change in workspace::change_events(&before, &after) {
                    sink.report(BackendEvent::Artifact(change)).await;
                }
            }
            outcome
        })
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.backend.shutdown()
    }

    fn process_id(&self) -> Option<u32> {
        self.backend.process_id()
    }
}
