//! Roles and permissions in a tenant, and the rules for granting roles.

use crate::named_enum::named_enum;

named_enum! {
    /// Role of a member in a tenant, in ascending order.
    Role, "role";
    /// Can read.
    Viewer = "viewer",
    /// Can start and control runs.
    Developer = "developer",
    /// Can manage members, keys, runners and profiles.
    Operator = "operator",
    /// Can manage the tenant itself.
    Owner = "owner",
}

/// What a signature requires of a member of a tenant. See [`rights`] and
/// [`Authorized`](crate::access::authorized::Authorized).
pub trait Right: sealed::Sealed {
    /// The permission; none where any member may act.
    const PERMISSION: Option<Permission>;
}

mod sealed {
    pub trait Sealed {}
}

/// One row of the matrix.
struct Row {
    permission: Permission,
    roles: &'static [Role],
    allows: &'static str,
}

macro_rules! matrix {
    ($($permission:ident = $name:literal: [$($role:ident),*], $allows:literal;)+) => {
        named_enum! {
            /// A permission in a tenant.
            Permission, "permission";
            $(#[doc = $allows] $permission = $name,)+
        }

        /// The rights that a signature can name: each permission as a type, and [`Membership`](rights::Membership).
        pub mod rights {
            use super::sealed::Sealed;
            use super::{Permission, Right};

            $(
                #[doc = $allows]
                #[derive(Debug)]
                pub enum $permission {}

                impl Sealed for $permission {}

                impl Right for $permission {
                    const PERMISSION: Option<Permission> = Some(Permission::$permission);
                }
            )+

            /// Being a member, with any role. For changes whose rule looks at the role itself.
            #[derive(Debug)]
            pub enum Membership {}

            impl Sealed for Membership {}

            impl Right for Membership {
                const PERMISSION: Option<Permission> = None;
            }
        }

        /// The permissions of each role. docs/roles.md is generated from it.
        const MATRIX: &[Row] = &[
            $(Row { permission: Permission::$permission, roles: &[$(Role::$role),*], allows: $allows },)+
        ];
    };
}

matrix! {
    TenantRead     = "tenant:read":     [Owner, Operator, Developer, Viewer], "See the tenant and its settings";
    TenantManage   = "tenant:manage":   [Owner],                              "Rename and delete the tenant";
    MembersRead    = "members:read":    [Owner, Operator, Developer, Viewer], "See members and their roles";
    MembersManage  = "members:manage":  [Owner, Operator],                    "Invite and remove members, change roles";
    KeysRead       = "keys:read":       [Owner, Operator, Developer],         "See service keys";
    KeysManage     = "keys:manage":     [Owner, Operator],                    "Create and revoke service keys, manage webhooks";
    AuditRead      = "audit:read":      [Owner, Operator],                    "Read the audit log";
    ProjectsRead   = "projects:read":   [Owner, Operator, Developer, Viewer], "See projects";
    ProjectsManage = "projects:manage": [Owner, Operator],                    "Create, change and delete projects";
    AgentsRead     = "agents:read":     [Owner, Operator, Developer, Viewer], "See agents";
    AgentsManage   = "agents:manage":   [Owner, Operator],                    "Create and change agents";
    RunsRead       = "runs:read":       [Owner, Operator, Developer, Viewer], "Read runs, their events and results";
    RunsWrite      = "runs:write":      [Owner, Operator, Developer],         "Create, command and cancel runs";
    RunsErase      = "runs:erase":      [Owner, Operator],                    "Erase the content of run events";
    ApprovalsDecide = "approvals:decide": [Owner, Operator],                  "Answer the questions of any agent of the tenant";
    RunnersManage  = "runners:manage":  [Owner, Operator],                    "Issue, see and revoke enrolment tokens for runners";
    ProfilesManage = "profiles:manage": [Owner, Operator],                    "Create, change and delete profiles";
    SubjectsVouch  = "subjects:vouch":  [Owner, Operator, Developer],         "Issue tokens for external subjects (service keys only)";
}

impl Role {
    /// Returns whether this role has a permission.
    #[must_use]
    pub fn allows(self, permission: Permission) -> bool {
        MATRIX.iter().find(|row| row.permission == permission).is_some_and(|row| row.roles.contains(&self))
    }

    /// Returns whether this role can grant or revoke `granted`: it needs `members:manage`, and `granted` must not be
    /// above it. Therefore only owners create owners.
    #[must_use]
    pub fn may_grant(self, granted: Self) -> bool {
        self.allows(Permission::MembersManage) && granted <= self
    }
}

/// Who changes a membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MembershipActor {
    /// The member themselves. Leaving and taking a lower role need no permission.
    Themselves,
    /// Another member with this role.
    Other(Role),
}

