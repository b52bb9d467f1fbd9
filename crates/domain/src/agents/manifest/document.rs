//! The JSON text of a manifest: read strictly, so that every program reads the same, then canonical and hashed.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest, Sha256};

use super::finding::{Findings, Rule};
use super::pointer::Pointer;

/// Hard limit of a manifest, in bytes of its canonical JSON.
pub const MAX_BYTES: usize = 128 * 1024;

/// From this size on, a manifest is reported as large.
pub const LARGE_BYTES: usize = 64 * 1024;

/// Hard limit of the text before it is read: a manifest with much indentation is valid, a megabyte is no manifest.
pub const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Nesting of arrays and objects. Real input schemas have less than 20 levels; validators recurse.
pub const MAX_DEPTH: usize = 64;

/// The largest integer that every JSON reader keeps exactly (RFC 8785, RFC 7493).
const MAX_EXACT: u64 = (1 << 53) - 1;

/// SHA-256 of the canonical JSON of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ManifestHash([u8; 32]);

impl ManifestHash {
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    #[must_use]
    pub fn of_canonical(json: &str) -> Self {
        Self(Sha256::digest(json.as_bytes()).into())
    }

    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The text is not a hash of a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("invalid manifest hash: expected 64 lower-case hexadecimal digits")]
pub struct InvalidManifestHash;

impl FromStr for ManifestHash {
    type Err = InvalidManifestHash;

    fn from_str(text: &str) -> Result<Self, InvalidManifestHash> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text, &mut hash).map_err(|_| InvalidManifestHash)?;
        let is_lower_case = !text.bytes().any(|digit| digit.is_ascii_uppercase());
        is_lower_case.then_some(Self(hash)).ok_or(InvalidManifestHash)
    }
}

impl fmt::Display for ManifestHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// A JSON document with its canonical form (RFC 8785) and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestDocument {
    value: Value,
    canonical: String,
    hash: ManifestHash,
}

impl ManifestDocument {
    /// Reads JSON. Duplicate keys, numbers that are not exact and U+0000 are refused: programs differ in how they read them.
    pub fn parse(text: &str) -> Result<Self, Findings> {
        if text.len() > MAX_TEXT_BYTES {
            let message = format!("the text has {} bytes: at most {MAX_TEXT_BYTES} are read", text.len());
            return Err(one_finding(Rule::Size, message));
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let value = StrictValue { depth: 0 }
            .deserialize(&mut deserializer)
            .and_then(|value| deserializer.end().map(|()| value))
            .map_err(|error| one_finding(Rule::Json, error.to_string()))?;
        let canonical = serde_json_canonicalizer::to_string(&value)
            .map_err(|error| one_finding(Rule::Json, error.to_string()))?;
        if canonical.len() > MAX_BYTES {
            let message = format!(
                "the manifest has {} bytes without white space: at most {MAX_BYTES} are allowed",
                canonical.len()
            );
            return Err(one_finding(Rule::Size, message));
        }
        let hash = ManifestHash::of_canonical(&canonical);
        Ok(Self { value, canonical, hash })
    }

    #[must_use]
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the canonical JSON: what is hashed.
    #[must_use]
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    #[must_use]
    pub fn hash(&self) -> ManifestHash {
        self.hash
    }

    /// Returns whether operators should see a warning about the size.
    #[must_use]
    pub fn is_large(&self) -> bool {
        self.canonical.len() >= LARGE_BYTES
    }
}

fn one_finding(rule: Rule, message: String) -> Findings {
    let mut findings = Findings::default();
    findings.add(rule, Pointer::root(), message);
    findings
}

/// Reads a value. The depth is bounded while reading, before memory is used.
#[derive(Clone, Copy)]
struct StrictValue {
    depth: usize,
}

impl StrictValue {
    fn nested<E: de::Error>(self) -> Result<Self, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!("more than {MAX_DEPTH} nested arrays and objects")));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn check_text<E: de::Error>(text: &str) -> Result<(), E> {
    if text.contains('\0') {
        return Err(E::custom("a string contains U+0000"));
    }
    Ok(())
}

fn inexact<E: de::Error>() -> E {
    E::custom("a number is larger than 2^53-1, which not every program reads exactly")
}

