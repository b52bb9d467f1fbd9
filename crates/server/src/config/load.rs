//! Reads the sources and lays them over each other.

use std::path::{Path, PathBuf};

use config::{File, FileFormat};

use super::{Config, SECTIONS, example};

/// The file that is read when no other is named.
const USUAL_FILE: &str = "guildhall.toml";

/// Where the configuration comes from. The environment is passed in, so that tests can have their own.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file that must exist; without one, `guildhall.toml` is read where there is one.
    pub file: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// Other defaults than the usual: everything else wins over them.
    pub defaults: Vec<(&'static str, String)>,
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
        let environment = std::env::vars_os().filter_map(readable).collect();
        Self { file, environment, defaults: Vec::new(), flags }
    }
}

/// Why the configuration cannot be used. No message repeats a value that may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key `{key}` in {origin}{hint}\n  `guildhall config example` lists every key")]
    UnknownKey { key: String, origin: String, hint: String },
    #[error("cannot read the configuration file {}: name another with --config, or leave the flag out", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Says where, not what: the line may hold a password.
    #[error("{} is not TOML at line {line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("cannot use the configuration")]
    Invalid(#[from] config::ConfigError),
}

pub(super) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let mut builder =
        config::Config::builder().add_source(File::from_str(&example::defaults(), FileFormat::Toml));
    builder = builder.add_source(other_defaults(&sources.defaults)?);
    if let Some((path, text)) = read_file(sources.file.as_deref())? {
        refuse_unknown_keys(&parse(&path, &text)?, &path)?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
    }
    for (key, value) in from_environment(&sources.environment)? {
        builder = builder.set_override(key, value)?;
    }
    for (key, value) in &sources.flags {
        builder = builder.set_override(*key, value.as_str())?;
    }
    Ok(builder.build()?.try_deserialize()?)
}

/// Returns other defaults as a source of their own, above the usual ones and below everything else.
fn other_defaults(defaults: &[(&'static str, String)]) -> Result<config::Config, config::ConfigError> {
    let mut builder = config::Config::builder();
    for (key, value) in defaults {
        builder = builder.set_override(*key, value.as_str())?;
    }
    builder.build()
}

fn read_file(named: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let path = named.unwrap_or(Path::new(USUAL_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Returns the secret settings that a file holds, and the file. None where there is no file.
pub fn secrets_in_file(named: Option<&Path>) -> Result<Option<(PathBuf, Vec<String>)>, ConfigError> {
    let Some((path, text)) = read_file(named)? else { return Ok(None) };
    let table = parse(&path, &text)?;
    let holds = |key: &String| {
        let (section, field) = key.split_once('.')?;
        table.get(section)?.get(field).filter(|value| value.as_str() != Some(""))
    };
    Ok(Some((path, super::secrets().filter(|key| holds(key).is_some()).collect())))
}

fn parse(path: &Path, text: &str) -> Result<toml::Table, ConfigError> {
    text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        ConfigError::Syntax { path: path.to_owned(), line, message: error.message().to_owned() }
    })
}

fn refuse_unknown_keys(file: &toml::Table, path: &Path) -> Result<(), ConfigError> {
    let origin = path.display().to_string();
    for (section, value) in file {
        let Some(known) = SECTIONS.iter().find(|known| known.name == section) else {
            return Err(unknown(
                section.clone(),
                &origin,
                SECTIONS.iter().map(|section| section.name.to_owned()),
            ));
        };
        for field in value.as_table().into_iter().flat_map(toml::Table::keys) {
            if !known.fields.iter().any(|known| known.name == field) {
                return Err(unknown(format!("{section}.{field}"), &origin, known_keys().into_iter()));
            }
        }
    }
    Ok(())
}

/// Returns what the environment sets. A variable of one of our sections that names no key is refused; those that
/// Kubernetes makes for a Service called guildhall, guildhall-nats and the like are none of our business.
fn from_environment(environment: &[(String, String)]) -> Result<Vec<(String, String)>, ConfigError> {
    let mut set = Vec::new();
    for (variable, value) in environment {
        let Some(section) = SECTIONS.iter().find(|section| variable.starts_with(&section.variable_prefix()))
        else {
            continue;
        };
        let rest = &variable[section.variable_prefix().len()..];
        if rest == "PORT" || rest.starts_with("PORT_") || rest.starts_with("SERVICE_") {
            continue;
        }
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
    let hint = nearest.map(|(_, candidate)| format!(": did you mean `{candidate}`?")).unwrap_or_default();
    ConfigError::UnknownKey { key, origin: origin.to_owned(), hint }
}
