//! Schemas of JSON objects that one property tells apart, such as the `kind` of a workspace.
//!
//! Each variant is a schema of its own name, so that generated clients have a type for it.

use utoipa::ToSchema;
use utoipa::openapi::schema::{Discriminator, ObjectBuilder, OneOfBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};

/// Named schemas, as [`ToSchema::schemas`] collects them.
pub(crate) type NamedSchemas = Vec<(String, RefOr<Schema>)>;

/// The variants of a union, in the order of the document.
#[derive(Default)]
pub(crate) struct TaggedUnion {
    tag: &'static str,
    variants: Vec<Variant>,
    /// What the variants refer to.
    referenced: NamedSchemas,
}

struct Variant {
    /// The value of the tag; none for a variant with any other value.
    value: Option<&'static str>,
    name: String,
    schema: RefOr<Schema>,
}

impl TaggedUnion {
    pub(crate) fn new(tag: &'static str) -> Self {
        Self { tag, ..Self::default() }
    }

    /// Adds a variant: an object that is described without the tag.
    pub(crate) fn variant<T: ToSchema>(mut self, value: &'static str) -> Self {
        T::schemas(&mut self.referenced);
        let schema = with_tag(T::schema(), self.tag, value);
        self.variants.push(Variant { value: Some(value), name: T::name().into_owned(), schema });
        self
    }

    /// Adds a variant with a schema that has the tag already.
    pub(crate) fn tagged(mut self, value: Option<&'static str>, name: String, schema: RefOr<Schema>) -> Self {
        self.variants.push(Variant { value, name, schema });
        self
    }

    /// Adds schemas that the variants refer to.
    pub(crate) fn refer<T: ToSchema>(mut self) -> Self {
        self.referenced.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.referenced);
        self
    }

    pub(crate) fn schema(&self, description: &str) -> RefOr<Schema> {
        let mut discriminator = Discriminator::new(self.tag);
        for variant in &self.variants {
            let Some(value) = variant.value else { continue };
            discriminator.mapping.insert(value.to_owned(), format!("#/components/schemas/{}", variant.name));
        }
        let union = self.variants.iter().fold(OneOfBuilder::new(), |union, variant| {
            union.item(Ref::from_schema_name(variant.name.clone()))
        });
        union.description(Some(description)).discriminator(Some(discriminator)).into()
    }

    pub(crate) fn schemas(self, found: &mut NamedSchemas) {
        found.extend(self.referenced);
        found.extend(self.variants.into_iter().map(|variant| (variant.name, variant.schema)));
    }
}

/// Returns the schema of an object with a required tag of one value.
fn with_tag(schema: RefOr<Schema>, tag: &str, value: &str) -> RefOr<Schema> {
    let RefOr::T(Schema::Object(mut object)) = schema else { return schema };
    object.properties.insert(tag.to_owned(), constant(value));
    object.required.insert(0, tag.to_owned());
    RefOr::T(Schema::Object(object))
}

/// Returns the schema of a text with one value.
pub(crate) fn constant(value: &str) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(SchemaType::new(Type::String)).enum_values(Some([value])).into()
}
