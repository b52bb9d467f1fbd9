//! What has changed since the reader agreed: every tool and every scope that has, however many changes there are.

use guildhall_domain::agents::diff::{Change, ChangeKind, Consent, Contract, ManifestDiff};
use guildhall_domain::agents::manifest::Manifest;

use super::words;
use crate::edge::html::{Html, Language};

/// Sentences about one tool or scope. More do not help anybody to decide, and [`DECISIVE`] changes are fewer.
const MAX_SENTENCES: usize = 6;

/// Changes of what a tool or scope is. They come before those of inputs, of which an author can make any number.
const DECISIVE: [ChangeKind; 9] = [
    ChangeKind::ScopeAdded,
    ChangeKind::SensitivityRaised,
    ChangeKind::SensitivityLowered,
    ChangeKind::ToolAdded,
    ChangeKind::ToolRenamed,
    ChangeKind::ScopeRemapped,
    ChangeKind::RequiredToolChanged,
    ChangeKind::DescriptionChanged,
    ChangeKind::FlagChanged,
];

/// What changes are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject<'a> {
    Tool(&'a str),
    Scope(&'a str),
    /// The rest of the manifest.
    Agent,
}

impl<'a> Subject<'a> {
    fn of(change: &'a Change) -> Self {
        match (&change.tool, &change.scope) {
            (Some(tool), _) => Self::Tool(tool),
            (None, Some(scope)) => Self::Scope(scope),
            (None, None) => Self::Agent,
        }
    }
}

/// The changes of one tool, of one scope, or of the rest.
#[derive(Debug)]
struct ChangeGroup<'a> {
    subject: Subject<'a>,
    /// Those that are shown.
    changes: Vec<&'a Change>,
    /// How many more there are.
    more: usize,
}

impl ChangeGroup<'_> {
    fn shorten(&mut self) {
        self.changes.sort_by_key(|change| !DECISIVE.contains(&change.kind));
        self.more = self.changes.len().saturating_sub(MAX_SENTENCES);
        self.changes.truncate(MAX_SENTENCES);
    }
}

/// Groups the changes that people are told about. The order of groups is that of their most important changes.
fn group_changes(changes: &[Change]) -> Vec<ChangeGroup<'_>> {
    let mut groups: Vec<ChangeGroup<'_>> = Vec::new();
    for change in changes.iter().filter(|change| is_told(change)) {
        let subject = Subject::of(change);
        match groups.iter_mut().find(|group| group.subject == subject) {
            Some(group) => group.changes.push(change),
            None => groups.push(ChangeGroup { subject, changes: vec![change], more: 0 }),
        }
    }
    groups.iter_mut().for_each(ChangeGroup::shorten);
    groups
}

fn is_told(change: &Change) -> bool {
    change.consent != Consent::Silent || change.contract == Contract::Breaking
}

/// Adds the changes between the manifest of a consent, if it can be read, and the current one.
pub(super) fn add_changes(
    html: &mut Html,
    language: Language,
    agreed: Option<&Manifest>,
    current: &Manifest,
) {
    html.element(["<section>\n<h2>", "</h2>\n"], language.pick("What has changed", "变更内容"));
    let Some(agreed) = agreed else {
        let text = language.pick(
            "The manifest that you agreed to cannot be compared any more. Read everything below.",
            "您同意过的能力清单已无法比较。请阅读下面的全部内容。",
        );
        html.element(["<p>", "</p>\n</section>\n"], text);
        return;
    };
    let diff = ManifestDiff::between(agreed, current);
    let groups = group_changes(diff.changes());
    if groups.is_empty() {
        let text = language.pick("Only details that need no consent.", "只有无需您同意的细节。");
        html.element(["<p>", "</p>\n"], text);
    }
    for group in &groups {
        add_group(html, language, group);
    }
    html.markup("</section>\n");
}

fn add_group(html: &mut Html, language: Language, group: &ChangeGroup<'_>) {
    let (kind, name) = match group.subject {
        Subject::Tool(name) => (language.pick("Tool", "工具"), Some(name)),
        Subject::Scope(id) => (language.pick("Permission", "权限"), Some(id)),
        Subject::Agent => (language.pick("Agent", "智能体"), None),
    };
    html.markup("<h3>").text(kind);
    if let Some(name) = name {
        html.element([" <code>", "</code>"], name);
    }
    html.markup("</h3>\n<ul>\n");
    for change in &group.changes {
        html.element(["<li><bdi>", "</bdi></li>\n"], &change.sentence(language.of_manifests()));
    }
    if group.more > 0 {
        html.element(["<li>", "</li>\n"], &words::more_changes(language, group.more));
    }
    html.markup("</ul>\n");
}

#[cfg(test)]
mod tests {
    use guildhall_domain::agents::diff::Side;
    use guildhall_domain::agents::manifest::pointer::Pointer;

    use super::*;

    fn change(kind: ChangeKind, tool: Option<&str>, scope: &str) -> Change {
        Change {
            side: Side::New,
            pointer: Pointer::root(),
            kind,
            subject: String::new(),
            before: None,
            after: None,
            tool: tool.map(str::to_owned),
            scope: Some(scope.to_owned()),
            contract: Contract::Breaking,
            consent: Consent::ReConsent,
        }
    }

    /// 500 changes of the input of one tool.
    fn many() -> Vec<Change> {
        vec![change(ChangeKind::RequiredAdded, Some("read_file"), "filesystem:read"); 500]
    }

    fn summary(changes: &[Change]) -> Vec<(Subject<'_>, usize, usize)> {
        let groups = group_changes(changes);
        groups.iter().map(|group| (group.subject, group.changes.len(), group.more)).collect()
    }

    #[test]
    fn changes_of_one_tool_do_not_hide_those_of_others() {
        let mut changes = many();
        changes.push(change(ChangeKind::ScopeRemapped, Some("locate"), "location:read"));
        changes.push(change(ChangeKind::SensitivityLowered, None, "location:read"));
        let expected = [
            (Subject::Tool("read_file"), MAX_SENTENCES, 500 - MAX_SENTENCES),
            (Subject::Tool("locate"), 1, 0),
            (Subject::Scope("location:read"), 1, 0),
        ];
        assert_eq!(summary(&changes), expected);
    }

    #[test]
    fn every_tool_and_scope_of_the_largest_manifest_is_shown() {
        let tools = (0..128).map(|number| change(ChangeKind::TypeChanged, Some(&number.to_string()), "s"));
        let scopes = (0..64).map(|number| change(ChangeKind::ScopeAdded, None, &number.to_string()));
        let changes: Vec<Change> = many().into_iter().chain(tools).chain(scopes).collect();
        assert_eq!(summary(&changes).len(), 1 + 128 + 64);
    }

    #[test]
    fn new_permission_of_a_tool_comes_before_changes_of_its_input() {
        let mut changes = many();
        changes.push(change(ChangeKind::ScopeRemapped, Some("read_file"), "location:read"));
        let groups = group_changes(&changes);
        let [group] = groups.as_slice() else { panic!("{groups:?}") };
        let kinds: Vec<ChangeKind> = group.changes.iter().map(|change| change.kind).collect();
        assert_eq!((kinds.len(), kinds[0], group.more), (MAX_SENTENCES, ChangeKind::ScopeRemapped, 495));
    }

    #[test]
    fn changes_that_nobody_is_told_about_are_left_out() {
        let (contract, consent) = (Contract::Compatible, Consent::Silent);
        let silent =
            Change { contract, consent, ..change(ChangeKind::TimeoutChanged, Some("read_file"), "s") };
        assert!(summary(&[silent]).is_empty());
    }
}
