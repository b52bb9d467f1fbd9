//! The ordered parts of an execution policy: in each, a later value grants more than an earlier one.

use crate::access::principal::named;

named! {
    /// What a backend may touch on the machine it runs on.
    Sandbox, "sandbox";
    ReadOnly = "read-only",
    WorkspaceWrite = "workspace-write",
    /// No sandbox at all.
    DangerFullAccess = "danger-full-access",
}

named! {
    /// When a backend stops and asks a person. One that asks less may do more by itself.
    Approval, "approval";
    /// Before everything that is not known to be harmless.
    Untrusted = "untrusted",
    /// When the backend thinks it should.
    OnRequest = "on-request",
    Never = "never",
}

named! {
    /// Whether the backend's commands reach the network.
    Network, "network";
    Disabled = "disabled",
    Enabled = "enabled",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_value_grants_more() {
        assert!(
            Sandbox::ReadOnly < Sandbox::WorkspaceWrite
                && Sandbox::WorkspaceWrite < Sandbox::DangerFullAccess
        );
        assert!(Approval::Untrusted < Approval::OnRequest && Approval::OnRequest < Approval::Never);
        assert!(Network::Disabled < Network::Enabled);
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_known_ones() {
        let error = serde_json::from_str::<Sandbox>("\"none\"").expect_err("unknown");
        let expected = "unknown sandbox: expected one of read-only, workspace-write, danger-full-access";
        assert_eq!(error.to_string(), expected);
    }
}
