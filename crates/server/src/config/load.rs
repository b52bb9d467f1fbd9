//! Reads the sources and lays them over each other.

use std::path::{Path, PathBuf};

use config::{File, FileFormat, Source, Value};

use super::{Config, SECTIONS, example};

/// The file that is read when no other is named.
const USUAL_FILE: &str = "guildhall.toml";

/// Where the configuration comes from. The environment is passed in, so that tests can have their own.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file that must exist; without one, `guildhall.toml` is read where there is one.
    pub file: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// Keys set by flags, such as `("http.listen", "127.0.0.1:0")`.
    pub flags: Vec<(&'static str, String)>,
}

impl Sources {
    /// Takes the environment of this process.
    #[must_use]
    pub fn from_process(file: Option<PathBuf>, flags: Vec<(&'static str, String)>) -> Self {
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { file, environment: std::env::vars_os().filter_map(readable).collect(), flags }
    }
}

/// Why the configuration cannot be used. No message repeats a value that may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key `{key}` in {origin}{hint}; `guildhall config example` lists every key")]
    UnknownKey { key: String, origin: String, hint: String },
    #[error("cannot read the configuration file {}: name another with --config, or leave the flag out", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("cannot use the configuration: {0}")]
    Invalid(#[from] config::ConfigError),
}

pub(super) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let mut builder =
        config::Config::builder().add_source(File::from_str(&example::defaults(), FileFormat::Toml));
    if let Some((origin, text)) = read_file(sources.file.as_deref())? {
        let file = File::from_str(&text, FileFormat::Toml);
        refuse_unknown_keys(&file, &origin)?;
        builder = builder.add_source(file);
    }
    for (key, value) in from_environment(&sources.environment)? {
        builder = builder.set_override(key, value)?;
    }
    for (key, value) in &sources.flags {
        builder = builder.set_override(*key, value.as_str())?;
    }
    Ok(builder.build()?.try_deserialize()?)
}

fn read_file(named: Option<&Path>) -> Result<Option<(String, String)>, ConfigError> {
    let path = named.unwrap_or(Path::new(USUAL_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.display().to_string(), text))),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

fn refuse_unknown_keys(file: &impl Source, origin: &str) -> Result<(), ConfigError> {
    for (section, value) in file.collect()? {
        let known = known_keys();
        let prefix = format!("{section}.");
        if !known.iter().any(|key| key.starts_with(&prefix)) {
            return Err(unknown(section, origin, SECTIONS.iter().map(|section| section.name.to_owned())));
        }
        for field in Value::into_table(value)?.into_keys() {
            let key = format!("{prefix}{field}");
            if !known.contains(&key) {
                return Err(unknown(key, origin, known.into_iter()));
            }
        }
    }
    Ok(())
}

/// Returns what the environment sets. A variable of one of our sections that names no key is refused; others that
/// happen to begin with our name (Kubernetes makes some for a Service called guildhall) are none of our business.
fn from_environment(environment: &[(String, String)]) -> Result<Vec<(String, String)>, ConfigError> {
    let mut set = Vec::new();
    for (variable, value) in environment {
        let Some(section) = SECTIONS.iter().find(|section| variable.starts_with(&section.variable_prefix()))
        else {
            continue;
        };
        let Some(field) = section.fields.iter().find(|field| section.variable(field) == *variable) else {
            let known = SECTIONS.iter().flat_map(|s| s.fields.iter().map(|field| s.variable(field)));
            return Err(unknown(variable.clone(), "the environment", known));
        };
        set.push((section.key(field), value.clone()));
    }
    Ok(set)
}

fn known_keys() -> Vec<String> {
    SECTIONS.iter().flat_map(|section| section.fields.iter().map(|field| section.key(field))).collect()
}

fn unknown(key: String, origin: &str, known: impl Iterator<Item = String>) -> ConfigError {
    let nearest = known
        .map(|candidate| (strsim::damerau_levenshtein(&key, &candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let hint = nearest.map(|(_, candidate)| format!("; did you mean `{candidate}`?")).unwrap_or_default();
    ConfigError::UnknownKey { key, origin: origin.to_owned(), hint }
}
