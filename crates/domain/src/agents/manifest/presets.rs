//! Scopes whose words and sensitivity the platform defines.

use super::Sensitivity;
use crate::agents::diff::Language;

/// A scope of the i18n bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresetScope {
    pub id: &'static str,
    pub sensitivity: Sensitivity,
    pub label_en: &'static str,
    pub label_zh_cn: &'static str,
    pub description_en: &'static str,
    pub description_zh_cn: &'static str,
}

/// The preset scopes.
pub const PRESET_SCOPES: [PresetScope; 4] = [
    PresetScope {
        id: "notification:send",
        sensitivity: Sensitivity::Low,
        label_en: "Send system notifications",
        label_zh_cn: "发送系统通知",
        description_en: "The agent can show notifications on your device. You are not asked each time.",
        description_zh_cn: "智能体可以在您的设备上显示通知，不会每次询问。",
    },
    PresetScope {
        id: "filesystem:read",
        sensitivity: Sensitivity::Medium,
        label_en: "Read local files",
        label_zh_cn: "读取本地文件",
        description_en: "The agent can ask your device for the content of files. You are asked once in a conversation.",
        description_zh_cn: "智能体可以请求读取您设备上的文件内容。每个会话询问一次。",
    },
    PresetScope {
        id: "clipboard:read",
        sensitivity: Sensitivity::Medium,
        label_en: "Read the clipboard",
        label_zh_cn: "读取剪贴板",
        description_en: "The agent can ask your device for what you have copied. You are asked once in a conversation.",
        description_zh_cn: "智能体可以请求读取您复制的内容。每个会话询问一次。",
    },
    PresetScope {
        id: "location:read",
        sensitivity: Sensitivity::High,
        label_en: "Read your location",
        label_zh_cn: "读取位置",
        description_en: "The agent can ask your device where you are. You are asked every time.",
        description_zh_cn: "智能体可以请求读取您的位置。每次都会询问。",
    },
];

impl PresetScope {
    #[must_use]
    pub const fn label(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.label_en,
            Language::Chinese => self.label_zh_cn,
        }
    }

    #[must_use]
    pub const fn description(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.description_en,
            Language::Chinese => self.description_zh_cn,
        }
    }
}

/// Prefixes of scopes that only the platform defines.
pub const RESERVED_PREFIXES: [&str; 2] = ["hashee:", "system:"];

/// Returns the preset scope with an id.
#[must_use]
pub fn preset(id: &str) -> Option<&'static PresetScope> {
    PRESET_SCOPES.iter().find(|scope| scope.id == id)
}
