//! Migrations and queries are compiled in; a new file must compile the crate anew.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=queries");
}