impl<'de> Visitor<'de> for StrictValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        if value > MAX_EXACT { Err(inexact()) } else { Ok(value.into()) }
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        if value.unsigned_abs() > MAX_EXACT { Err(inexact()) } else { Ok(value.into()) }
    }

    #[expect(clippy::cast_precision_loss, reason = "2^53-1 is exact")]
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        if value.abs() > MAX_EXACT as f64 {
            return Err(inexact());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(inexact)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        check_text(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let nested = self.nested()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(nested)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let nested = self.nested()?;
        let mut members = BTreeMap::new();
        while let Some(key) = access.next_key::<String>()? {
            check_text(&key)?;
            let value = access.next_value_seed(nested)?;
            if members.contains_key(&key) {
                return Err(de::Error::custom(format_args!("duplicate key {key:?}")));
            }
            members.insert(key, value);
        }
        Ok(Value::Object(Map::from_iter(members)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        ManifestDocument::parse(text).expect_err("refused").as_slice()[0].message.clone()
    }

    #[test]
    fn hash_has_one_text() {
        let hash = ManifestHash::of_canonical("{}");
        assert_eq!(hash.to_string().parse(), Ok(hash));
        for text in ["", "ab", &"g".repeat(64), &"A".repeat(64), &"a".repeat(66)] {
            assert_eq!(text.parse::<ManifestHash>(), Err(InvalidManifestHash), "{text}");
        }
    }

    /// Input and output of RFC 8785, sections 3.2.2 and 3.2.3.
    #[test]
    fn canonical_form_is_that_of_rfc_8785() {
        let vectors = [
            (
                r#"{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
                    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}"#,
                r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
            ),
            (
                "{\"\\u20ac\": \"Euro Sign\", \"\\r\": \"Carriage Return\", \"\\ufb33\": \"Hebrew Letter Dalet With Dagesh\", \
                 \"1\": \"One\", \"\\ud83d\\ude00\": \"Emoji: Grinning Face\", \"\\u0080\": \"Control\", \
                 \"\\u00f6\": \"Latin Small Letter O With Diaeresis\"}",
                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\
                 \"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
            ),
        ];
        for (input, canonical) in vectors {
            let value: Value = serde_json::from_str(input).expect("JSON");
            assert_eq!(serde_json_canonicalizer::to_string(&value).expect("canonical"), canonical);
        }
    }

    /// Files of the repository that RFC 8785 names for tests, cyberphone/json-canonicalization.
    #[test]
    fn canonical_form_is_that_of_the_reference_implementation() {
        macro_rules! vector {
            ($name:literal) => {
                (
                    include_str!(concat!("rfc8785/", $name, ".input.json")),
                    include_str!(concat!("rfc8785/", $name, ".output.json")),
                )
            };
        }
        for (input, output) in [
            vector!("arrays"),
            vector!("french"),
            vector!("structures"),
            vector!("unicode"),
            vector!("values"),
            vector!("weird"),
        ] {
            let value: Value = serde_json::from_str(input).expect("JSON");
            assert_eq!(serde_json_canonicalizer::to_string(&value).expect("canonical"), output.trim_end());
        }
    }

    /// Numbers of RFC 8785, appendix B.
    #[test]
    fn canonical_numbers_are_those_of_rfc_8785() {
        for (bits, text) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
        ] {
            let number = f64::from_bits(bits);
            assert_eq!(serde_json_canonicalizer::to_string(&number).expect("canonical"), text, "{bits:x}");
        }
    }

    #[test]
    fn hash_is_the_sha_256_of_the_canonical_json() {
        let one = ManifestDocument::parse(r#"{ "b": [1.0, "\u00e9"], "a": null }"#).expect("JSON");
        let other = ManifestDocument::parse("{\"a\":null,\n\"b\":[1,\"é\"]}").expect("JSON");
        assert_eq!(one.canonical(), r#"{"a":null,"b":[1,"é"]}"#);
        assert_eq!(one.hash(), other.hash());
        // printf '{"a":null,"b":[1,"é"]}' | sha256sum
        let expected = "f8f17faab95c024891d173fa43442b0e52007736a1f36715ac721ab22deeefc5";
        assert_eq!(one.hash().to_string(), expected);
    }

    #[test]
    fn json_that_programs_read_differently_is_refused() {
        assert_eq!(error(r#"{"a": 1, "a": 1}"#), "duplicate key \"a\" at line 1 column 16");
        assert!(error(r#"{"a": [{"b": 1, "\u0062": 2}]}"#).starts_with("duplicate key \"b\""));
        assert!(error(r#"["\u0000"]"#).starts_with("a string contains U+0000"));
        assert!(error(r#"{"\u0000": 1}"#).starts_with("a string contains U+0000"));
        for number in ["9007199254740992", "-9007199254740992", "1e16", "100000000000000000000"] {
            assert!(error(number).starts_with("a number is larger than 2^53-1"), "{number}");
        }
        assert!(ManifestDocument::parse("[9007199254740991, -9007199254740991, 0.1]").is_ok());
        for text in ["", "{", "{} x", "nul", "[1,]", "\"\\ud800\""] {
            assert!(ManifestDocument::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(ManifestDocument::parse(&nested(MAX_DEPTH)).is_ok());
        assert!(error(&nested(MAX_DEPTH + 1)).starts_with("more than 64 nested arrays and objects"));
        assert!(ManifestDocument::parse(&"[".repeat(MAX_TEXT_BYTES)).is_err());
    }
}
