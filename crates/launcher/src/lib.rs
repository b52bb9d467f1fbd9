//! Where runners run, and the secrets that they are given: a local process, a warm pool, Kubernetes. The only crate that
//! will name kube.
//!
//! [`secrets`] keeps the credentials of provider profiles, [`storage`] removes what sessions kept. Launching is to come.
//!
//! This crate deliberately will hold no state of a run: PostgreSQL does.

pub mod secrets;
pub mod storage;
