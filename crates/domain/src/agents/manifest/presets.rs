//! Scopes whose words and sensitivity the platform defines.

use super::Sensitivity;

/// A scope of the i18n bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresetScope {
    pub id: &'static str,
    pub sensitivity: Sensitivity,
    pub label_en: &'static str,
    pub label_zh_cn: &'static str,
}

/// The preset scopes.
pub const PRESET_SCOPES: [PresetScope; 4] = [
    PresetScope {
        id: "notification:send",
        sensitivity: Sensitivity::Low,
        label_en: "Send system notifications",
        label_zh_cn: "发送系统通知",
    },
    PresetScope {
        id: "filesystem:read",
        sensitivity: Sensitivity::Medium,
        label_en: "Read local files",
        label_zh_cn: "读取本地文件",
    },
    PresetScope {
        id: "clipboard:read",
        sensitivity: Sensitivity::Medium,
        label_en: "Read the clipboard",
        label_zh_cn: "读取剪贴板",
    },
    PresetScope {
        id: "location:read",
        sensitivity: Sensitivity::High,
        label_en: "Read your location",
        label_zh_cn: "读取位置",
    },
];

/// Prefixes of scopes that only the platform defines.
pub const RESERVED_PREFIXES: [&str; 2] = ["hashee:", "system:"];

/// Returns the preset scope with an id.
#[must_use]
pub fn preset(id: &str) -> Option<&'static PresetScope> {
    PRESET_SCOPES.iter().find(|scope| scope.id == id)
}
