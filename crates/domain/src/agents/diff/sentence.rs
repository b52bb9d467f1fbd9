//! One sentence about a change, for people.

use super::change::{Change, ChangeKind};
use crate::named_enum::named_enum;

named_enum! {
    /// A language of the sentences.
    Language, "language";
    English = "en",
    Chinese = "zh-CN",
}

impl Change {
    /// Returns what has changed, in one sentence. It repeats names and texts of the manifests in quotes.
    #[must_use]
    pub fn sentence(&self, language: Language) -> String {
        let template = match language {
            Language::English => english(self.kind),
            Language::Chinese => chinese(self.kind),
        };
        let unnamed = match language {
            Language::English => "nothing",
            Language::Chinese => "无",
        };
        fill(template, |name| match name {
            "subject" => quoted(&self.subject),
            "before" => self.before.as_deref().map_or(unnamed.to_owned(), quoted),
            "after" => self.after.as_deref().map_or(unnamed.to_owned(), quoted),
            _ => String::new(),
        })
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// Replaces `{name}` once: a value that contains braces stays as it is.
fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((name, rest)) = part.split_once('}') {
            text.push_str(&value(name));
            text.push_str(rest);
        }
    }
    text
}

fn english(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::RequiredAdded => "The field {subject} is now required.",
        ChangeKind::TypeChanged => "The type changed from {before} to {after}.",
        ChangeKind::AdditionalPropertiesClosed => "Fields that are not declared are no longer accepted.",
        ChangeKind::EnumValueRemoved => "Values are no longer accepted: {before}.",
        ChangeKind::SensitivityRaised => {
            "The permission {subject} became more sensitive: {before} to {after}."
        }
        ChangeKind::ScopeAdded => "The agent asks for a new permission {subject} of sensitivity {after}.",
        ChangeKind::ScopeRemoved => "The agent no longer asks for the permission {subject}.",
        ChangeKind::ToolRemoved => "The tool {subject} was removed.",
        ChangeKind::AdditionalPropertiesOpened => "Fields that are not declared are now accepted.",
        ChangeKind::EnumValueAdded => "More values are accepted: {after}.",
        ChangeKind::ToolAdded => "The agent has a new tool {subject} under the permission {after}.",
        ChangeKind::ToolRenamed => "The tool {before} is now called {after}.",
        ChangeKind::ScopeRemapped => "The tool {subject} moved from the permission {before} to {after}.",
        ChangeKind::SensitivityLowered => {
            "The permission {subject} became less sensitive, so you are asked less often: {before} to {after}."
        }
        ChangeKind::DescriptionChanged => "The text {subject} changed from {before} to {after}.",
        ChangeKind::RequiredToolChanged => {
            "Whether the agent needs the tool {subject} changed from {before} to {after}."
        }
        ChangeKind::TimeoutChanged => {
            "The time limit of the tool {subject} changed from {before} to {after} ms."
        }
        ChangeKind::FlagChanged => "The capability {subject} changed from {before} to {after}.",
        ChangeKind::VersionChanged => "The version of the agent changed from {before} to {after}.",
        ChangeKind::UnknownMemberChanged => {
            "The member {subject}, which is not in the specification, changed."
        }
        ChangeKind::TypeWidened => "More types are accepted: {after} instead of {before}.",
        ChangeKind::RequiredDropped => "The field {subject} is no longer required.",
        ChangeKind::EnumAdded => "Only some values are accepted now: {after}.",
        ChangeKind::EnumDropped => "Values are no longer restricted to a list.",
        ChangeKind::PropertyAdded => "The tool takes a new field {subject}.",
        ChangeKind::PropertyRemoved => "The field {subject} is no longer declared.",
        ChangeKind::ItemAdded => "The list declares a new item at position {subject}.",
        ChangeKind::ItemRemoved => "The list no longer declares the item at position {subject}.",
        ChangeKind::ConstraintTightened => {
            "The restriction {subject} is new or stricter: {before} to {after}."
        }
        ChangeKind::ConstraintLoosened => "The restriction {subject} is gone or weaker: {before} to {after}.",
        ChangeKind::AlternativeAdded => "Another form is accepted ({subject}).",
        ChangeKind::AlternativeRemoved => "A form is no longer accepted ({subject}).",
        ChangeKind::ValuesForbidden => "No value is accepted here any more.",
        ChangeKind::ValuesAllowed => "Values are accepted here now.",
        ChangeKind::AnnotationChanged => "The text {subject} of the input changed from {before} to {after}.",
        ChangeKind::TooComplex => {
            "The inputs are too different to be compared, so they count as incompatible."
        }
    }
}

