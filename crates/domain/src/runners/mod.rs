//! Runners: enrolments, run grants, and the jobs that start them.

pub mod enrolment;
pub mod job;
pub mod runner;
