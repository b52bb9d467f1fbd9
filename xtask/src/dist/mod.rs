//! `cargo xtask dist`: the tarball for users, with its checksums and its installer.

mod binary;
mod minimal_root;
pub(crate) mod trial;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::command::{cargo, output, root, step, target};
use binary::BinaryRequirements;

#[derive(Args)]
pub(crate) struct DistArgs {
    /// Cargo profile of the programs
    #[arg(long, default_value = "release")]
    profile: String,
    /// Folder to write to
    #[arg(long, default_value = "dist", value_name = "DIR")]
    out: PathBuf,
    /// Fail unless this is the tag of the version, such as v0.1.0
    #[arg(long)]
    tag: Option<String>,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The programs of an installation. `guildhall` starts the runner from its own folder.
const PROGRAMS: [&str; 2] = ["guildhall", "guildhall-runner"];

const DOCUMENTS: [&str; 3] = ["LICENSE", "README.md", "guildhall.example.toml"];

/// Each completion script, and the shell that it is for.
const COMPLETIONS: [(&str, &str); 3] =
    [("guildhall.bash", "bash"), ("_guildhall", "zsh"), ("guildhall.fish", "fish")];

const INSTALLER: &str = include_str!("install.sh");

const CHECKSUMS: &str = "SHA256SUMS";

/// The newest glibc that the programs may need: that of Debian 12. Ubuntu 24.04 and Fedora 37 have a newer one.
const MAX_GLIBC_MINOR: u32 = 36;

pub(crate) fn run(args: &DistArgs) -> Result<()> {
    if let Some(tag) = &args.tag {
        ensure!(*tag == format!("v{VERSION}"), "the tag {tag} is not v{VERSION}, the version in Cargo.toml");
    }
    let tarball = create(&args.profile, &root().join(&args.out))?;
    println!("wrote {}", tarball.display());
    Ok(())
}

/// Returns the name of the folder in the tarball, and of the tarball without its extension.
fn archive_name() -> String {
    format!("guildhall-{VERSION}-x86_64-linux")
}

/// Builds the programs and writes the tarball, the installer and their checksums. Returns the path of the tarball.
fn create(profile: &str, out: &Path) -> Result<PathBuf> {
    let programs = build(profile)?;
    let staging = tempfile::Builder::new().prefix("guildhall-dist-").tempdir()?;
    let tree = staging.path().join(archive_name());
    let requirements = stage(&programs, &tree)?;
    requirements.check(MAX_GLIBC_MINOR)?;
    println!("needs {requirements}");
    fs::create_dir_all(out)?;
    let tarball = out.join(format!("{}.tar.gz", archive_name()));
    write_tarball(staging.path(), &tarball)?;
    write_file(&out.join("install.sh"), &installer(&requirements), 0o755)?;
    write_checksums(out, &[format!("{}.tar.gz", archive_name()), "install.sh".to_owned()])?;
    Ok(tarball)
}

/// Builds the programs and returns their folder.
fn build(profile: &str) -> Result<PathBuf> {
    let mut build = cargo(["build", "--locked", "--bins", "--profile", profile]);
    if profile == "dev" {
        // The features of dependencies as in other builds of the workspace, which are used again.
        build.arg("--workspace");
    } else {
        build.args(["-p", "guildhall-cli", "-p", "guildhall-runner"]);
    }
    step(&format!("build ({profile})"), &mut build)?;
    // Cargo names the folder of this profile differently.
    Ok(target().join(if profile == "dev" { "debug" } else { profile }))
}

/// Creates the files of the tarball.
fn stage(programs: &Path, tree: &Path) -> Result<BinaryRequirements> {
    for folder in ["bin", "completions"] {
        fs::create_dir_all(tree.join(folder))?;
    }
    let mut requirements = BinaryRequirements::default();
    for program in PROGRAMS {
        let file = tree.join("bin").join(program);
        fs::copy(programs.join(program), &file)?;
        output(Command::new("strip").arg(&file))?;
        requirements.add(&file)?;
    }
    for document in DOCUMENTS {
        write_file(&tree.join(document), &fs::read_to_string(root().join(document))?, 0o644)?;
    }
    for (file, shell) in COMPLETIONS {
        let script = output(Command::new(tree.join("bin/guildhall")).args(["completions", shell]))?;
        write_file(&tree.join("completions").join(file), &script, 0o644)?;
    }
    write_file(&tree.join("install.sh"), &installer(&requirements), 0o755)?;
    let programs = PROGRAMS.map(|name| format!("bin/{name}"));
    let completions = COMPLETIONS.map(|(name, _)| format!("completions/{name}"));
    let documents = DOCUMENTS.map(str::to_owned);
    let files = programs.into_iter().chain(completions).chain(documents).chain(["install.sh".to_owned()]);
    write_checksums(tree, &files.collect::<Vec<_>>())?;
    Ok(requirements)
}

fn installer(requirements: &BinaryRequirements) -> String {
    let glibc = requirements.glibc_minor().to_string();
    INSTALLER.replace("@VERSION@", VERSION).replace("@GLIBC_MINOR@", &glibc)
}

/// Writes the same bytes for the same files: sorted, without an owner, and with the time of the commit.
fn write_tarball(staging: &Path, tarball: &Path) -> Result<()> {
    let time = output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root()))?;
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"])
        .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{}", time.trim())])
        .args(["--use-compress-program=gzip -9n", "--create", "--file"])
        .arg(tarball)
        .arg("--directory")
        .arg(staging)
        .arg(archive_name());
    output(&mut tar)?;
    Ok(())
}

fn write_checksums(folder: &Path, files: &[String]) -> Result<()> {
    let sums = output(Command::new("sha256sum").args(files).current_dir(folder))?;
    write_file(&folder.join(CHECKSUMS), &sums, 0o644)
}

fn write_file(path: &Path, text: &str, mode: u32) -> Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, Permissions::from_mode(mode))?)
}

#[cfg(test)]
mod tests;
