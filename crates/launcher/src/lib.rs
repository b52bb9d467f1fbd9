//! Where runners run: a local process, a warm pool, Kubernetes. The only crate that will name kube.
//!
//! Empty until runners exist.
//!
//! This crate deliberately will hold no state of a run: PostgreSQL does.
