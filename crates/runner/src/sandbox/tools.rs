//! The operator's tools outside of the system's directories, which agents may read and execute.
//!
//! Only known parts of a tool's directory are visible: its configuration may hold tokens of package registries.

use std::path::{Path, PathBuf};

use super::program::is_in_system;

/// Files that hold credentials in the directories of tools. Masked in every directory that the operator names.
const CREDENTIAL_FILES: [&str; 12] = [
    ".git-credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".yarnrc.yml",
    "auth.json",
    "auth.toml",
    "config.toml",
    "credentials",
    "credentials.json",
    "credentials.toml",
    "pip.conf",
];

/// Tools that are visible in every sandbox.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolMounts {
    pub readable: Vec<PathBuf>,
    /// Files in them that are replaced by an empty file.
    pub masked: Vec<PathBuf>,
    /// Variables with which the tools find their files, because `HOME` is another directory in a sandbox.
    pub environment: Vec<(String, String)>,
}

/// The variables of this process that say where tools are.
#[derive(Debug, Clone, Default)]
pub struct ToolVariables {
    pub search_path: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    pub rustup_home: Option<PathBuf>,
}

impl ToolVariables {
    #[must_use]
    pub fn of_this_process() -> Self {
        let dir = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            search_path: std::env::split_paths(&search_path).collect(),
            home: dir("HOME"),
            rustup_home: dir("RUSTUP_HOME"),
        }
    }
}

/// Finds the tools on the search path: cargo, rustup, pyenv, nvm, uv, and programs below `/opt`. `named` are
/// directories that the operator configured.
#[must_use]
pub fn find_tools(variables: &ToolVariables, named: &[PathBuf]) -> ToolMounts {
    let mut tools = ToolMounts::default();
    for dir in &variables.search_path {
        if dir.is_absolute() && dir.is_dir() && !is_in_system(dir) {
            tools.add_search_dir(dir, variables);
        }
    }
    for dir in named {
        tools.add(dir.clone());
        let credentials = CREDENTIAL_FILES.iter().map(|name| dir.join(name));
        tools.masked.extend(credentials.filter(|path| path.exists()));
    }
    tools
}

impl ToolMounts {
    fn add(&mut self, path: PathBuf) {
        if path.exists() && !self.readable.contains(&path) {
            self.readable.push(path);
        }
    }

    fn add_parts(&mut self, root: &Path, parts: &[&str]) {
        for part in parts {
            self.add(root.join(part));
        }
    }

    fn set(&mut self, name: &str, path: &Path) {
        if !self.environment.iter().any(|(existing, _)| existing == name) {
            self.environment.push((name.to_owned(), path.to_string_lossy().into_owned()));
        }
    }

    fn add_search_dir(&mut self, dir: &Path, variables: &ToolVariables) {
        let Some(root) = dir.parent() else { return };
        if dir.join("cargo").exists() {
            self.add_parts(root, &["bin", "registry", "git"]);
            self.set("CARGO_HOME", root);
            self.add_rustup(root, variables);
        }
        if dir.join("uv").exists() {
            self.add_parts(dir, &["uv", "uvx"]);
            if let Some(home) = &variables.home {
                self.add_parts(&home.join(".local/share/uv"), &["python", "tools"]);
            }
        }
        if let Some(pyenv) = dir.ancestors().find(|path| path.file_name().is_some_and(|it| it == ".pyenv")) {
            self.add_parts(pyenv, &["bin", "completions", "libexec", "plugins", "pyenv.d", "shims"]);
            self.add_parts(pyenv, &["version", "versions"]);
            self.set("PYENV_ROOT", pyenv);
        }
        if dir.join("node").exists() {
            self.add_parts(root, &["bin/node", "bin/npm", "bin/npx", "bin/corepack", "lib/node_modules"]);
        }
        if dir.starts_with("/opt") && root != Path::new("/opt") {
            self.add(root.to_owned());
        }
    }

    /// The programs in `~/.cargo/bin` are links to rustup, which finds the toolchain in a directory of its own.
    fn add_rustup(&mut self, cargo_home: &Path, variables: &ToolVariables) {
        let beside = cargo_home.parent().map(|home| home.join(".rustup"));
        if let Some(rustup) = variables.rustup_home.clone().or(beside).filter(|dir| dir.is_dir()) {
            // Rustup fails without `update-hashes`, which it would create.
            self.add_parts(&rustup, &["toolchains", "settings.toml", "update-hashes"]);
            self.set("RUSTUP_HOME", &rustup);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn files(root: &Path, names: &[&str]) {
        for name in names {
            let path = root.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("create directory");
            fs::write(path, "").expect("write file");
        }
    }

    #[test]
    fn only_known_parts_of_tools_are_visible() {
        let root = tempfile::tempdir().expect("temporary directory");
        let home = root.path();
        files(
            home,
            &[
                ".cargo/bin/cargo",
                ".cargo/registry/cache/a",
                ".cargo/credentials.toml",
                ".cargo/config.toml",
                ".rustup/toolchains/stable/bin/rustc",
                ".rustup/settings.toml",
                ".pyenv/shims/python3",
                ".pyenv/versions/3.11/bin/python3",
                ".nvm/versions/node/v20/bin/node",
                ".nvm/versions/node/v20/lib/node_modules/npm/index.js",
                ".local/bin/uv",
                ".local/bin/private",
                ".local/share/uv/python/a",
                ".ssh/id_ed25519",
            ],
        );
        let dirs = [".cargo/bin", ".pyenv/shims", ".nvm/versions/node/v20/bin", ".local/bin", "missing"];
        let variables = ToolVariables {
            search_path: dirs
                .iter()
                .map(|dir| home.join(dir))
                .chain(["/usr/bin".into(), ".".into()])
                .collect(),
            home: Some(home.to_owned()),
            rustup_home: None,
        };
        let tools = find_tools(&variables, &[]);
        let expected = [
            ".cargo/bin",
            ".cargo/registry",
            ".rustup/toolchains",
            ".rustup/settings.toml",
            ".pyenv/shims",
            ".pyenv/versions",
            ".nvm/versions/node/v20/bin/node",
            ".nvm/versions/node/v20/lib/node_modules",
            ".local/bin/uv",
            ".local/share/uv/python",
        ];
        assert_eq!(tools.readable, expected.map(|path| home.join(path)));
        let names: Vec<&str> = tools.environment.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["CARGO_HOME", "RUSTUP_HOME", "PYENV_ROOT"]);
    }

    #[test]
    fn credentials_in_a_named_directory_are_masked() {
        let root = tempfile::tempdir().expect("temporary directory");
        files(root.path(), &["bin/tool", ".npmrc", "credentials"]);
        let tools = find_tools(&ToolVariables::default(), &[root.path().to_owned()]);
        assert_eq!(tools.readable, [root.path()]);
        assert_eq!(tools.masked, [root.path().join(".npmrc"), root.path().join("credentials")]);
    }
}
