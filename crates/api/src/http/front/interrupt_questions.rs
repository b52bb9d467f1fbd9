//! The questions of agents in the interrupts of a stream.

use guildhall_domain::access::role::rights::RunsRead;
use guildhall_domain::access::thread_owner::ThreadOwner;
use guildhall_protocol::agui::event::{AguiEvent, RunOutcome};
use guildhall_protocol::agui::fold::Frame;
use guildhall_service::ServiceError;
use guildhall_service::approvals::Approvals;

use crate::App;

/// Reads the questions of agents for someone who may see them.
#[derive(Debug)]
pub(super) struct InterruptQuestions {
    approvals: Approvals,
    reader: ThreadOwner<RunsRead>,
}

impl InterruptQuestions {
    pub(super) fn new(app: &App, reader: &ThreadOwner<RunsRead>) -> Result<Self, ServiceError> {
        let reader = ThreadOwner::new((**reader).clone(), reader.tenant())?;
        Ok(Self { approvals: app.approvals.approvals.clone(), reader })
    }

    /// Adds the questions to the interrupts of a frame. One that was deleted stays without words.
    pub(super) async fn describe(&self, frame: &mut Frame) -> Result<(), ServiceError> {
        let AguiEvent::RunFinished { outcome: RunOutcome::Interrupt { interrupts }, .. } = &mut frame.event
        else {
            return Ok(());
        };
        for interrupt in interrupts {
            let Ok(id) = interrupt.id.parse() else { continue };
            match self.approvals.read(self.reader.in_own_thread(), id).await {
                Ok(approval) => interrupt.describe(&approval.question, &approval.shown),
                Err(ServiceError::Denied(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
