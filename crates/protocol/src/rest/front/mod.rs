//! The front door for applications: runs of an agent, its history, and what it shows.

pub mod agent_runs;
pub mod attachments;
pub mod copilotkit;
pub mod history;
pub mod ui_schema;
