# Generated from schemas/openapi.json by `cargo xtask sdks --write`. Do not edit.
from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from . import models
from ._url import quote


class Operations:
    """The operations of the API, one method each."""

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> Any:
        raise NotImplementedError

    async def list_gateways(
        self,
    ) -> models.GatewaysView:
        """List the gateways of the issuer"""
        return await self._call('GET', '/.well-known/aun-gateway')

    async def get_jwks(
        self,
    ) -> Any:
        """Get the public keys that verify access tokens (JWKS)"""
        return await self._call('GET', '/.well-known/jwks.json')

    async def create_agent_by_manifest(
        self,
        body: models.CreateAgent,
        *,
        idempotency_key: str | None = None,
    ) -> models.AgentView:
        """Create an agent"""
        return await self._call('POST', '/agents', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_published_agent(
        self,
        agent: str,
    ) -> models.PublishedAgentView:
        """Get a published agent"""
        return await self._call('GET', f'/agents/{quote(agent)}')

    async def update_agent_by_manifest(
        self,
        agent: str,
        body: models.UpdateAgent,
    ) -> models.AgentView:
        """Change an agent"""
        return await self._call('PATCH', f'/agents/{quote(agent)}', body=body)

    async def get_published_agent_version(
        self,
        agent: str,
        version: int,
    ) -> models.PublishedAgentView:
        """Get an older version of a published agent"""
        return await self._call('GET', f'/agents/{quote(agent)}/versions/{quote(version)}')

    async def get_account_settings(
        self,
    ) -> models.AccountSettings:
        """Get your settings"""
        return await self._call('GET', '/api/v1/account/settings')

    async def set_account_settings(
        self,
        body: models.AccountSettings,
    ) -> models.AccountSettings:
        """Change your settings"""
        return await self._call('PUT', '/api/v1/account/settings', body=body)

    async def create_attachment(
        self,
        body: bytes,
        content_type: Literal['image/gif', 'image/jpeg', 'image/png', 'image/webp'],
        *,
        tenant_id: str | None = None,
    ) -> models.AttachmentView:
        """Upload an image for a message"""
        return await self._call('POST', '/api/v1/agent/attachments', query={'tenantId': tenant_id}, headers={'Content-Type': content_type}, body=body)

    async def get_agent_history(
        self,
        *,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        before: str | None = None,
    ) -> models.HistorySnapshotResponse:
        """Get the history of a conversation"""
        return await self._call('GET', '/api/v1/agent/history', query={'tenantId': tenant_id, 'agentId': agent_id, 'threadId': thread_id, 'before': before})

    async def create_agent_run(
        self,
        body: models.RunAgentInput,
        *,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        automation_id: str | None = None,
    ) -> models.TaskAcceptedResponse:
        """Start a run of an agent"""
        return await self._call('POST', '/api/v1/agent/runs', query={'tenantId': tenant_id, 'agentId': agent_id, 'automationId': automation_id}, body=body)

    async def stop_agent_thread(
        self,
        thread: str,
        *,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
    ) -> models.StoppedView:
        """Stop the runs of a conversation"""
        return await self._call('POST', f'/api/v1/agent/runs/{quote(thread)}/stop', query={'tenantId': tenant_id, 'agentId': agent_id, 'runId': run_id})

    async def list_agents(
        self,
        *,
        tenant_id: str,
    ) -> models.AgentsView:
        """List the agents of a tenant"""
        return await self._call('GET', '/api/v1/agents', query={'tenantId': tenant_id})

    async def create_agent(
        self,
        body: models.CreateAgent,
        *,
        idempotency_key: str | None = None,
    ) -> models.AgentView:
        """Create an agent"""
        return await self._call('POST', '/api/v1/agents', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_agent(
        self,
        agent: str,
    ) -> models.AgentView:
        """Get an agent"""
        return await self._call('GET', f'/api/v1/agents/{quote(agent)}')

    async def update_agent(
        self,
        agent: str,
        body: models.UpdateAgent,
    ) -> models.AgentView:
        """Change an agent"""
        return await self._call('PATCH', f'/api/v1/agents/{quote(agent)}', body=body)

    async def get_agent_aid(
        self,
        agent: str,
    ) -> models.AgentAidView:
        """Get the AID of an agent"""
        return await self._call('GET', f'/api/v1/agents/{quote(agent)}/aid')

    async def put_agent_aid(
        self,
        agent: str,
        body: models.PutAgentAid,
    ) -> models.AgentAidView:
        """Set the AID of an agent that runs elsewhere"""
        return await self._call('PUT', f'/api/v1/agents/{quote(agent)}/aid', body=body)

    async def delete_agent_aid(
        self,
        agent: str,
    ) -> models.DeletedAgentAidView:
        """Take the AID from an agent that runs elsewhere"""
        return await self._call('DELETE', f'/api/v1/agents/{quote(agent)}/aid')

    async def get_agent_inbox(
        self,
        agent: str,
    ) -> models.AgentInboxView:
        """Get the inbox of an agent"""
        return await self._call('GET', f'/api/v1/agents/{quote(agent)}/inbox')

    async def put_agent_inbox(
        self,
        agent: str,
        body: models.PutAgentInbox,
    ) -> models.AgentInboxView:
        """Give an agent an inbox"""
        return await self._call('PUT', f'/api/v1/agents/{quote(agent)}/inbox', body=body)

    async def list_agent_manifests(
        self,
        agent: str,
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> models.ManifestVersionsView:
        """List the versions of the manifest of an agent"""
        return await self._call('GET', f'/api/v1/agents/{quote(agent)}/manifests', query={'before': before, 'limit': limit})

    async def get_agent_manifest(
        self,
        agent: str,
        version: int,
    ) -> models.ManifestVersionView:
        """Get a version of the manifest of an agent"""
        return await self._call('GET', f'/api/v1/agents/{quote(agent)}/manifests/{quote(version)}')

    async def reserve_aid(
        self,
        body: models.ReserveAid,
    ) -> models.ReservationView:
        """Reserve a name for one address"""
        return await self._call('POST', '/api/v1/aid-reservations', body=body)

    async def list_aids(
        self,
        *,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.AidsView:
        """List AIDs"""
        return await self._call('GET', '/api/v1/aids', query={'cursor': cursor, 'limit': limit})

    async def create_aid(
        self,
        body: models.CreateAid,
    ) -> models.AidView:
        """Create an AID"""
        return await self._call('POST', '/api/v1/aids', body=body)

    async def get_aid(
        self,
        aid: str,
    ) -> models.AidView:
        """Get an AID"""
        return await self._call('GET', f'/api/v1/aids/{quote(aid)}')

    async def renew_aid(
        self,
        aid: str,
    ) -> models.AidView:
        """Renew the certificate of an AID"""
        return await self._call('POST', f'/api/v1/aids/{quote(aid)}/renew')

    async def revoke_aid(
        self,
        aid: str,
        body: models.RevokeAid,
    ) -> models.AidView:
        """Revoke the key of an AID"""
        return await self._call('POST', f'/api/v1/aids/{quote(aid)}/revoke', body=body)

    async def list_approval_rules(
        self,
        *,
        tenant_id: str,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.ApprovalRulesView:
        """List the remembered answers of a tenant"""
        return await self._call('GET', '/api/v1/approval-rules', query={'tenantId': tenant_id, 'cursor': cursor, 'limit': limit})

    async def revoke_approval_rule(
        self,
        rule: str,
    ) -> models.ApprovalRuleView:
        """Revoke a remembered answer"""
        return await self._call('DELETE', f'/api/v1/approval-rules/{quote(rule)}')

    async def list_approvals(
        self,
        *,
        tenant_id: str,
        run_id: str | None = None,
        session_id: str | None = None,
        answerable: bool | None = None,
        state: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
        after: str | None = None,
        wait: int | None = None,
    ) -> models.ApprovalsView:
        """List the approvals of a tenant"""
        return await self._call('GET', '/api/v1/approvals', query={'tenantId': tenant_id, 'runId': run_id, 'sessionId': session_id, 'answerable': answerable, 'state': state, 'cursor': cursor, 'limit': limit, 'after': after, 'wait': wait})

    async def get_approval(
        self,
        approval: str,
    ) -> models.ApprovalView:
        """Get an approval"""
        return await self._call('GET', f'/api/v1/approvals/{quote(approval)}')

    async def vote_on_approval(
        self,
        approval: str,
        body: models.CastVote,
    ) -> models.ApprovalView:
        """Answer a question of an agent"""
        return await self._call('POST', f'/api/v1/approvals/{quote(approval)}/votes', body=body)

    async def withdraw_approval(
        self,
        approval: str,
    ) -> models.ApprovalView:
        """Withdraw a question of an agent without an answer"""
        return await self._call('POST', f'/api/v1/approvals/{quote(approval)}/withdraw')

    async def list_installation_audit_entries(
        self,
        *,
        after_seq: int | None = None,
        from_end: int | None = None,
        limit: int | None = None,
    ) -> models.AuditPageView:
        """List the audit log of the installation"""
        return await self._call('GET', '/api/v1/audit', query={'afterSeq': after_seq, 'fromEnd': from_end, 'limit': limit})

    async def get_audit_public_key(
        self,
    ) -> models.AuditPublicKeyView:
        """Get the key that verifies the checkpoints of audit logs"""
        return await self._call('GET', '/api/v1/audit/public-key')

    async def get_browser_session(
        self,
    ) -> models.BrowserSessionView:
        """Get the current browser session"""
        return await self._call('GET', '/api/v1/auth/browser-session')

    async def create_browser_session(
        self,
        body: models.SignIn,
    ) -> models.BrowserSessionView:
        """Create a browser session with a name and a password"""
        return await self._call('POST', '/api/v1/auth/browser-session', body=body)

    async def exchange_handoff(
        self,
        body: models.ExchangeHandoff,
    ) -> models.TokensView:
        """Exchange a hand-off code for tokens"""
        return await self._call('POST', '/api/v1/auth/handoff', body=body)

    async def sign_in(
        self,
        body: models.SignIn,
    ) -> models.TokensView:
        """Sign in with a name and a password"""
        return await self._call('POST', '/api/v1/auth/login', body=body)

    async def end_logins(
        self,
    ) -> models.EndedLoginsView:
        """End all your logins"""
        return await self._call('DELETE', '/api/v1/auth/logins')

    async def sign_out(
        self,
    ) -> models.SignedOutView:
        """Sign out"""
        return await self._call('POST', '/api/v1/auth/logout')

    async def change_password(
        self,
        body: models.ChangePassword,
    ) -> models.EndedLoginsView:
        """Change your password"""
        return await self._call('PUT', '/api/v1/auth/password', body=body)

    async def refresh_tokens(
        self,
        body: models.Refresh,
    ) -> models.TokensView:
        """Exchange a refresh token for new tokens"""
        return await self._call('POST', '/api/v1/auth/refresh', body=body)

    async def list_automations(
        self,
        *,
        tenant_id: str,
    ) -> models.AutomationsView:
        """List the automations of a tenant"""
        return await self._call('GET', '/api/v1/automations', query={'tenantId': tenant_id})

    async def create_automation(
        self,
        body: models.CreateAutomation,
        *,
        idempotency_key: str | None = None,
    ) -> models.AutomationView:
        """Create an automation"""
        return await self._call('POST', '/api/v1/automations', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_automation(
        self,
        automation: str,
    ) -> models.AutomationView:
        """Get an automation"""
        return await self._call('GET', f'/api/v1/automations/{quote(automation)}')

    async def update_automation(
        self,
        automation: str,
        body: models.UpdateAutomation,
    ) -> models.AutomationView:
        """Change an automation"""
        return await self._call('PATCH', f'/api/v1/automations/{quote(automation)}', body=body)

    async def start_automation(
        self,
        automation: str,
        body: models.StartAutomation,
    ) -> models.TaskAcceptedResponse:
        """Start a run of an automation"""
        return await self._call('POST', f'/api/v1/automations/{quote(automation)}/runs', body=body)

    async def list_backends(
        self,
        *,
        tenant_id: str | None = None,
    ) -> models.BackendsView:
        """List the available backends"""
        return await self._call('GET', '/api/v1/backends', query={'tenantId': tenant_id})

    async def acknowledge_command(
        self,
        command: str,
    ) -> models.CommandView:
        """Acknowledge a command"""
        return await self._call('POST', f'/api/v1/commands/{quote(command)}/ack')

    async def cancel_command(
        self,
        command: str,
    ) -> models.CommandView:
        """Cancel a command"""
        return await self._call('POST', f'/api/v1/commands/{quote(command)}/cancel')

    async def set_command_status(
        self,
        command: str,
        body: models.EndStatus,
    ) -> models.CommandView:
        """Set the status of a command"""
        return await self._call('PATCH', f'/api/v1/commands/{quote(command)}/status', body=body)

    async def stop_copilot_kit_thread(
        self,
        agent: str,
        thread: str,
        body: Any,
        *,
        tenant_id: str | None = None,
    ) -> models.StoppedView:
        """Stop the runs of a conversation for CopilotKit"""
        return await self._call('POST', f'/api/v1/copilotkit/agent/{quote(agent)}/stop/{quote(thread)}', query={'tenantId': tenant_id}, body=body)

    async def get_copilot_kit_info(
        self,
        *,
        tenant_id: str | None = None,
    ) -> models.CopilotKitInfo:
        """Describe the agents for CopilotKit"""
        return await self._call('GET', '/api/v1/copilotkit/info', query={'tenantId': tenant_id})

    async def accept_invitation(
        self,
        body: models.AcceptInvitation,
    ) -> models.AcceptedInvitationView:
        """Accept an invitation"""
        return await self._call('POST', '/api/v1/invitations/accept', body=body)

    async def list_profiles(
        self,
        *,
        tenant_id: str | None = None,
    ) -> models.ProfilesView:
        """List the provider profiles of a tenant"""
        return await self._call('GET', '/api/v1/provider-profiles', query={'tenantId': tenant_id})

    async def get_profile(
        self,
        profile: str,
        *,
        tenant_id: str | None = None,
    ) -> models.ProfileView:
        """Get a provider profile"""
        return await self._call('GET', f'/api/v1/provider-profiles/{quote(profile)}', query={'tenantId': tenant_id})

    async def delete_profile(
        self,
        profile: str,
        *,
        tenant_id: str | None = None,
        scope: str | None = None,
    ) -> models.DeletedProfileView:
        """Delete a provider profile and its credential"""
        return await self._call('DELETE', f'/api/v1/provider-profiles/{quote(profile)}', query={'tenantId': tenant_id, 'scope': scope})

    async def set_profile_credential(
        self,
        profile: str,
        body: models.PutCredential,
        *,
        tenant_id: str | None = None,
        scope: str | None = None,
    ) -> models.ProfileView:
        """Set the credential of a provider profile"""
        return await self._call('PUT', f'/api/v1/provider-profiles/{quote(profile)}/credential', query={'tenantId': tenant_id, 'scope': scope}, body=body)

    async def validate_profile(
        self,
        profile: str,
        *,
        tenant_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> models.ValidationView:
        """Validate a provider profile"""
        return await self._call('POST', f'/api/v1/provider-profiles/{quote(profile)}/validate', query={'tenantId': tenant_id}, headers={'Idempotency-Key': idempotency_key})

    async def get_profile_validation(
        self,
        profile: str,
        validation: str,
        *,
        tenant_id: str | None = None,
    ) -> models.ValidationView:
        """Get a validation of a provider profile"""
        return await self._call('GET', f'/api/v1/provider-profiles/{quote(profile)}/validations/{quote(validation)}', query={'tenantId': tenant_id})

    async def list_relations(
        self,
        *,
        ended: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.RelationsView:
        """List your relations"""
        return await self._call('GET', '/api/v1/relations', query={'ended': ended, 'cursor': cursor, 'limit': limit})

    async def create_relation(
        self,
        body: models.CreateRelation,
        *,
        idempotency_key: str | None = None,
    ) -> models.RelationView:
        """Grant scopes to an agent"""
        return await self._call('POST', '/api/v1/relations', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_relation(
        self,
        relation: str,
    ) -> models.RelationView:
        """Get one of your relations"""
        return await self._call('GET', f'/api/v1/relations/{quote(relation)}')

    async def update_relation(
        self,
        relation: str,
        body: models.UpdateRelation,
    ) -> models.RelationView:
        """Change what is granted"""
        return await self._call('PATCH', f'/api/v1/relations/{quote(relation)}', body=body)

    async def delete_relation(
        self,
        relation: str,
    ) -> models.EndedRelationView:
        """End a relation"""
        return await self._call('DELETE', f'/api/v1/relations/{quote(relation)}')

    async def acknowledge_relation_notice(
        self,
        relation: str,
        body: models.AcknowledgeNotice,
    ) -> models.AcknowledgedNoticeView:
        """Acknowledge a notice"""
        return await self._call('POST', f'/api/v1/relations/{quote(relation)}/acknowledge', body=body)

    async def list_relation_history(
        self,
        relation: str,
        *,
        before: int | None = None,
        limit: int | None = None,
    ) -> models.RelationHistoryView:
        """List the history of a relation"""
        return await self._call('GET', f'/api/v1/relations/{quote(relation)}/history', query={'before': before, 'limit': limit})

    async def plan_retention(
        self,
        *,
        tenant: str | None = None,
        history_days: int | None = None,
    ) -> models.RetentionPlanView:
        """Show what retention would erase now"""
        return await self._call('GET', '/api/v1/retention/plan', query={'tenant': tenant, 'historyDays': history_days})

    async def get_own_enrolment(
        self,
    ) -> models.OwnEnrolmentView:
        """Get the enrolment of the caller's token"""
        return await self._call('GET', '/api/v1/runner/enrolment')

    async def get_own_grant(
        self,
    ) -> models.OwnGrantView:
        """Get the grant of the caller's token"""
        return await self._call('GET', '/api/v1/runner/grant')

    async def claim_next_run(
        self,
        body: models.ClaimNext,
    ) -> models.ClaimedView:
        """Claim the next waiting run"""
        return await self._call('POST', '/api/v1/runners/claim', body=body)

    async def register_runner(
        self,
        body: models.RegisterRunner,
    ) -> models.RunnerView:
        """Register a runner"""
        return await self._call('POST', '/api/v1/runners/register', body=body)

    async def list_runs(
        self,
        *,
        tenant_id: str,
        state: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.RunsView:
        """List the runs of a tenant"""
        return await self._call('GET', '/api/v1/runs', query={'tenantId': tenant_id, 'state': state, 'cursor': cursor, 'limit': limit})

    async def create_run(
        self,
        body: models.CreateRun,
        *,
        idempotency_key: str | None = None,
    ) -> models.RunView:
        """Create a run"""
        return await self._call('POST', '/api/v1/runs', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_run(
        self,
        run: str,
    ) -> models.RunView:
        """Get a run"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}')

    async def ask_question(
        self,
        run: str,
        body: models.AskQuestion,
    ) -> models.AnswerView:
        """Ask a question of an agent"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/approvals', body=body)

    async def confirm_answer(
        self,
        run: str,
        approval: str,
        body: models.ConfirmAnswer,
    ) -> models.AnswerView:
        """Confirm that an agent's process has got the answer"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/approvals/{quote(approval)}/confirm', body=body)

    async def take_answer(
        self,
        run: str,
        approval: str,
        body: models.TakeAnswer,
    ) -> models.AnswerView:
        """Take the answer to a question"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/approvals/{quote(approval)}/take', body=body)

    async def get_bundle_part(
        self,
        run: str,
        number: int,
    ) -> models.BundlePartView:
        """Get a part of a run's uploaded workspace"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/bundle/parts/{quote(number)}')

    async def put_bundle_part(
        self,
        run: str,
        number: int,
        body: models.PutBundlePart,
    ) -> models.BundleUploadView:
        """Upload a part of a run's workspace"""
        return await self._call('PUT', f'/api/v1/runs/{quote(run)}/bundle/parts/{quote(number)}', body=body)

    async def cancel_run(
        self,
        run: str,
    ) -> models.RunView:
        """Cancel a run"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/cancel')

    async def claim_run(
        self,
        run: str,
        body: models.ClaimRun,
    ) -> models.GrantView:
        """Claim a run"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/claim', body=body)

    async def close_run(
        self,
        run: str,
    ) -> models.RunView:
        """Close a run"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/close')

    async def poll_commands(
        self,
        run: str,
        *,
        after_seq: int | None = None,
        cancel_seq: int | None = None,
        limit: int | None = None,
        wait: int | None = None,
    ) -> models.WorkView:
        """Poll for commands"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/commands', query={'afterSeq': after_seq, 'cancelSeq': cancel_seq, 'limit': limit, 'wait': wait})

    async def create_command(
        self,
        run: str,
        body: models.CreateCommand,
        *,
        idempotency_key: str | None = None,
    ) -> models.CommandView:
        """Create a command"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/commands', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_command(
        self,
        run: str,
        command: str,
    ) -> models.CommandView:
        """Get a command"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/commands/{quote(command)}')

    async def get_command_result(
        self,
        run: str,
        command: str,
    ) -> models.ResultView:
        """Get the result of a command"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/commands/{quote(command)}/result')

    async def get_run_diff(
        self,
        run: str,
    ) -> models.DiffView:
        """Get the changes of a run's workspace"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/diff')

    async def put_run_diff(
        self,
        run: str,
        body: models.PutDiff,
    ) -> models.StoredDiffView:
        """Set the changes of a run's workspace"""
        return await self._call('PUT', f'/api/v1/runs/{quote(run)}/diff', body=body)

    async def delete_run_diff(
        self,
        run: str,
    ) -> models.DeletedDiffView:
        """Delete the changes of a run's workspace"""
        return await self._call('DELETE', f'/api/v1/runs/{quote(run)}/diff')

    async def list_events(
        self,
        run: str,
        *,
        after_seq: int | None = None,
        limit: int | None = None,
    ) -> models.EventsView:
        """List the events of a run"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/events', query={'afterSeq': after_seq, 'limit': limit})

    async def append_events(
        self,
        run: str,
        body: models.AppendEvents,
    ) -> models.AppendedEventsView:
        """Append events to a run"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/events', body=body)

    async def erase_event(
        self,
        run: str,
        seq: int,
    ) -> models.ErasedEventView:
        """Erase the content of an event"""
        return await self._call('DELETE', f'/api/v1/runs/{quote(run)}/events/{quote(seq)}')

    async def list_commands(
        self,
        run: str,
        *,
        after_seq: int | None = None,
        limit: int | None = None,
    ) -> models.CommandsView:
        """List the commands of a run"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/history', query={'afterSeq': after_seq, 'limit': limit})

    async def update_lease(
        self,
        run: str,
        body: models.ChangeLease,
    ) -> models.LeaseChangedView:
        """Renew or release a lease"""
        return await self._call('PATCH', f'/api/v1/runs/{quote(run)}/lease', body=body)

    async def get_run_result(
        self,
        run: str,
        *,
        command_id: str | None = None,
    ) -> models.ResultView:
        """Get the result of a run"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/result', query={'commandId': command_id})

    async def list_runner_jobs(
        self,
        run: str,
        *,
        command_id: str | None = None,
    ) -> models.RunnerJobsView:
        """List the runner jobs of a run"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/runner-jobs', query={'commandId': command_id})

    async def create_runner_job(
        self,
        run: str,
        body: models.CreateRunnerJob,
        *,
        idempotency_key: str | None = None,
    ) -> models.RunnerJobView:
        """Start a runner for a run"""
        return await self._call('POST', f'/api/v1/runs/{quote(run)}/runner-jobs', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_runner_job(
        self,
        run: str,
        job: str,
    ) -> models.RunnerJobView:
        """Get a runner job"""
        return await self._call('GET', f'/api/v1/runs/{quote(run)}/runner-jobs/{quote(job)}')

    async def set_run_status(
        self,
        run: str,
        body: models.EndStatus,
    ) -> models.RunView:
        """Set the status of a run"""
        return await self._call('PATCH', f'/api/v1/runs/{quote(run)}/status', body=body)

    async def list_preset_scopes(
        self,
    ) -> models.PresetScopesView:
        """List the preset scopes"""
        return await self._call('GET', '/api/v1/scopes')

    async def list_sessions(
        self,
        *,
        state: str | None = None,
        reader_id: str | None = None,
        tenant_id: str | None = None,
        backend_profile: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.SessionsView:
        """List sessions"""
        return await self._call('GET', '/api/v1/sessions', query={'state': state, 'readerId': reader_id, 'tenantId': tenant_id, 'backendProfile': backend_profile, 'cursor': cursor, 'limit': limit})

    async def create_session(
        self,
        body: models.CreateSession,
        *,
        idempotency_key: str | None = None,
    ) -> models.SessionView:
        """Create a session"""
        return await self._call('POST', '/api/v1/sessions', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_session(
        self,
        session: str,
        *,
        reader_id: str | None = None,
    ) -> models.SessionView:
        """Get a session"""
        return await self._call('GET', f'/api/v1/sessions/{quote(session)}', query={'readerId': reader_id})

    async def control_session(
        self,
        session: str,
        body: models.ControlSession,
    ) -> models.SessionCancellationView:
        """Cancel the active work of a session"""
        return await self._call('POST', f'/api/v1/sessions/{quote(session)}/control', body=body)

    async def get_session_output(
        self,
        session: str,
        *,
        after_seq: int | None = None,
        limit: int | None = None,
        run_id: str | None = None,
    ) -> models.EventsView:
        """List the output of a session's run"""
        return await self._call('GET', f'/api/v1/sessions/{quote(session)}/output', query={'afterSeq': after_seq, 'limit': limit, 'runId': run_id})

    async def mark_session_read(
        self,
        session: str,
        body: models.MarkRead,
    ) -> models.SessionView:
        """Mark a session as read"""
        return await self._call('POST', f'/api/v1/sessions/{quote(session)}/read', body=body)

    async def get_session_storage(
        self,
        session: str,
    ) -> models.StorageView:
        """Get the storage of a session"""
        return await self._call('GET', f'/api/v1/sessions/{quote(session)}/storage')

    async def evict_session_storage(
        self,
        session: str,
    ) -> models.StorageView:
        """Evict the storage of a session"""
        return await self._call('DELETE', f'/api/v1/sessions/{quote(session)}/storage')

    async def refresh_session_storage(
        self,
        session: str,
        body: models.RefreshStorage,
    ) -> models.StorageView:
        """Report the size of a session's storage"""
        return await self._call('POST', f'/api/v1/sessions/{quote(session)}/storage/refresh', body=body)

    async def get_session_trace(
        self,
        session: str,
        *,
        after_seq: int | None = None,
        limit: int | None = None,
        run_id: str | None = None,
    ) -> models.EventsView:
        """List the events of a session's run"""
        return await self._call('GET', f'/api/v1/sessions/{quote(session)}/trace', query={'afterSeq': after_seq, 'limit': limit, 'runId': run_id})

    async def list_tenants(
        self,
    ) -> models.TenantsView:
        """List the tenants of the caller"""
        return await self._call('GET', '/api/v1/tenants')

    async def create_tenant(
        self,
        body: models.CreateTenant,
        *,
        idempotency_key: str | None = None,
    ) -> models.TenantView:
        """Create a tenant"""
        return await self._call('POST', '/api/v1/tenants', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_tenant(
        self,
        tenant: str,
    ) -> models.TenantView:
        """Get a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}')

    async def get_approval_policy(
        self,
        tenant: str,
    ) -> models.ApprovalPolicyView:
        """Get the approval policy of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/approval-policy')

    async def set_approval_policy(
        self,
        tenant: str,
        body: models.SetApprovalPolicy,
    ) -> models.ApprovalPolicyView:
        """Set the approval policy of a tenant"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/approval-policy', body=body)

    async def list_audit_entries(
        self,
        tenant: str,
        *,
        after_seq: int | None = None,
        from_end: int | None = None,
        limit: int | None = None,
    ) -> models.AuditPageView:
        """List the audit log of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/audit', query={'afterSeq': after_seq, 'fromEnd': from_end, 'limit': limit})

    async def get_tenant_bounds(
        self,
        tenant: str,
    ) -> models.TenantBoundsView:
        """Get the bounds of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/bounds')

    async def set_tenant_bounds(
        self,
        tenant: str,
        body: models.SetTenantBounds,
    ) -> models.TenantBoundsView:
        """Set the bounds of a tenant"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/bounds', body=body)

    async def clear_tenant_bounds(
        self,
        tenant: str,
    ) -> models.TenantBoundsView:
        """Clear the bounds of a tenant"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/bounds')

    async def list_enrolments(
        self,
        tenant: str,
    ) -> models.EnrolmentsView:
        """List the enrolment tokens of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/enrolments')

    async def create_enrolment(
        self,
        tenant: str,
        body: models.CreateEnrolment,
        *,
        idempotency_key: str | None = None,
    ) -> models.NewEnrolmentView:
        """Create an enrolment token"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/enrolments', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def revoke_enrolment(
        self,
        tenant: str,
        enrolment: str,
    ) -> models.RevocationView:
        """Revoke an enrolment token"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/enrolments/{quote(enrolment)}')

    async def list_git_credentials(
        self,
        tenant: str,
    ) -> models.GitCredentialsView:
        """List the credentials of git hosts"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/git-credentials')

    async def set_git_credential(
        self,
        tenant: str,
        host: str,
        kind: str,
        body: models.PutGitCredential,
    ) -> models.GitCredentialView:
        """Set the credential of a git host"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/git-credentials/{quote(host)}/{quote(kind)}', body=body)

    async def delete_git_credential(
        self,
        tenant: str,
        host: str,
        kind: str,
    ) -> models.DeletedGitCredentialView:
        """Delete the credential of a git host"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/git-credentials/{quote(host)}/{quote(kind)}')

    async def list_invitations(
        self,
        tenant: str,
    ) -> models.InvitationsView:
        """List the invitations of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/invitations')

    async def create_invitation(
        self,
        tenant: str,
        body: models.CreateInvitation,
        *,
        idempotency_key: str | None = None,
    ) -> models.NewInvitationView:
        """Create an invitation"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/invitations', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def revoke_invitation(
        self,
        tenant: str,
        invitation: str,
    ) -> models.RevocationView:
        """Revoke an invitation"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/invitations/{quote(invitation)}')

    async def list_keys(
        self,
        tenant: str,
    ) -> models.KeysView:
        """List the service keys of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/keys')

    async def create_key(
        self,
        tenant: str,
        body: models.CreateKey,
        *,
        idempotency_key: str | None = None,
    ) -> models.NewKeyView:
        """Create a service key"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/keys', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def revoke_key(
        self,
        tenant: str,
        key: str,
    ) -> models.RevocationView:
        """Revoke a service key"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/keys/{quote(key)}')

    async def list_members(
        self,
        tenant: str,
    ) -> models.MembersView:
        """List the members of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/members')

    async def add_member(
        self,
        tenant: str,
        body: models.AddMember,
    ) -> models.MemberView:
        """Add a member by name"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/members', body=body)

    async def set_member(
        self,
        tenant: str,
        principal: str,
        body: models.SetMember,
    ) -> models.MemberRoleView:
        """Set the role of a member"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/members/{quote(principal)}', body=body)

    async def remove_member(
        self,
        tenant: str,
        principal: str,
    ) -> models.MemberRemovalView:
        """Remove a member"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/members/{quote(principal)}')

    async def list_projects(
        self,
        tenant: str,
    ) -> models.ProjectsView:
        """List the projects of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/projects')

    async def create_project(
        self,
        tenant: str,
        body: models.CreateProject,
        *,
        idempotency_key: str | None = None,
    ) -> models.ProjectView:
        """Create a project"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/projects', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_project(
        self,
        tenant: str,
        project: str,
    ) -> models.ProjectView:
        """Get a project"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/projects/{quote(project)}')

    async def set_project_setup(
        self,
        tenant: str,
        project: str,
        body: models.SetProjectSetup,
    ) -> models.ProjectView:
        """Set the setup of a project"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/projects/{quote(project)}/setup', body=body)

    async def clear_project_setup(
        self,
        tenant: str,
        project: str,
    ) -> models.ProjectView:
        """Clear the setup of a project"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/projects/{quote(project)}/setup')

    async def get_retention(
        self,
        tenant: str,
    ) -> models.RetentionView:
        """Get the retention of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/retention')

    async def set_retention(
        self,
        tenant: str,
        body: models.SetRetention,
    ) -> models.RetentionView:
        """Set the retention of a tenant"""
        return await self._call('PUT', f'/api/v1/tenants/{quote(tenant)}/retention', body=body)

    async def clear_retention(
        self,
        tenant: str,
    ) -> models.RetentionView:
        """Keep the history of a tenant for good"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/retention')

    async def list_runners(
        self,
        tenant: str,
        *,
        all: bool | None = None,
    ) -> models.RunnersView:
        """List the runners of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/runners', query={'all': all})

    async def get_runner(
        self,
        tenant: str,
        runner: str,
    ) -> models.RunnerSummaryView:
        """Get a runner"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/runners/{quote(runner)}')

    async def drain_runner(
        self,
        tenant: str,
        runner: str,
    ) -> models.RunnerSummaryView:
        """Drain a runner"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/runners/{quote(runner)}/drain')

    async def create_subject_token(
        self,
        tenant: str,
        body: models.MintSubjectToken,
    ) -> models.SubjectTokenView:
        """Create a token for an external subject"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/subject-tokens', body=body)

    async def list_webhooks(
        self,
        tenant: str,
    ) -> models.WebhooksView:
        """List the webhooks of a tenant"""
        return await self._call('GET', f'/api/v1/tenants/{quote(tenant)}/webhooks')

    async def create_webhook(
        self,
        tenant: str,
        body: models.CreateWebhook,
        *,
        idempotency_key: str | None = None,
    ) -> models.NewWebhookView:
        """Create a webhook"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/webhooks', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def delete_webhook(
        self,
        tenant: str,
        webhook: str,
    ) -> models.DeletedWebhookView:
        """Delete a webhook"""
        return await self._call('DELETE', f'/api/v1/tenants/{quote(tenant)}/webhooks/{quote(webhook)}')

    async def rotate_webhook_secret(
        self,
        tenant: str,
        webhook: str,
    ) -> models.RotatedWebhookView:
        """Replace the signing secret of a webhook"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/webhooks/{quote(webhook)}/rotate')

    async def test_webhook(
        self,
        tenant: str,
        webhook: str,
    ) -> models.WebhookTestView:
        """Send a test event to a webhook"""
        return await self._call('POST', f'/api/v1/tenants/{quote(tenant)}/webhooks/{quote(webhook)}/test')

    async def list_users(
        self,
        *,
        name: str | None = None,
        name_prefix: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.UsersView:
        """List users"""
        return await self._call('GET', '/api/v1/users', query={'name': name, 'namePrefix': name_prefix, 'cursor': cursor, 'limit': limit})

    async def create_user(
        self,
        body: models.CreateUser,
    ) -> models.UserView:
        """Create a user"""
        return await self._call('POST', '/api/v1/users', body=body)

    async def get_user(
        self,
        principal: str,
    ) -> models.UserView:
        """Get a user"""
        return await self._call('GET', f'/api/v1/users/{quote(principal)}')

    async def disable_user(
        self,
        principal: str,
    ) -> models.UserView:
        """Disable a user"""
        return await self._call('POST', f'/api/v1/users/{quote(principal)}/disable')

    async def enable_user(
        self,
        principal: str,
    ) -> models.UserView:
        """Enable a disabled user"""
        return await self._call('POST', f'/api/v1/users/{quote(principal)}/enable')

    async def end_user_logins(
        self,
        principal: str,
    ) -> models.EndedLoginsView:
        """End all logins of a user"""
        return await self._call('DELETE', f'/api/v1/users/{quote(principal)}/logins')

    async def reset_password(
        self,
        principal: str,
        body: models.ResetPassword,
    ) -> models.UserView:
        """Reset the password of a user"""
        return await self._call('PUT', f'/api/v1/users/{quote(principal)}/password', body=body)

    async def unlock_user(
        self,
        principal: str,
    ) -> models.UserView:
        """Unlock a user"""
        return await self._call('POST', f'/api/v1/users/{quote(principal)}/unlock')

    async def get_webhook(
        self,
        webhook: str,
    ) -> models.WebhookView:
        """Get a webhook"""
        return await self._call('GET', f'/api/v1/webhooks/{quote(webhook)}')

    async def update_webhook(
        self,
        webhook: str,
        body: models.UpdateWebhook,
    ) -> models.WebhookView:
        """Enable or disable a webhook"""
        return await self._call('PATCH', f'/api/v1/webhooks/{quote(webhook)}', body=body)

    async def claim_webhook_events(
        self,
        webhook: str,
        body: models.ClaimEvents,
    ) -> models.ClaimedEventsView:
        """Claim events of a listener"""
        return await self._call('POST', f'/api/v1/webhooks/{quote(webhook)}/claim', body=body)

    async def list_webhook_deliveries(
        self,
        webhook: str,
        *,
        cursor: str | None = None,
        state: str | None = None,
        limit: int | None = None,
    ) -> models.DeliveriesView:
        """List the deliveries of a webhook"""
        return await self._call('GET', f'/api/v1/webhooks/{quote(webhook)}/deliveries', query={'cursor': cursor, 'state': state, 'limit': limit})

    async def report_webhook_event(
        self,
        webhook: str,
        body: models.ReportEvent,
    ) -> models.ReportedEventView:
        """Report what the receiver of a listener has answered"""
        return await self._call('POST', f'/api/v1/webhooks/{quote(webhook)}/reports', body=body)

    async def resend_webhook_events(
        self,
        webhook: str,
        body: models.ResendEvents,
    ) -> models.ResentView:
        """Send events of a webhook again"""
        return await self._call('POST', f'/api/v1/webhooks/{quote(webhook)}/resend', body=body)

    async def trigger_webhook(
        self,
        webhook: str,
        body: models.TriggerEvent,
    ) -> models.WebhookTestView:
        """Send a sample event to a webhook"""
        return await self._call('POST', f'/api/v1/webhooks/{quote(webhook)}/trigger', body=body)

    async def get_current_principal(
        self,
    ) -> models.WhoamiView:
        """Get the signed-in principal"""
        return await self._call('GET', '/api/v1/whoami')

    async def get_capabilities(
        self,
        *,
        tenant_id: str | None = None,
    ) -> models.CapabilitiesView:
        """Get the capabilities of the server"""
        return await self._call('GET', '/capabilities', query={'tenantId': tenant_id})

    async def get_log_entry_of_certificate(
        self,
        serial: str,
    ) -> models.LogEntryView:
        """Get the entry of a certificate"""
        return await self._call('GET', f'/ct/certs/{quote(serial)}')

    async def get_consistency_proof(
        self,
        first: int,
        second: int,
    ) -> models.ConsistencyProofView:
        """Prove that the log has only grown"""
        return await self._call('GET', f'/ct/consistency/{quote(first)}/{quote(second)}')

    async def list_log_entries(
        self,
        *,
        start: int | None = None,
        limit: int | None = None,
    ) -> models.LogEntriesView:
        """List entries"""
        return await self._call('GET', '/ct/entries', query={'start': start, 'limit': limit})

    async def get_log_entry(
        self,
        log_id: int,
    ) -> models.LogEntryView:
        """Get an entry"""
        return await self._call('GET', f'/ct/entries/{quote(log_id)}')

    async def get_inclusion_proof(
        self,
        tree_size: int,
        log_id: int,
    ) -> models.InclusionProofView:
        """Prove that an entry is in the log"""
        return await self._call('GET', f'/ct/proof/{quote(tree_size)}/{quote(log_id)}')

    async def get_tree_head(
        self,
    ) -> models.TreeHeadView:
        """Get the newest signed tree head"""
        return await self._call('GET', '/ct/sth')

    async def list_h2a_relations(
        self,
        *,
        ended: bool | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> models.RelationsView:
        """List your relations"""
        return await self._call('GET', '/h2a/relations', query={'ended': ended, 'cursor': cursor, 'limit': limit})

    async def create_h2a_relation(
        self,
        body: models.CreateRelation,
        *,
        idempotency_key: str | None = None,
    ) -> models.RelationView:
        """Grant scopes to an agent"""
        return await self._call('POST', '/h2a/relations', headers={'Idempotency-Key': idempotency_key}, body=body)

    async def get_h2a_relation(
        self,
        relation: str,
    ) -> models.RelationView:
        """Get one of your relations"""
        return await self._call('GET', f'/h2a/relations/{quote(relation)}')

    async def update_h2a_relation(
        self,
        relation: str,
        body: models.UpdateRelation,
    ) -> models.RelationView:
        """Change what is granted"""
        return await self._call('PATCH', f'/h2a/relations/{quote(relation)}', body=body)

    async def delete_h2a_relation(
        self,
        relation: str,
    ) -> models.EndedRelationView:
        """End a relation"""
        return await self._call('DELETE', f'/h2a/relations/{quote(relation)}')

    async def get_health(
        self,
    ) -> models.HealthView:
        """Get the health of the installation"""
        return await self._call('GET', '/health')

    async def get_liveness(
        self,
    ) -> models.LiveView:
        """Check that the process is alive"""
        return await self._call('GET', '/health/live')

    async def get_readiness(
        self,
    ) -> models.ReadinessView:
        """Check whether this replica is ready for traffic"""
        return await self._call('GET', '/health/readiness')

    async def get_revocation_list(
        self,
    ) -> models.RevocationListView:
        """Get the list of revoked certificates"""
        return await self._call('GET', '/pki/crl.json')

    async def get_certificate_status(
        self,
        serial: str,
    ) -> models.OcspView:
        """Get the state of a certificate"""
        return await self._call('GET', f'/pki/ocsp/{quote(serial)}')

    async def get_trusted_roots(
        self,
    ) -> models.TrustListView:
        """Get the list of trusted roots"""
        return await self._call('GET', '/pki/trust-roots.json')

    async def get_trusted_roots_of_issuer(
        self,
    ) -> models.TrustListView:
        """Get the list of trusted roots"""
        return await self._call('GET', '/trust-root.json')