/// Why a membership cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MembershipError {
    #[error("your role cannot manage members: ask an owner or operator of the tenant")]
    NotAllowed,
    #[error("the role {0} is above yours: ask a member with that role")]
    RoleTooHigh(Role),
    #[error("a tenant needs at least one owner: make another member an owner first")]
    LastOwner,
    #[error("the user is already a member with the role {0}: change it with `guildhall members set`")]
    AlreadyMember(Role),
}

/// Decides whether a member can be added or invited with a role.
pub fn add_member(actor: Role, role: Role) -> Result<(), MembershipError> {
    check_grant(MembershipActor::Other(actor), role)
}

/// Decides whether a member with the role `current` can be removed. `owners` is the number of owners of the tenant,
/// including this member. It must be read under a lock that blocks concurrent removals.
pub fn remove_member(actor: MembershipActor, current: Role, owners: usize) -> Result<(), MembershipError> {
    check_grant(actor, current)?;
    check_owner_remains(current, None, owners)
}

/// Decides whether a member's role can change from `current` to `to`. See [`remove_member`] for `owners`.
pub fn change_role(
    actor: MembershipActor,
    current: Role,
    to: Role,
    owners: usize,
) -> Result<(), MembershipError> {
    check_grant(actor, current)?;
    match actor {
        MembershipActor::Themselves if to > current => return Err(MembershipError::RoleTooHigh(to)),
        MembershipActor::Themselves => {}
        MembershipActor::Other(_) => check_grant(actor, to)?,
    }
    check_owner_remains(current, Some(to), owners)
}

fn check_grant(actor: MembershipActor, role: Role) -> Result<(), MembershipError> {
    match actor {
        MembershipActor::Themselves => Ok(()),
        MembershipActor::Other(role_of_actor) if !role_of_actor.allows(Permission::MembersManage) => {
            Err(MembershipError::NotAllowed)
        }
        MembershipActor::Other(role_of_actor) if !role_of_actor.may_grant(role) => {
            Err(MembershipError::RoleTooHigh(role))
        }
        MembershipActor::Other(_) => Ok(()),
    }
}

fn check_owner_remains(current: Role, to: Option<Role>, owners: usize) -> Result<(), MembershipError> {
    let removes_owner = current == Role::Owner && to != Some(Role::Owner);
    if removes_owner && owners <= 1 { Err(MembershipError::LastOwner) } else { Ok(()) }
}

