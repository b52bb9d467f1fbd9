//! What a member may do in a tenant: one table of roles and rights, and the rules of giving roles away.

use crate::access::principal::named;

named! {
    /// What a member is in a tenant, in rising order.
    Role, "role";
    /// Sees what there is.
    Viewer = "viewer",
    /// Works: starts and steers runs.
    Developer = "developer",
    /// Keeps the tenant going: members, keys, runners, profiles.
    Operator = "operator",
    /// Decides over the tenant itself.
    Owner = "owner",
}

/// One line of the matrix.
struct Row {
    right: Right,
    roles: &'static [Role],
    allows: &'static str,
}

macro_rules! matrix {
    ($($right:ident = $name:literal: [$($role:ident),*], $allows:literal;)+) => {
        named! {
            /// Something that a member may or may not do in a tenant.
            Right, "right";
            $(#[doc = $allows] $right = $name,)+
        }

        /// Who may do what. There is no other place: docs/roles.md is rendered from here.
        const MATRIX: &[Row] = &[
            $(Row { right: Right::$right, roles: &[$(Role::$role),*], allows: $allows },)+
        ];
    };
}

matrix! {
    TenantRead     = "tenant:read":     [Owner, Operator, Developer, Viewer], "See the tenant and its settings";
    TenantManage   = "tenant:manage":   [Owner],                              "Rename and delete the tenant";
    MembersRead    = "members:read":    [Owner, Operator, Developer, Viewer], "See who is a member, and as what";
    MembersManage  = "members:manage":  [Owner, Operator],                    "Invite and remove members, change roles";
    KeysRead       = "keys:read":       [Owner, Operator, Developer],         "See which service keys exist";
    KeysManage     = "keys:manage":     [Owner, Operator],                    "Create and revoke service keys";
    AuditRead      = "audit:read":      [Owner, Operator],                    "Read the audit log";
    ProjectsRead   = "projects:read":   [Owner, Operator, Developer, Viewer], "See projects";
    ProjectsManage = "projects:manage": [Owner, Operator],                    "Create, change and delete projects";
    RunsRead       = "runs:read":       [Owner, Operator, Developer, Viewer], "Read runs, their events and results";
    RunsWrite      = "runs:write":      [Owner, Operator, Developer],         "Create, command and cancel runs";
    RunsErase      = "runs:erase":      [Owner, Operator],                    "Erase what an event of a run says";
    RunnersManage  = "runners:manage":  [Owner, Operator],                    "Issue, see and revoke enrolment tokens for runners";
    ProfilesManage = "profiles:manage": [Owner, Operator],                    "Create, change and delete profiles";
    SubjectsVouch  = "subjects:vouch":  [Owner, Operator, Developer],         "As a service key, mint tokens for external subjects";
}

impl Role {
    /// Returns whether a member of this role has the right.
    #[must_use]
    pub fn allows(self, right: Right) -> bool {
        MATRIX.iter().find(|row| row.right == right).is_some_and(|row| row.roles.contains(&self))
    }

    /// Returns whether a member of this role may give `granted` to someone, or take it away: only who manages members
    /// may, and nothing above their own role. So only owners make owners.
    #[must_use]
    pub fn may_grant(self, granted: Self) -> bool {
        self.allows(Right::MembersManage) && granted <= self
    }
}

/// Who asks for a change of a membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The member, of their own. Leaving and stepping down need no right.
    Themselves,
    /// Another member, of this role.
    Member(Role),
}

/// Why a membership stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemberRefusal {
    #[error("your role does not manage members: ask an owner or operator of the tenant")]
    NotYours,
    #[error("the role {0} is above yours: ask a member who has it")]
    AboveYou(Role),
    #[error("a tenant keeps at least one owner: make another member an owner first")]
    LastOwner,
}

/// Decides whether a member may be added, or invited, with a role.
pub fn add_member(actor: Role, role: Role) -> Result<(), MemberRefusal> {
    may_hand(By::Member(actor), role)
}

