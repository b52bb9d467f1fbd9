//! A small file system that a fault can fill. Needs root.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts an empty file system on a new folder.
    pub(super) fn mount(path: &Path, mebibytes: u32) -> Self {
        fs::create_dir_all(path).expect("a folder");
        let size = format!("size={mebibytes}m,mode=0755");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "storm"]).arg(path).status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "cannot mount a file system: run the test as root"
        );
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes until no space is left.
    pub(super) fn fill(&self) {
        let mut file = fs::File::create(self.filler()).expect("a file");
        for length in [1 << 20, 4096, 1] {
            let block = vec![0; length];
            while file.write_all(&block).is_ok() {}
        }
    }

    pub(super) fn free(&self) {
        fs::remove_file(self.filler()).expect("the filler exists");
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _still_used = Command::new("umount").arg("--lazy").arg(&self.path).status();
    }
}
