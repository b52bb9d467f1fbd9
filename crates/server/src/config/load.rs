//! Reads the configuration sources and merges them.

use std::path::{Path, PathBuf};

use config::{File, FileFormat};

use super::{Config, SECTIONS, example};

/// The file that is read without `--config`.
const DEFAULT_FILE: &str = "guildhall.toml";

/// The sources of the configuration. The environment is passed in, so that tests can set their own.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// A file that must exist. Without it, `guildhall.toml` is read if it exists.
    pub file: Option<PathBuf>,
    pub environment: Vec<(String, String)>,
    /// Values that override the built-in defaults. All other sources override them.
    pub defaults: Vec<(&'static str, String)>,
    /// Keys set by flags, such as `("http.listen", "127.0.0.1:0")`.
    pub flags: Vec<(&'static str, String)>,
}

impl Sources {
    /// Uses the environment of this process.
    #[must_use]
    pub fn from_process(file: Option<PathBuf>, flags: Vec<(&'static str, String)>) -> Self {
        let unicode = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let environment = std::env::vars_os().filter_map(unicode).collect();
        Self { file, environment, defaults: Vec::new(), flags }
    }
}

/// Why the configuration cannot be loaded. No message repeats a value that may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key `{key}` in {origin}{hint}\n  `guildhall config example` lists every key")]
    UnknownKey { key: String, origin: String, hint: String },
    #[error("cannot read the configuration file {}: pass another file to --config, or omit the flag", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// Names the line without its content: it may hold a password.
    #[error("invalid TOML in {} at line {line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("invalid value of `{key}`: {reason}")]
    InvalidValue { key: String, reason: String },
    #[error("invalid configuration: {0}")]
    Invalid(String),
}

/// The library names Rust types. Its message ends with the key.
impl From<config::ConfigError> for ConfigError {
    fn from(error: config::ConfigError) -> Self {
        let text = error.to_string();
        match text.rsplit_once(" for key `") {
            Some((reason, key)) => Self::InvalidValue {
                key: key.split('`').next().unwrap_or_default().to_owned(),
                reason: plain_reason(reason),
            },
            None => Self::Invalid(plain_reason(&text)),
        }
    }
}

/// Replaces a reason that names a type by one for people.
fn plain_reason(reason: &str) -> String {
    let names = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    if names(&["nonzero"]) {
        "expected a whole number above 0".to_owned()
    } else if names(&["bit integer", "bit unsigned integer"]) {
        "the number is too large or too small".to_owned()
    } else if names(&["enum ", "struct ", "untagged"]) {
        "the value is unknown or has the wrong type; `guildhall config example` describes the key".to_owned()
    } else {
        // Without the value: it may be a secret.
        let expected =
            reason.strip_prefix("invalid type: ").and_then(|reason| reason.split_once(", expected "));
        expected.map_or_else(|| reason.to_owned(), |(_value, expected)| format!("expected {expected}"))
    }
}

pub(super) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let mut builder =
        config::Config::builder().add_source(File::from_str(&example::defaults(), FileFormat::Toml));
    builder = builder.add_source(overriding_defaults(&sources.defaults)?);
    if let Some((path, text)) = read_file(sources.file.as_deref())? {
        reject_unknown_keys(&parse(&path, &text)?, &path)?;
        builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
    }
    for (key, value) in read_environment(&sources.environment)? {
        builder = builder.set_override(key, value)?;
    }
    for (key, value) in &sources.flags {
        builder = builder.set_override(*key, value.as_str())?;
    }
    Ok(builder.build()?.try_deserialize()?)
}

/// Returns the overriding defaults as a separate source, above the built-in defaults and below all other sources.
fn overriding_defaults(defaults: &[(&'static str, String)]) -> Result<config::Config, config::ConfigError> {
    let mut builder = config::Config::builder();
    for (key, value) in defaults {
        builder = builder.set_override(*key, value.as_str())?;
    }
    builder.build()
}

fn read_file(requested: Option<&Path>) -> Result<Option<(PathBuf, String)>, ConfigError> {
    let path = requested.unwrap_or(Path::new(DEFAULT_FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some((path.to_owned(), text))),
        Err(error) if requested.is_none() && error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    }
}

/// Returns the path of the configuration file and the secret keys that it sets. Returns none where there is no file.
pub fn secret_keys_in_file(requested: Option<&Path>) -> Result<Option<(PathBuf, Vec<String>)>, ConfigError> {
    let Some((path, text)) = read_file(requested)? else { return Ok(None) };
    let table = parse(&path, &text)?;
    let value_of = |key: &String| {
        let (section, field) = key.split_once('.')?;
        table.get(section)?.get(field).filter(|value| value.as_str() != Some(""))
    };
    Ok(Some((path, super::secret_keys().filter(|key| value_of(key).is_some()).collect())))
}

fn parse(path: &Path, text: &str) -> Result<toml::Table, ConfigError> {
    text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        ConfigError::Syntax { path: path.to_owned(), line, message: error.message().to_owned() }
    })
}

fn reject_unknown_keys(file: &toml::Table, path: &Path) -> Result<(), ConfigError> {
    let origin = path.display().to_string();
    for (section, value) in file {
        let Some(known) = SECTIONS.iter().find(|known| known.name == section) else {
            return Err(unknown_key(
                section.clone(),
                &origin,
                SECTIONS.iter().map(|section| section.name.to_owned()),
            ));
        };
        for field in value.as_table().into_iter().flat_map(toml::Table::keys) {
            if !known.fields.iter().any(|known| known.name == field) {
                return Err(unknown_key(format!("{section}.{field}"), &origin, all_keys().into_iter()));
            }
        }
    }
    Ok(())
}

/// Returns the keys that environment variables set. A variable with the prefix of a section must name a key of it.
/// Variables that Kubernetes creates for Services such as guildhall or guildhall-nats are ignored.
fn read_environment(environment: &[(String, String)]) -> Result<Vec<(String, String)>, ConfigError> {
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
            return Err(unknown_key(variable.clone(), "the environment", known));
        };
        set.push((section.key(field), value.clone()));
    }
    Ok(set)
}

fn all_keys() -> Vec<String> {
    SECTIONS.iter().flat_map(|section| section.fields.iter().map(|field| section.key(field))).collect()
}

fn unknown_key(key: String, origin: &str, known: impl Iterator<Item = String>) -> ConfigError {
    let nearest = known
        .map(|candidate| (strsim::damerau_levenshtein(&key, &candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 3);
    let hint = nearest.map(|(_, candidate)| format!(": did you mean `{candidate}`?")).unwrap_or_default();
    ConfigError::UnknownKey { key, origin: origin.to_owned(), hint }
}