/// Decides whether a member of role `current` may be removed. `owners` counts the tenant's owners now, the member
/// among them; it must be read under a lock that a second removal waits for.
pub fn remove_member(by: By, current: Role, owners: usize) -> Result<(), MemberRefusal> {
    may_hand(by, current)?;
    keeps_an_owner(current, None, owners)
}

/// Decides whether a member's role may change from `current` to `to`. For `owners` see [`remove_member`].
pub fn change_role(by: By, current: Role, to: Role, owners: usize) -> Result<(), MemberRefusal> {
    may_hand(by, current)?;
    match by {
        By::Themselves if to > current => return Err(MemberRefusal::AboveYou(to)),
        By::Themselves => {}
        By::Member(_) => may_hand(by, to)?,
    }
    keeps_an_owner(current, Some(to), owners)
}

fn may_hand(by: By, role: Role) -> Result<(), MemberRefusal> {
    match by {
        By::Themselves => Ok(()),
        By::Member(actor) if !actor.allows(Right::MembersManage) => Err(MemberRefusal::NotYours),
        By::Member(actor) if !actor.may_grant(role) => Err(MemberRefusal::AboveYou(role)),
        By::Member(_) => Ok(()),
    }
}

fn keeps_an_owner(current: Role, to: Option<Role>, owners: usize) -> Result<(), MemberRefusal> {
    let loses_an_owner = current == Role::Owner && to != Some(Role::Owner);
    if loses_an_owner && owners <= 1 { Err(MemberRefusal::LastOwner) } else { Ok(()) }
}