fn chinese(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::RequiredAdded => "字段 {subject} 现在为必填。",
        ChangeKind::TypeChanged => "类型从 {before} 改为 {after}。",
        ChangeKind::AdditionalPropertiesClosed => "不再接受未声明的字段。",
        ChangeKind::EnumValueRemoved => "不再接受这些取值:{before}。",
        ChangeKind::SensitivityRaised => "权限 {subject} 的敏感度提高:从 {before} 到 {after}。",
        ChangeKind::ScopeAdded => "该 Agent 请求新的权限 {subject},敏感度为 {after}。",
        ChangeKind::ScopeRemoved => "该 Agent 不再请求权限 {subject}。",
        ChangeKind::ToolRemoved => "工具 {subject} 已删除。",
        ChangeKind::AdditionalPropertiesOpened => "现在接受未声明的字段。",
        ChangeKind::EnumValueAdded => "新增可接受的取值:{after}。",
        ChangeKind::ToolAdded => "该 Agent 新增工具 {subject},使用权限 {after}。",
        ChangeKind::ToolRenamed => "工具 {before} 更名为 {after}。",
        ChangeKind::ScopeRemapped => "工具 {subject} 使用的权限从 {before} 改为 {after}。",
        ChangeKind::SensitivityLowered => {
            "权限 {subject} 的敏感度降低,询问您的次数会减少:从 {before} 到 {after}。"
        }
        ChangeKind::DescriptionChanged => "文案 {subject} 从 {before} 改为 {after}。",
        ChangeKind::RequiredToolChanged => "工具 {subject} 是否必需:从 {before} 改为 {after}。",
        ChangeKind::TimeoutChanged => "工具 {subject} 的超时从 {before} 毫秒改为 {after} 毫秒。",
        ChangeKind::FlagChanged => "能力 {subject} 从 {before} 改为 {after}。",
        ChangeKind::VersionChanged => "Agent 版本从 {before} 改为 {after}。",
        ChangeKind::UnknownMemberChanged => "规范之外的成员 {subject} 有变更。",
        ChangeKind::TypeWidened => "可接受的类型增加:从 {before} 到 {after}。",
        ChangeKind::RequiredDropped => "字段 {subject} 不再必填。",
        ChangeKind::EnumAdded => "现在只接受部分取值:{after}。",
        ChangeKind::EnumDropped => "取值不再限于列表。",
        ChangeKind::PropertyAdded => "该工具新增字段 {subject}。",
        ChangeKind::PropertyRemoved => "不再声明字段 {subject}。",
        ChangeKind::ItemAdded => "列表在位置 {subject} 新增声明的元素。",
        ChangeKind::ItemRemoved => "列表不再声明位置 {subject} 的元素。",
        ChangeKind::ConstraintTightened => "限制 {subject} 新增或变严:从 {before} 到 {after}。",
        ChangeKind::ConstraintLoosened => "限制 {subject} 取消或放宽:从 {before} 到 {after}。",
        ChangeKind::AlternativeAdded => "新增一种可接受的形式({subject})。",
        ChangeKind::AlternativeRemoved => "不再接受其中一种形式({subject})。",
        ChangeKind::ValuesForbidden => "此处不再接受任何值。",
        ChangeKind::ValuesAllowed => "此处现在接受值。",
        ChangeKind::AnnotationChanged => "输入说明 {subject} 从 {before} 改为 {after}。",
        ChangeKind::TooComplex => "两个输入模式差异过大,无法比较,按不兼容处理。",
    }
}
