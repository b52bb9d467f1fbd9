//! Runners: their enrolment, the run that they hold, and the jobs that start them.

pub mod enrolment;
pub mod job;