/// Renders the matrix as the table that stands in docs/roles.md.
#[must_use]
pub fn matrix_markdown() -> String {
    let roles: Vec<Role> = Role::ALL.iter().rev().copied().collect();
    let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let mut table = format!("| right | {} | what it allows |\n", names.join(" | "));
    table.push_str(&format!("|---|{}---|\n", "---|".repeat(roles.len())));
    for row in MATRIX {
        let cells = roles.iter().map(|role| if role.allows(row.right) { "yes" } else { "no" });
        let cells: Vec<&str> = cells.collect();
        table.push_str(&format!("| `{}` | {} | {} |\n", row.right, cells.join(" | "), row.allows));
    }
    table
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    fn any_role() -> impl Strategy<Value = Role> {
        proptest::sample::select(Role::ALL)
    }

    #[test]
    fn every_right_has_one_line_and_is_found_by_its_name() {
        let lines: Vec<Right> = MATRIX.iter().map(|row| row.right).collect();
        assert_eq!(lines, Right::ALL);
        for right in Right::ALL {
            assert_eq!(Right::from_name(right.as_str()), Ok(*right));
        }
        assert!(Right::from_name("everything").is_err());
        assert!(Role::from_name("admin").is_err());
    }

    #[test]
    fn each_role_has_all_rights_of_the_role_below_and_more() {
        let rights =
            |role: Role| Right::ALL.iter().filter(move |right| role.allows(**right)).collect::<Vec<_>>();
        for pair in Role::ALL.windows(2) {
            let (below, above) = (rights(pair[0]), rights(pair[1]));
            assert!(below.iter().all(|right| above.contains(right)), "{} ⊉ {}", pair[1], pair[0]);
            assert!(below.len() < above.len(), "{} adds nothing to {}", pair[1], pair[0]);
        }
        assert_eq!(rights(Role::Owner).len(), Right::ALL.len(), "an owner may do everything");
    }

    #[test]
    fn only_owners_make_owners() {
        let makers: Vec<_> = Role::ALL.iter().filter(|role| role.may_grant(Role::Owner)).collect();
        assert_eq!(makers, [&Role::Owner]);
    }

    #[test]
    fn the_last_owner_neither_leaves_nor_steps_down_nor_is_removed() {
        for by in [By::Themselves, By::Member(Role::Owner)] {
            assert_eq!(remove_member(by, Role::Owner, 1), Err(MemberRefusal::LastOwner));
            assert_eq!(change_role(by, Role::Owner, Role::Operator, 1), Err(MemberRefusal::LastOwner));
            assert_eq!(change_role(by, Role::Owner, Role::Owner, 1), Ok(()), "nothing changes");
            assert_eq!(remove_member(by, Role::Owner, 2), Ok(()));
        }
    }

    #[test]
    fn an_operator_neither_removes_nor_demotes_nor_makes_an_owner() {
        let operator = By::Member(Role::Operator);
        let above = Err(MemberRefusal::AboveYou(Role::Owner));
        assert_eq!(remove_member(operator, Role::Owner, 9), above);
        assert_eq!(change_role(operator, Role::Owner, Role::Viewer, 9), above);
        assert_eq!(change_role(operator, Role::Viewer, Role::Owner, 9), above);
        assert_eq!(add_member(Role::Operator, Role::Owner), above);
        assert_eq!(change_role(operator, Role::Viewer, Role::Operator, 9), Ok(()));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Add(Role),
        Remove(usize),
        Change(usize, Role),
    }

    fn steps() -> impl Strategy<Value = Vec<(Option<usize>, Step)>> {
        let step = prop_oneof![
            any_role().prop_map(Step::Add),
            (0usize..8).prop_map(Step::Remove),
            (0usize..8, any_role()).prop_map(|(member, role)| Step::Change(member, role)),
        ];
        proptest::collection::vec((proptest::option::of(0usize..8), step), 0..60)
    }

    proptest! {
        #[test]
        fn nobody_grants_a_role_above_their_own(actor in any_role(), granted in any_role()) {
            if actor.may_grant(granted) {
                prop_assert!(granted <= actor);
                prop_assert!(actor.allows(Right::MembersManage));
                for right in Right::ALL {
                    prop_assert!(actor.allows(*right) || !granted.allows(*right), "{actor} hands out {right}");
                }
            }
        }

        #[test]
        fn whatever_members_do_to_each_other_an_owner_is_left(steps in steps()) {
            let mut members = vec![Role::Owner];
            for (actor, step) in steps {
                let owners = members.iter().filter(|role| **role == Role::Owner).count();
                let by = |member: usize| match actor {
                    Some(actor) if actor != member => By::Member(members[actor % members.len()]),
                    Some(_) | None => By::Themselves,
                };
                match step {
                    Step::Add(role) => {
                        let actor = members[actor.unwrap_or(0) % members.len()];
                        if add_member(actor, role).is_ok() {
                            prop_assert!(role <= actor);
                            members.push(role);
                        }
                    }
                    Step::Remove(member) => {
                        let member = member % members.len();
                        if remove_member(by(member), members[member], owners).is_ok() {
                            members.remove(member);
                        }
                    }
                    Step::Change(member, to) => {
                        let member = member % members.len();
                        let by = by(member);
                        if change_role(by, members[member], to, owners).is_ok() {
                            let most = match by { By::Themselves => members[member], By::Member(actor) => actor };
                            prop_assert!(to <= most, "{by:?} made a {to}");
                            members[member] = to;
                        }
                    }
                }
                prop_assert!(members.contains(&Role::Owner));
            }
        }
    }

    const PAGE: &str = "docs/roles.md";
    const BEGIN: &str = "<!-- matrix: begin -->\n";
    const END: &str = "<!-- matrix: end -->\n";
    const RENEW: &str = "GUILDHALL_RENEW_DOCS=1 cargo test -p guildhall-domain role";

    #[test]
    fn the_page_shows_the_matrix() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let page = std::fs::read_to_string(&path).expect("docs/roles.md can be read");
        let parts = page.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?)));
        let (head, (shown, tail)) = parts.expect("docs/roles.md has the two marker lines");
        if std::env::var_os("GUILDHALL_RENEW_DOCS").is_some() {
            let renewed = format!("{head}{BEGIN}{}{END}{tail}", matrix_markdown());
            std::fs::write(&path, renewed).expect("docs/roles.md can be written");
            return;
        }
        assert_eq!(shown, matrix_markdown(), "{PAGE} is behind crates/domain/src/role.rs: run `{RENEW}`");
    }
}
