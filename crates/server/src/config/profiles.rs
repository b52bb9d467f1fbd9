use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use guildhall_domain::profiles::template::ProfileTemplates;
use guildhall_domain::profiles::{BackendKind, Profile, ProfileError};
use guildhall_domain::runs::policy::BackendProfile;

use super::section::section;

section! {
    /// Profiles of agents and their providers.
    Profiles = "profiles" {
        /// Folder of the templates that profiles are created from: one file NAME.toml per template, in the format of
        /// profile.toml. Empty: the built-in templates.
        templates: PathBuf = "\"\"";
    }
}

/// Why the templates cannot be used. Contents are not repeated.
#[derive(Debug, thiserror::Error)]
pub enum TemplatesError {
    #[error("cannot read profiles.templates (GUILDHALL_PROFILES_TEMPLATES), {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}: the name of a template has lower-case letters, digits and inner dashes", .0.display())]
    Name(PathBuf),
    #[error("{}: a template needs an agent: use the backend codex or acp", .0.display())]
    Backend(PathBuf),
    #[error("{}", path.display())]
    Invalid {
        path: PathBuf,
        #[source]
        source: ProfileError,
    },
}

impl Profiles {
    /// Reads the templates.
    pub fn templates(&self) -> Result<ProfileTemplates, TemplatesError> {
        if self.templates.as_os_str().is_empty() {
            return Ok(ProfileTemplates::default());
        }
        let unreadable = |source| TemplatesError::Unreadable { path: self.templates.clone(), source };
        let mut templates = Vec::new();
        for entry in fs::read_dir(&self.templates).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                templates.push(read_template(&path)?);
            }
        }
        Ok(templates.into_iter().collect())
    }
}

fn read_template(path: &Path) -> Result<(BackendProfile, Profile), TemplatesError> {
    let name = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    let name = name.ok_or_else(|| TemplatesError::Name(path.to_owned()))?;
    let text = fs::read_to_string(path)
        .map_err(|source| TemplatesError::Unreadable { path: path.to_owned(), source })?;
    let profile =
        Profile::parse(&text).map_err(|source| TemplatesError::Invalid { path: path.to_owned(), source })?;
    match profile.backend {
        BackendKind::Codex | BackendKind::Acp => Ok((name, profile)),
        BackendKind::Script => Err(TemplatesError::Backend(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Result<ProfileTemplates, String> {
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("written");
        }
        let templates = Profiles { templates: dir.path().to_owned() }.templates();
        templates.map_err(|error| error.to_string().replace(&dir.path().display().to_string(), "DIR"))
    }

    #[test]
    fn folder_of_the_operator_replaces_the_built_in_templates() {
        let built_in = Profiles { templates: PathBuf::new() }.templates().expect("templates");
        assert_eq!(built_in, ProfileTemplates::default());
        let text = "backend = \"acp\"\ncommand = [\"/opt/agent\"]\n";
        let own = read(&[("house.toml", text), ("README.md", "notes")]).expect("templates");
        let house = ("house".parse().expect("a name"), Profile::parse(text).expect("a profile"));
        assert_eq!(own, [house].into_iter().collect());
    }

    #[test]
    fn invalid_template_is_named_without_its_content() {
        for (file, text, error) in [
            ("House.toml", "backend = \"codex\"", "lower-case letters"),
            ("house.toml", "backend = \"script\"", "use the backend codex or acp"),
            ("house.toml", "key = \"sk-canary\"", "DIR/house.toml"),
        ] {
            let actual = read(&[(file, text)]).expect_err(text);
            assert!(actual.contains(error) && !actual.contains("canary"), "{actual}");
        }
        assert!(Profiles { templates: "/nonexistent".into() }.templates().is_err());
    }
}
