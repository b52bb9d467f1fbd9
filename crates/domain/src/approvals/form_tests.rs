//! Which schemas are forms, and which answers they accept.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::form::{AnswerContent, AnswerForm, FieldProblem, InvalidContent, InvalidForm, check_content};
use super::form_field::FieldKind;

fn form(properties: Value, required: &[&str]) -> Result<AnswerForm, InvalidForm> {
    AnswerForm::parse(&json!({ "type": "object", "properties": properties, "required": required }))
}

/// A form with a field of each kind.
fn every_kind() -> AnswerForm {
    let properties = json!({
        "name": { "type": "string", "title": "Name", "minLength": 2, "maxLength": 5, "default": "Ada" },
        "mail": { "type": "string", "format": "email" },
        "token": { "type": "string", "writeOnly": true },
        "colour": { "type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"] },
        "size": { "type": "string", "oneOf": [{ "const": "s", "title": "Small" }, { "const": "l" }], "default": "l" },
        "free": { "type": "string", "examples": ["yes", "no"] },
        "age": { "type": "integer", "minimum": 18, "maximum": 99 },
        "ratio": { "type": "number", "minimum": 0, "maximum": 1.5, "default": 0.5 },
        "sure": { "type": "boolean", "default": false },
        "tags": { "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] }, "minItems": 1, "maxItems": 2 },
        "parts": { "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X" }] }, "default": ["x"] },
    });
    form(properties, &["name", "age"]).expect("a form")
}

fn content(value: Value) -> AnswerContent {
    serde_json::from_value(value).expect("an object")
}

