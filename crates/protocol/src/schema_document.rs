//! Documents with one schema and what it refers to, for tests.

use serde_json::{Value, json};
use utoipa::ToSchema;

/// Returns a document with the components of a type, like the API document.
pub(crate) fn schema_document<T: ToSchema>() -> Value {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    let schemas: serde_json::Map<String, Value> =
        schemas.into_iter().map(|(name, schema)| (name, json!(schema))).collect();
    json!({ "components": { "schemas": schemas } })
}
