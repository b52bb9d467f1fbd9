//! Migrations and queries are compiled in: a new file must trigger a rebuild.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
    println!("cargo:rerun-if-changed=queries");
}
