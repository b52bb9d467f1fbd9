//! One change of a manifest.

use crate::agents::manifest::pointer::Pointer;
use crate::named_enum::named_enum;

named_enum! {
    /// Whether a change breaks who relies on the manifest: the table of the specification.
    Contract, "contract verdict";
    Compatible = "compatible",
    Breaking = "breaking",
}

named_enum! {
    /// Whether users have to know about a change.
    Consent, "consent verdict";
    /// It is synchronised without a word.
    Silent = "silent",
    /// They are told.
    Notify = "notify",
    /// They are asked again.
    ReConsent = "re-consent",
}

named_enum! {
    /// The version of the manifest that a pointer leads into.
    Side, "side";
    Old = "old",
    New = "new",
}

named_enum! {
    /// What has changed.
    ChangeKind, "kind of change";
    // Those of the table of the specification.
    RequiredAdded = "required-added",
    TypeChanged = "type-changed",
    AdditionalPropertiesClosed = "additional-properties-closed",
    EnumValueRemoved = "enum-value-removed",
    SensitivityRaised = "sensitivity-raised",
    ScopeAdded = "scope-added",
    ScopeRemoved = "scope-removed",
    ToolRemoved = "tool-removed",
    AdditionalPropertiesOpened = "additional-properties-opened",
    EnumValueAdded = "enum-value-added",
    // Tools and scopes.
    ToolAdded = "tool-added",
    ToolRenamed = "tool-renamed",
    ScopeRemapped = "scope-remapped",
    SensitivityLowered = "sensitivity-lowered",
    DescriptionChanged = "description-changed",
    RequiredToolChanged = "required-tool-changed",
    TimeoutChanged = "timeout-changed",
    FlagChanged = "flag-changed",
    VersionChanged = "version-changed",
    UnknownMemberChanged = "unknown-member-changed",
    // Input schemas.
    TypeWidened = "type-widened",
    RequiredDropped = "required-dropped",
    EnumAdded = "enum-added",
    EnumDropped = "enum-dropped",
    PropertyAdded = "property-added",
    PropertyRemoved = "property-removed",
    ItemAdded = "item-added",
    ItemRemoved = "item-removed",
    ConstraintTightened = "constraint-tightened",
    ConstraintLoosened = "constraint-loosened",
    AlternativeAdded = "alternative-added",
    AlternativeRemoved = "alternative-removed",
    ValuesForbidden = "values-forbidden",
    ValuesAllowed = "values-allowed",
    AnnotationChanged = "annotation-changed",
    /// The schemas are too different to be compared in bounded time.
    TooComplex = "too-complex",
}

/// One change, with its verdicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The manifest that the pointer leads into: the old one for what is removed.
    pub side: Side,
    pub pointer: Pointer,
    pub kind: ChangeKind,
    /// What the kind is about: a field, a keyword, a scope, a tool.
    pub subject: String,
    pub before: Option<String>,
    pub after: Option<String>,
    /// The tool that is changed, by its new name.
    pub tool: Option<String>,
    /// The scope that the change is about, or that of the tool.
    pub scope: Option<String>,
    pub contract: Contract,
    pub consent: Consent,
}

impl Change {
    pub(super) fn values(self, before: impl Into<String>, after: impl Into<String>) -> Self {
        Self { before: Some(before.into()), after: Some(after.into()), ..self }
    }

    pub(super) fn before(self, before: impl Into<String>) -> Self {
        Self { before: Some(before.into()), ..self }
    }

    pub(super) fn after(self, after: impl Into<String>) -> Self {
        Self { after: Some(after.into()), ..self }
    }

    pub(super) fn tool(self, name: &str) -> Self {
        Self { tool: Some(name.to_owned()), ..self }
    }

    pub(super) fn scope(self, id: &str) -> Self {
        Self { scope: Some(id.to_owned()), ..self }
    }

    pub(super) fn consent(self, consent: Consent) -> Self {
        Self { consent, ..self }
    }

    /// Whoever relies on the manifest is asked again when it breaks.
    pub(super) fn breaking(self) -> Self {
        Self { contract: Contract::Breaking, consent: Consent::ReConsent, ..self }
    }
}