fn problem(value: Value) -> Option<(String, FieldProblem)> {
    let mut whole = json!({ "name": "Ada", "age": 20 });
    whole.as_object_mut().expect("an object").extend(value.as_object().expect("an object").clone());
    match every_kind().check(&content(whole)) {
        Ok(()) => None,
        Err(InvalidContent::Field { name, problem }) => Some((name, problem)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn valid_values_of_every_kind_are_accepted() {
    assert_eq!(every_kind().fields().len(), 11);
    let values = json!({
        "name": "Zoë", "mail": "ada@example.org", "token": "", "colour": "red", "size": "s", "free": "perhaps",
        "age": 18, "ratio": 1.5, "sure": true, "tags": ["c", "a"], "parts": [],
    });
    assert_eq!(problem(values), None);
    assert_eq!(problem(json!({})), None, "the others are optional");
}

#[test]
fn invalid_value_is_refused_with_its_field() {
    for (value, name, expected) in [
        (json!({ "nothing": 1 }), "nothing", FieldProblem::Unknown),
        (json!({ "name": "A" }), "name", FieldProblem::TooShort(2)),
        (json!({ "name": "Zoëzoë" }), "name", FieldProblem::TooLong(5)),
        (json!({ "name": 5 }), "name", FieldProblem::Type("a text")),
        (json!({ "name": null }), "name", FieldProblem::Type("a text")),
        (json!({ "mail": "ada" }), "mail", FieldProblem::Format("an email address")),
        (json!({ "mail": "a@b@c" }), "mail", FieldProblem::Format("an email address")),
        (json!({ "colour": "Red" }), "colour", FieldProblem::NotAChoice),
        (json!({ "size": ["s"] }), "size", FieldProblem::Type("a text")),
        (json!({ "age": 17 }), "age", FieldProblem::TooSmall(18.0)),
        (json!({ "age": 18.5 }), "age", FieldProblem::Type("a whole number")),
        (json!({ "age": "20" }), "age", FieldProblem::Type("a whole number")),
        (json!({ "ratio": 2 }), "ratio", FieldProblem::TooBig(1.5)),
        (json!({ "sure": "yes" }), "sure", FieldProblem::Type("yes or no")),
        (json!({ "tags": [] }), "tags", FieldProblem::TooFew(1)),
        (json!({ "tags": ["a", "b", "c"] }), "tags", FieldProblem::TooMany(2)),
        (json!({ "tags": ["a", "a"] }), "tags", FieldProblem::TooMany(2)),
        (json!({ "tags": ["z"] }), "tags", FieldProblem::NotAChoice),
        (json!({ "tags": [1] }), "tags", FieldProblem::NotAChoice),
        (json!({ "tags": "a" }), "tags", FieldProblem::Type("a list of choices")),
    ] {
        assert_eq!(problem(value.clone()), Some((name.to_owned(), expected)), "{value}");
    }
    let missing = every_kind().check(&content(json!({ "name": "Ada" })));
    assert_eq!(
        missing,
        Err(InvalidContent::Field { name: "age".to_owned(), problem: FieldProblem::Missing })
    );
    let large = json!({ "name": "Ada", "age": 20, "free": "x".repeat(AnswerContent::MAX_BYTES) });
    assert_eq!(every_kind().check(&content(large)), Err(InvalidContent::TooLarge));
}

/// As Claude Code's adapter sends it.
#[test]
fn description_of_a_choice_is_shown_with_its_title() {
    let described = json!([
        { "const": "Blue", "title": "Blue", "description": "Like the sea", "_meta": { "preview": "…" } },
        { "const": "Red", "description": "Like fire" },
    ]);
    let form = form(json!({ "x": { "type": "string", "oneOf": described } }), &[]).expect("a form");
    let FieldKind::Choice { choices, .. } = &form.fields()[0].kind else { panic!("a choice") };
    let shown: Vec<(&str, &str)> =
        choices.iter().map(|choice| (choice.value.as_str(), choice.label())).collect();
    assert_eq!(shown, [("Blue", "Blue: Like the sea"), ("Red", "Red: Like fire")]);
}

#[test]
fn formats_are_checked() {
    for (format, valid, invalid) in [
        ("email", vec!["a@b", "ä.b+c@example.org"], vec!["", "@b", "a@", "a b@c", "a@b\n"]),
        ("uri", vec!["https://example.org/a?b", "mailto:a@b"], vec!["", "example.org", "https://a b"]),
        (
            "date",
            vec!["2026-11-17", "2024-02-29"],
            vec!["2026-2-3", "2025-02-29", "20261117", "2026-11-17T00:00:00Z"],
        ),
        (
            "date-time",
            vec!["2026-11-17T12:00:00Z", "2026-11-17T12:00:00.5+02:00"],
            vec!["2026-11-17", "2026-11-17T12:00:00", "2026-11-17 12:00:00Z", "2026-11-17T12:00:00Z[UTC]"],
        ),
    ] {
        let form = form(json!({ "x": { "type": "string", "format": format } }), &[]).expect("a form");
        for (texts, is_valid) in [(valid, true), (invalid, false)] {
            for text in texts {
                assert_eq!(form.check(&content(json!({ "x": text }))).is_ok(), is_valid, "{format} {text:?}");
            }
        }
    }
}

/// A schema that is understood in part would accept answers that it forbids.
#[test]
fn schema_outside_of_the_supported_set_is_refused() {
    for property in [
        json!({ "type": "object", "properties": {} }),
        json!({ "type": ["string", "null"] }),
        json!({ "type": "string", "pattern": "^a" }),
        json!({ "type": "string", "format": "hostname" }),
        json!({ "type": "string", "minLength": -1 }),
        json!({ "type": "string", "minLength": "1" }),
        json!({ "type": "string", "const": "a" }),
        json!({ "type": "string", "enum": [] }),
        json!({ "type": "string", "enum": ["a", "a"] }),
        json!({ "type": "string", "enum": ["a", 1] }),
        json!({ "type": "string", "enum": ["a"], "enumNames": ["A", "B"] }),
        json!({ "type": "string", "enum": ["a"], "default": "b" }),
        json!({ "type": "string", "enum": ["a"], "minLength": 1 }),
        json!({ "type": "string", "oneOf": [{ "const": "a", "pattern": "b" }] }),
        json!({ "type": "string", "maxLength": 1, "default": "ab" }),
        json!({ "type": "integer", "multipleOf": 2 }),
        json!({ "type": "integer", "exclusiveMinimum": 2 }),
        json!({ "type": "integer", "default": 1.5 }),
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "array", "items": { "type": "integer", "enum": [1] } }),
        json!({ "type": "array", "items": { "type": "string", "enum": ["a"], "pattern": "b" } }),
        json!({ "enum": ["a"] }),
        json!({ "$ref": "#/definitions/a" }),
        json!(true),
        json!({}),
    ] {
        let refused = form(json!({ "x": property }), &[]);
        assert_eq!(refused, Err(InvalidForm::Field("x".to_owned())), "{property}");
    }
    let field = json!({ "x": { "type": "string" } });
    for (keyword, value) in [
        ("additionalProperties", json!(true)),
        ("allOf", json!([])),
        ("if", json!({})),
        ("required", json!("x")),
    ] {
        let mut schema = json!({ "type": "object", "properties": field });
        schema[keyword] = value;
        assert_eq!(AnswerForm::parse(&schema), Err(InvalidForm::Keyword(keyword.to_owned())));
    }
    assert_eq!(form(field.clone(), &["y"]), Err(InvalidForm::UnknownRequired("y".to_owned())));
    for schema in [json!({ "properties": field }), json!({ "type": "object" }), json!([]), json!("object")] {
        assert_eq!(AnswerForm::parse(&schema), Err(InvalidForm::NotAnObject), "{schema}");
    }
}

#[test]
fn size_of_a_form_is_limited() {
    let fields = |count: usize| {
        let field = |number: usize| (format!("f{number}"), json!({ "type": "boolean" }));
        form(Value::Object((0..count).map(field).collect()), &[])
    };
    assert!(fields(32).is_ok());
    assert_eq!((fields(0), fields(33)), (Err(InvalidForm::FieldCount), Err(InvalidForm::FieldCount)));
    let choices: Vec<String> = (0..257).map(|number| number.to_string()).collect();
    let many = form(json!({ "x": { "type": "string", "enum": choices } }), &[]);
    assert_eq!(many, Err(InvalidForm::TooManyChoices));
    let large = form(json!({ "x": { "type": "string", "description": "x".repeat(64 * 1024) } }), &[]);
    assert_eq!(large, Err(InvalidForm::TooLarge));
}

#[test]
fn typed_text_becomes_a_value_of_the_field() {
    let form = every_kind();
    let read = |name: &str, text: &str| form.field(name).expect("a field").parse_text(text);
    assert_eq!(read("name", "Ada"), Ok(json!("Ada")));
    assert_eq!(read("age", " 20 "), Ok(json!(20)));
    assert_eq!(read("ratio", "0.25"), Ok(json!(0.25)));
    assert_eq!((read("sure", "Yes"), read("sure", "n")), (Ok(json!(true)), Ok(json!(false))));
    assert_eq!(read("tags", "a, c"), Ok(json!(["a", "c"])));
    assert_eq!(read("age", "many"), Err(FieldProblem::Type("a whole number")));
    assert_eq!(read("age", "1e2"), Err(FieldProblem::Type("a whole number")));
    assert_eq!(read("colour", "green"), Err(FieldProblem::NotAChoice));
    assert_eq!(read("sure", ""), Err(FieldProblem::Type("yes or no")));
}

#[test]
fn values_are_never_printed_and_equal_answers_are_equal_texts() {
    let one = content(serde_json::from_str(r#"{ "token": "hunter2", "name": "Ada" }"#).expect("JSON"));
    let other = content(serde_json::from_str(r#"{"name":"Ada","token":"hunter2"}"#).expect("JSON"));
    assert_eq!(
        (one.to_json(), format!("{one:?}")),
        (other.to_json(), "AnswerContent([redacted])".to_owned())
    );
    let error = every_kind().check(&one).expect_err("no age");
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(every_kind().secrets(&one).collect::<Vec<_>>(), ["hunter2"]);
    assert_eq!(check_content(None, Some(&one)), Err(InvalidContent::NotExpected));
    assert_eq!(check_content(Some(&every_kind()), None), Err(InvalidContent::Missing));
}

/// Any JSON that is not deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{1,10}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Nothing that an agent sends makes the check panic, and what is accepted has only known fields of the right type.
    #[test]
    fn accepted_answers_have_only_values_that_the_form_allows(values in any_json()) {
        let form = every_kind();
        let Ok(content) = serde_json::from_value::<AnswerContent>(values) else { return Ok(()) };
        if form.check(&content).is_ok() {
            for (name, value) in content.into_values() {
                let kind = &form.field(&name).expect("a field").kind;
                let is_of_type = match kind {
                    FieldKind::Text { .. } | FieldKind::Choice { .. } => value.is_string(),
                    FieldKind::Number { .. } | FieldKind::Integer { .. } => value.is_number(),
                    FieldKind::Boolean { .. } => value.is_boolean(),
                    FieldKind::Choices { .. } => value.is_array(),
                };
                prop_assert!(is_of_type, "{} {}", name, value);
            }
        }
    }

    /// A value in the range of a field is accepted, and one outside is refused.
    #[test]
    fn numbers_and_lengths_are_compared_with_their_limits(number in -5i64..30, min in 0i64..10, max in 10i64..20) {
        let schema = json!({
            "n": { "type": "integer", "minimum": min, "maximum": max },
            "t": { "type": "string", "minLength": min, "maxLength": max },
        });
        let form = form(schema, &[]).expect("a form");
        let is_inside = (min..=max).contains(&number);
        prop_assert_eq!(form.check(&content(json!({ "n": number }))).is_ok(), is_inside);
        let text = "ä".repeat(usize::try_from(number).unwrap_or(0));
        let is_inside = (min..=max).contains(&number.max(0));
        prop_assert_eq!(form.check(&content(json!({ "t": text }))).is_ok(), is_inside);
    }

    /// A schema with an unknown keyword anywhere is refused, whatever else it says.
    #[test]
    fn random_schemas_are_refused_or_understood(property in any_json(), keyword in "[a-z]{3,12}") {
        let _no_panic = (AnswerForm::parse(&property), form(json!({ "x": property }), &[]));
        let known = ["type", "title", "description", "default", "format", "examples", "enum"];
        prop_assume!(!known.contains(&keyword.as_str()));
        let mut property = json!({ "type": "string" });
        property[&keyword] = json!("something");
        prop_assert!(form(json!({ "x": property }), &[]).is_err(), "{}", keyword);
    }
}
