//! The preset scopes.

use axum::Json;
use guildhall_domain::agents::manifest::presets::PRESET_SCOPES;
use guildhall_protocol::rest::relations::scopes::{PresetScopeView, PresetScopesView, TextsView};

/// List the preset scopes
///
/// With their labels and descriptions in every language. A manifest that names one needs no texts of its own.
#[utoipa::path(
    get, path = "/api/v1/scopes", tag = "relations", operation_id = "listPresetScopes",
    responses((status = 200, description = "The preset scopes", body = PresetScopesView))
)]
pub(crate) async fn list() -> Json<PresetScopesView> {
    let texts = |en: &str, zh_cn: &str| TextsView { en: en.to_owned(), zh_cn: zh_cn.to_owned() };
    let scopes = PRESET_SCOPES.iter().map(|scope| PresetScopeView {
        id: scope.id.to_owned(),
        sensitivity: scope.sensitivity.to_string(),
        label: texts(scope.label_en, scope.label_zh_cn),
        description: texts(scope.description_en, scope.description_zh_cn),
    });
    Json(PresetScopesView { scopes: scopes.collect() })
}
