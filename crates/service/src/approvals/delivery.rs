//! Whether an answer may still be delivered.

use guildhall_domain::approvals::state::{DecidedBy, Decision};
use guildhall_store::memberships;

use super::voters::VoterRules;
use super::{repeated, rules};
use crate::ServiceError;
use crate::run_steps::LockedRun;

/// Returns whether everyone who decided may still decide, also by a rule that they made.
pub(super) async fn may_still_decide(
    locked: &mut LockedRun,
    voter_rules: &VoterRules<'_>,
    decision: &Decision,
) -> Result<bool, ServiceError> {
    let Some(origin) = repeated::origin_of(locked, decision).await? else { return Ok(false) };
    // The owners answered an earlier question that was escalated to them; this one was not.
    let voter_rules =
        &origin.was_escalated.map_or(*voter_rules, |escalated| voter_rules.escalated(escalated));
    let people = match origin.by {
        DecidedBy::People(people) => people,
        DecidedBy::Rule(rule) => return rules::is_valid(locked, rule, voter_rules).await,
        DecidedBy::Expiry
        | DecidedBy::UnreachableQuorum
        | DecidedBy::DisabledTool
        | DecidedBy::EarlierApproval(_) => return Ok(true),
    };
    let tenant = locked.run.tenant;
    for person in people {
        let role = memberships::lock_member(&mut locked.tx, tenant, person).await?;
        if !voter_rules.allows(person, role) {
            return Ok(false);
        }
    }
    Ok(true)
}
