//! A backend among what this machine keeps of its session: a thread that cannot be resumed because the storage is gone is
//! told from one that the backend itself lost, and after each turn it is told which files of the workspace changed.

use std::path::PathBuf;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::{Backend, BackendEvent, BackendFailure, Begin, Capabilities, Control, Sink, Thread, TurnEnd};
use crate::storage::{self, Storage};
use crate::workspace::{self, Snapshot};

pub(crate) struct Kept {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) storage: Storage,
    pub(crate) workspace: PathBuf,
}

impl Backend for Kept {
    fn capabilities(&self) -> Capabilities {
        self.backend.capabilities()
    }

    fn begin<'a>(
        &'a mut self,
        begin: Begin,
        sink: &'a Sink,
    ) -> BoxFuture<'a, Result<Thread, BackendFailure>> {
        // Looked at before: a backend that begins makes its folder.
        let was_gone = self.storage.is_gone();
        Box::pin(async move {
            self.backend.begin(begin, sink).await.map_err(|failure| storage::judge(failure, was_gone))
        })
    }

    fn turn<'a>(
        &'a mut self,
        words: &'a str,
        sink: &'a Sink,
        control: &'a mut mpsc::Receiver<Control>,
    ) -> BoxFuture<'a, TurnEnd> {
        Box::pin(async move {
            let before = Snapshot::take(&self.workspace).await;
            let end = self.backend.turn(words, sink, control).await;
            let after = Snapshot::take(&self.workspace).await;
            if let (Some(before), Some(after)) = (before, after) {
                for change in workspace::events(&before, &after) {
                    sink.report(BackendEvent::Artifact(change)).await;
                }
            }
            end
        })
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.backend.finish()
    }

    fn process(&self) -> Option<u32> {
        self.backend.process()
    }
}
