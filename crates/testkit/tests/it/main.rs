//! Tests of the crate dependencies of the workspace and of the test engines and fake model.
#![expect(clippy::expect_used, reason = "test helpers may panic; clippy exempts only the tests themselves")]

mod authority;
mod capability_tests;
mod engines;
mod fake_model;
mod groups;
mod headers;
mod layers;
mod migrations;
mod modules;
mod route_files;
mod service_methods;
mod type_names;