/// Renders the matrix as the Markdown table of docs/roles.md.
#[must_use]
pub fn matrix_markdown() -> String {
    let roles: Vec<Role> = Role::ALL.iter().rev().copied().collect();
    let names: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
    let mut table = format!("| permission | {} | what it allows |\n", names.join(" | "));
    table.push_str(&format!("|---|{}---|\n", "---|".repeat(roles.len())));
    for row in MATRIX {
        let cells = roles.iter().map(|role| if role.allows(row.permission) { "yes" } else { "no" });
        let cells: Vec<&str> = cells.collect();
        table.push_str(&format!("| `{}` | {} | {} |\n", row.permission, cells.join(" | "), row.allows));
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
    fn every_permission_has_one_row_and_a_unique_name() {
        let rows: Vec<Permission> = MATRIX.iter().map(|row| row.permission).collect();
        assert_eq!(rows, Permission::ALL);
        for permission in Permission::ALL {
            assert_eq!(Permission::from_name(permission.as_str()), Ok(*permission));
        }
        assert!(Permission::from_name("everything").is_err());
        assert!(Role::from_name("admin").is_err());
    }

    #[test]
    fn each_role_extends_the_role_below() {
        let permissions =
            |role: Role| Permission::ALL.iter().filter(move |it| role.allows(**it)).collect::<Vec<_>>();
        for pair in Role::ALL.windows(2) {
            let (below, above) = (permissions(pair[0]), permissions(pair[1]));
            assert!(below.iter().all(|permission| above.contains(permission)), "{} ⊉ {}", pair[1], pair[0]);
            assert!(below.len() < above.len(), "{} adds nothing to {}", pair[1], pair[0]);
        }
        assert_eq!(permissions(Role::Owner).len(), Permission::ALL.len(), "an owner has all permissions");
    }

    /// Who changes an object gets it back.
    #[test]
    fn roles_that_change_objects_can_read_them() {
        for (change, read) in [
            (Permission::RunsWrite, Permission::RunsRead),
            (Permission::ProfilesManage, Permission::TenantRead),
            (Permission::ProjectsManage, Permission::ProjectsRead),
            (Permission::AgentsManage, Permission::AgentsRead),
            (Permission::KeysManage, Permission::KeysRead),
        ] {
            for role in Role::ALL {
                assert!(!role.allows(change) || role.allows(read), "{role}: {change} without {read}");
            }
        }
    }

    #[test]
    fn only_owners_create_owners() {
        let granting: Vec<_> = Role::ALL.iter().filter(|role| role.may_grant(Role::Owner)).collect();
        assert_eq!(granting, [&Role::Owner]);
    }

    #[test]
    fn last_owner_cannot_leave_be_demoted_or_removed() {
        for actor in [MembershipActor::Themselves, MembershipActor::Other(Role::Owner)] {
            assert_eq!(remove_member(actor, Role::Owner, 1), Err(MembershipError::LastOwner));
            assert_eq!(change_role(actor, Role::Owner, Role::Operator, 1), Err(MembershipError::LastOwner));
            assert_eq!(change_role(actor, Role::Owner, Role::Owner, 1), Ok(()), "the role stays the same");
            assert_eq!(remove_member(actor, Role::Owner, 2), Ok(()));
        }
    }

    #[test]
    fn operator_cannot_remove_demote_or_create_owners() {
        let operator = MembershipActor::Other(Role::Operator);
        let above = Err(MembershipError::RoleTooHigh(Role::Owner));
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
        fn granted_role_is_never_above_the_actors_role(actor in any_role(), granted in any_role()) {
            if actor.may_grant(granted) {
                prop_assert!(granted <= actor);
                prop_assert!(actor.allows(Permission::MembersManage));
                for permission in Permission::ALL {
                    let is_held = actor.allows(*permission) || !granted.allows(*permission);
                    prop_assert!(is_held, "{actor} grants {permission}");
                }
            }
        }

        #[test]
        fn random_membership_changes_keep_an_owner(steps in steps()) {
            let mut members = vec![Role::Owner];
            for (actor, step) in steps {
                let owners = members.iter().filter(|role| **role == Role::Owner).count();
                let by = |member: usize| match actor {
                    Some(actor) if actor != member => MembershipActor::Other(members[actor % members.len()]),
                    Some(_) | None => MembershipActor::Themselves,
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
                            let max = match by {
                                MembershipActor::Themselves => members[member],
                                MembershipActor::Other(actor) => actor,
                            };
                            prop_assert!(to <= max, "{by:?} made a {to}");
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
    fn roles_page_contains_the_matrix() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
        let page = std::fs::read_to_string(&path).expect("docs/roles.md can be read");
        let parts = page.split_once(BEGIN).and_then(|(head, rest)| Some((head, rest.split_once(END)?)));
        let (head, (shown, tail)) = parts.expect("docs/roles.md has both marker lines");
        if std::env::var_os("GUILDHALL_RENEW_DOCS").is_some() {
            let renewed = format!("{head}{BEGIN}{}{END}{tail}", matrix_markdown());
            std::fs::write(&path, renewed).expect("docs/roles.md can be written");
            return;
        }
        assert_eq!(
            shown,
            matrix_markdown(),
            "{PAGE} is out of date with crates/domain/src/access/role.rs: run `{RENEW}`"
        );
    }
}
