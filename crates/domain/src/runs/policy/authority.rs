//! Ordered settings of an execution policy: a later value grants more authority than an earlier one.

use crate::named_enum::named_enum;

named_enum! {
    /// File system access of an agent. It is always contained: no value lets it access files outside of its sandbox.
    Sandbox, "sandbox";
    ReadOnly = "read-only",
    WorkspaceWrite = "workspace-write",
    /// The agent uses no sandbox of its own.
    DangerFullAccess = "danger-full-access",
}

named_enum! {
    /// When a backend asks a person for approval. The less it asks, the more it can do on its own.
    Approval, "approval";
    /// Before every action that is not known to be harmless.
    Untrusted = "untrusted",
    /// When the backend decides to.
    OnRequest = "on-request",
    Never = "never",
}

named_enum! {
    /// Which hosts an agent and its commands reach, through the runner's proxy.
    Network, "network";
    /// Only its model provider.
    Disabled = "disabled",
    /// Also the hosts that the operator lists.
    AllowList = "allow-list",
    /// Also every host with a public address.
    Enabled = "enabled",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_values_grant_more() {
        assert!(
            Sandbox::ReadOnly < Sandbox::WorkspaceWrite
                && Sandbox::WorkspaceWrite < Sandbox::DangerFullAccess
        );
        assert!(Approval::Untrusted < Approval::OnRequest && Approval::OnRequest < Approval::Never);
        assert!(Network::Disabled < Network::AllowList && Network::AllowList < Network::Enabled);
    }

    #[test]
    fn unknown_value_error_lists_the_known_values() {
        let error = serde_json::from_str::<Sandbox>("\"none\"").expect_err("unknown");
        let expected = "unknown sandbox: expected one of read-only, workspace-write, danger-full-access";
        assert_eq!(error.to_string(), expected);
    }
}
