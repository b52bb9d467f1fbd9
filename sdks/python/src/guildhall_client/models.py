# Generated from schemas/openapi.json by `cargo xtask sdks --write`. Do not edit.

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict, Union

from typing_extensions import NotRequired


class AcceptInvitation(TypedDict):
    """
    An invitation to accept. It has no `Debug`, so that it is never logged.
    """

    secret: str


class AcceptedInvitationView(TypedDict):
    """
    The membership from an accepted invitation.
    """

    role: str
    tenant: str


class AccountSettings(TypedDict):
    """
    What the caller has chosen for itself.
    """

    timeZone: NotRequired[str | None]


class AcknowledgeNotice(TypedDict):
    """
    Says that the user has seen what changed.
    """

    manifest_version: int


class AcknowledgedNoticeView(TypedDict):
    """
    Confirms that the event about a version is not repeated.
    """

    acknowledged: bool
    manifest_version: int
    relation_id: str


class ActionView(TypedDict):
    about: str
    action: str


class AddMember(TypedDict):
    """
    A member to add by name.
    """

    name: str
    role: str


class AgentActivityMessage(TypedDict):
    """
    A progress update.
    """

    activityType: str
    content: dict[str, Any]
    id: str
    role: Literal['activity']


class AgentAidView(TypedDict):
    """
    The AID with which an agent speaks.
    """

    aid: str
    hosted: bool


class AgentBinaryBlock(TypedDict):
    """
    An image of a user message. Its bytes are not allowed in the body (`data`).
    """

    filename: NotRequired[str | None]
    id: NotRequired[str | None]
    mimeType: str
    type: Literal['binary']
    url: str


class AgentContext(TypedDict):
    """
    A fact of the front end.
    """

    description: str
    value: str


class AgentDeveloperMessage(TypedDict):
    """
    An instruction of the developer.
    """

    content: str
    encryptedValue: NotRequired[str | None]
    id: str
    name: NotRequired[str | None]
    role: Literal['developer']


class AgentInboxView(TypedDict):
    """
    The inbox of an agent.
    """

    aid: str
    endToEndEncrypted: bool
    senders: str


class AgentReasoningMessage(TypedDict):
    """
    The reasoning of the agent.
    """

    content: str
    encryptedValue: NotRequired[str | None]
    id: str
    role: Literal['reasoning']


class AgentSystemMessage(TypedDict):
    """
    An instruction of the application.
    """

    content: str
    encryptedValue: NotRequired[str | None]
    id: str
    name: NotRequired[str | None]
    role: Literal['system']


class AgentTextBlock(TypedDict):
    """
    Text of a user message.
    """

    text: str
    type: Literal['text']


class AgentTool(TypedDict):
    """
    A tool of the front end.
    """

    description: str
    name: str
    parameters: dict[str, Any]


class AgentToolCallFunction(TypedDict):
    """
    The function of a tool call.
    """

    arguments: str
    name: str


AgentToolCallType: TypeAlias = Literal['function']


class AgentToolMessage(TypedDict):
    """
    The result of a tool call.
    """

    content: str
    encryptedValue: NotRequired[str | None]
    error: NotRequired[str | None]
    id: str
    role: Literal['tool']
    toolCallId: str


class AidCertificateView(TypedDict):
    certificate: str
    fingerprint: str
    keyFingerprint: str
    notAfter: str
    notBefore: str
    revocationReason: NotRequired[str | None]
    revokedAt: NotRequired[str | None]
    serial: str
    status: str


class AidView(TypedDict):
    aid: str
    certificate: AidCertificateView
    createdAt: str
    owner: str


class AidsView(TypedDict):
    """
    AIDs by name.
    """

    aids: list[AidView]
    nextCursor: NotRequired[str | None]


class AnswerView(TypedDict):
    """
    The state of a question, for the runner that asked it.
    """

    approvalId: str
    content: NotRequired[dict[str, Any] | None]
    optionId: NotRequired[str | None]
    parked: NotRequired[bool]
    status: str


class AppendedEventView(TypedDict):
    id: str
    replayed: bool
    seq: int


class AppendedEventsView(TypedDict):
    events: list[AppendedEventView]
    lastSeq: int


class ApprovalDeclinedPayload(TypedDict):
    """
    The agent asked for permission and was declined.
    """

    detail: NotRequired[Any]
    reason: NotRequired[str]
    what: NotRequired[str]


class ApprovalEventView(TypedDict):
    """
    An event of a stream of approvals.
    """

    commandId: str
    payload: dict[str, Any]
    recordedAt: str
    runId: str
    seq: int
    sessionId: str
    type: str
    v: int


ApprovalPolicy: TypeAlias = Literal['untrusted', 'on-request', 'never']


class ApprovalPolicyView(TypedDict):
    """
    The approval policy of a tenant.
    """

    approverId: NotRequired[str | None]
    expiresAfterMs: int
    holdForMs: int
    mode: str
    onExpiry: str
    quorum: NotRequired[int | None]
    reuseWithinMs: int
    version: int
    veto: NotRequired[bool | None]


class ApprovalRequestedPayload(TypedDict):
    """
    The agent asks before it acts. The approval has the question.
    """

    answered: NotRequired[bool]
    approvalId: str
    callId: NotRequired[str]
    expiresAt: str
    kind: str
    tool: str


class ApprovalRuleView(TypedDict):
    """
    A remembered answer to one exact action.
    """

    approvalId: str
    authorId: str
    backendProfile: NotRequired[str | None]
    createdAt: str
    effect: str
    expiresAt: str
    projectId: NotRequired[str | None]
    revoked: bool
    ruleId: str
    runId: NotRequired[str | None]
    scope: str
    sessionId: NotRequired[str | None]
    tenantId: str
    used: int


class ApprovalRulesView(TypedDict):
    """
    One page of rules, newest first.
    """

    nextCursor: NotRequired[str | None]
    rules: list[ApprovalRuleView]


class ApprovalStatusPayload(TypedDict):
    """
    A new state of a question.
    """

    approvalId: str
    by: NotRequired[list[str] | None]
    effect: NotRequired[str | None]
    optionId: NotRequired[str | None]
    reason: NotRequired[str | None]
    status: str


class ApprovalVotePayload(TypedDict):
    """
    An answer that does not decide yet.
    """

    approvalId: str
    by: str
    optionId: str
    quorum: int
    votes: int


class ArtifactPayload(TypedDict):
    """
    A file that the turn changed, or a summary of the remaining ones.
    """

    bytes: NotRequired[int]
    change: NotRequired[str]
    files: NotRequired[int]
    filesLookedAt: NotRequired[int]
    kind: NotRequired[str]
    path: NotRequired[str | None]
    truncated: NotRequired[bool]
    wholeWorkspace: NotRequired[bool]


class ArtifactSummaryView(TypedDict):
    bytes: int
    count: int
    items: list[dict[str, Any]]
    outputBytes: int
    outputCount: int
    outputTruncated: bool
    truncated: bool


class AssistantDeltaPayload(TypedDict):
    """
    A chunk of a message in progress. The complete message follows.
    """

    itemId: NotRequired[str]
    text: NotRequired[str]


class AttachmentView(TypedDict):
    """
    A stored attachment.
    """

    expiresAt: str
    id: str
    mimeType: str
    size: int
    url: str


class AttemptView(TypedDict):
    """
    An attempt to send an event.
    """

    at: str
    attempt: int
    durationMs: int
    error: NotRequired[str | None]
    status: NotRequired[int | None]


class AuditPublicKeyView(TypedDict):
    """
    The key that verifies the checkpoints of all audit logs.
    """

    algorithm: str
    keyId: str
    publicKey: str


class BackendEventPayload(TypedDict):
    """
    An event of the agent that Guildhall does not know.
    """

    kind: NotRequired[str]
    payload: NotRequired[Any]


class BackendStatusPayload(TypedDict):
    """
    A status of the backend, the runner or its lease, by `phase`.
    """

    attemptId: NotRequired[str]
    detail: NotRequired[Any]
    epoch: NotRequired[int]
    events: NotRequired[int]
    file: NotRequired[str]
    host: NotRequired[str]
    leaseExpiresAt: NotRequired[str]
    level: NotRequired[str]
    message: NotRequired[str]
    owner: NotRequired[str]
    phase: NotRequired[str]
    reason: NotRequired[str]
    recoveredFrom: NotRequired[str | None]
    runnerId: NotRequired[str]
    withinMs: NotRequired[int]


class BackendView(TypedDict):
    """
    A backend profile and its features.
    """

    backendKind: str
    commandTypes: list[str]
    configured: bool
    profile: str
    protocol: str
    requiredSecretKeys: list[str]
    transport: str
    unavailable: NotRequired[str | None]


class BackendsView(TypedDict):
    backends: list[BackendView]


Base64Bytes: TypeAlias = str


class BrowserSessionView(TypedDict):
    """
    A browser session. Its cookie is set with `Set-Cookie` and is not accessible to scripts.
    """

    csrfToken: str
    expiresAt: str
    principal: str


class BuildView(TypedDict):
    """
    Build of the server.
    """

    commit: str
    version: str


class BundlePartView(TypedDict):
    """
    A part of a bundle, for the runner.
    """

    content: Base64Bytes
    number: int
    runId: str


class BundleUploadView(TypedDict):
    """
    The stored part.
    """

    missingParts: int
    number: int
    runId: str


class BundleWorkspace(TypedDict):
    """
    A Git bundle that you upload after you created the run, in parts of 1 MiB: the agent gets its own repository from it.
    `refs/guildhall/base` in the bundle is a commit with the files of the working tree; `HEAD` is optional.
    """

    kind: Literal['bundle']
    sha256: str
    sizeBytes: int


class CastVote(TypedDict):
    """
    An answer to a question.
    """

    content: NotRequired[dict[str, Any] | None]
    optionId: str
    remember: NotRequired[str | None]
    shownDigest: str


class ChangeLease(TypedDict):
    """
    A renewal or release of a lease.
    """

    release: NotRequired[bool]


class ChangePassword(TypedDict):
    """
    A change of the caller's password. It has no `Debug`, so that it is never logged.
    """

    currentPassword: str
    newPassword: str


class CheckpointView(TypedDict):
    """
    A signed statement: the hash of this log at this entry. It covers all entries before.
    """

    keyId: str
    log: str
    signature: str
    signedAt: str


class ClaimEvents(TypedDict):
    """
    A request for events.
    """

    wait: NotRequired[int]


class ClaimNext(TypedDict):
    """
    A claim on the next available run.
    """

    runnerId: str
    wait: NotRequired[int]


class ClaimRun(TypedDict):
    """
    A claim on a run.
    """

    runnerId: str
    wait: NotRequired[bool]


class ClaimedEventView(TypedDict):
    """
    An event to send. It is handed out again after a minute without a report.
    """

    attempt: int
    body: str
    claim: str
    eventId: str


class ClaimedEventsView(TypedDict):
    """
    Events for the receiver of the program, at most one of each conversation.
    """

    events: list[ClaimedEventView]


class ClientRunPayload(TypedDict):
    """
    A client's own run id. It stands for a turn, or for the part of it that follows the answers to its questions.
    """

    clientRunId: str
    parentRunId: NotRequired[str]
    resumed: NotRequired[list[str]]
    tools: NotRequired[list[dict[str, Any]]]
    worker: NotRequired[str]


class ClientTimeBody(TypedDict):
    """
    The time of the device.
    """

    client_epoch_ms: int
    client_now_iso: str
    device_timezone: str


class CommandActivityView(TypedDict):
    """
    The last event of a command.
    """

    ageMs: int
    at: str
    seq: int
    type: str


class CommandOutputPayload(TypedDict):
    """
    Output of a tool call.
    """

    callId: NotRequired[str]
    droppedBytes: NotRequired[int]
    outputTruncated: NotRequired[bool]
    text: NotRequired[str]
    whole: NotRequired[bool]


class CommandStatusPayload(TypedDict):
    """
    A change of the status of a command. The end of a command is a `terminal_status`.
    """

    by: NotRequired[str]
    continues: NotRequired[str]
    ordinal: NotRequired[int]
    runnerId: NotRequired[str]
    status: str
    type: NotRequired[str]


class CommandView(TypedDict):
    ackedAt: NotRequired[str | None]
    cancelRequested: bool
    commandId: str
    createdAt: str
    createdBy: str
    endedAt: NotRequired[str | None]
    failureKind: NotRequired[str | None]
    message: NotRequired[str | None]
    payload: dict[str, Any]
    runId: str
    seq: int
    status: str
    targetCommandId: NotRequired[str | None]
    terminalStatus: NotRequired[str | None]
    type: str


class CommandsView(TypedDict):
    """
    Commands of a run, in order.
    """

    commands: list[CommandView]
    nextAfterSeq: NotRequired[int | None]


class ConfirmAnswer(TypedDict):
    """
    Confirms that the agent's process has got the answer.
    """

    process: str


class ConsistencyProofView(TypedDict):
    """
    A proof that the log of the first size is the beginning of the log of the second size.
    """

    first: int
    hashes: list[str]
    second: int


class ContextEntryBody(TypedDict):
    """
    A fact for the agent.
    """

    description: str
    value: str


class ControlSession(TypedDict):
    """
    A control action on a session.
    """

    action: str


class CopilotKitAgent(TypedDict):
    """
    An agent.
    """

    className: str
    description: str
    name: str


class CopilotKitThreadEndpoints(TypedDict):
    """
    Which routes there are for lists of threads. None: `connect` reads one thread.
    """

    inspect: bool
    list: bool
    mutations: bool
    realtimeMetadata: bool


class CopyWorkspace(TypedDict):
    """
    A private copy of a Git repository on the runner's machine: its working tree as it is, with changes that are not
    committed and untracked files that are not ignored.
    """

    kind: Literal['copy']
    path: str


class CreateAid(TypedDict):
    """
    An AID to create.
    """

    name: str
    owner: NotRequired[str | None]
    publicKey: str


class CreateCommand(TypedDict):
    """
    A command to create. The text of a turn or steer is the `prompt`, `message` or `text` of `payload`.
    """

    idempotencyKey: NotRequired[str | None]
    payload: NotRequired[dict[str, Any]]
    type: str


class CreateEnrolment(TypedDict):
    """
    An enrolment token to create.
    """

    expiresInMs: NotRequired[int | None]
    name: str
    profile: NotRequired[str | None]


class CreateInvitation(TypedDict):
    """
    An invitation to create.
    """

    email: NotRequired[str | None]
    role: str


class CreateKey(TypedDict):
    """
    A service key to create.
    """

    name: str
    role: str


class CreateProject(TypedDict):
    """
    A project to create.
    """

    name: str
    slug: str


class CreateRelation(TypedDict):
    """
    A consent.
    """

    agent_id: str
    granted_scopes: NotRequired[list[str]]
    manifest_hash: NotRequired[str | None]
    manifest_version: NotRequired[int | None]


class CreateRunnerJob(TypedDict):
    """
    Starts a runner for a pending command of a run. Defaults to the oldest pending command.
    """

    commandId: NotRequired[str | None]
    idempotencyKey: NotRequired[str | None]


class CreateSession(TypedDict):
    """
    A session to create.
    """

    backendProfile: str
    expiresInMs: NotRequired[int | None]
    projectId: str
    tenantId: str


class CreateTenant(TypedDict):
    """
    A tenant to create.
    """

    name: str
    slug: str


class CreateUser(TypedDict):
    """
    A user to create. It has no `Debug`, so that it is never logged.
    """

    name: str
    password: str


class CreateWebhook(TypedDict):
    """
    A webhook to create.
    """

    agentId: NotRequired[str | None]
    description: NotRequired[str]
    events: list[str]
    sender: NotRequired[str | None]
    url: str


class DeletedAgentAidView(TypedDict):
    """
    Confirms that an agent that runs elsewhere has no AID any more.
    """

    agentId: str
    deleted: bool


class DeletedDiffView(TypedDict):
    """
    Confirms that the changes were deleted.
    """

    deleted: bool
    runId: str


class DeletedGitCredentialView(TypedDict):
    """
    Confirms that a credential was deleted.
    """

    deleted: bool
    host: str
    kind: str


class DeletedProfileView(TypedDict):
    """
    Confirms that a profile and its credential were deleted.
    """

    deleted: bool
    profile: str


class DeletedWebhookView(TypedDict):
    """
    Confirms that a webhook was deleted.
    """

    deleted: bool
    id: str


class DeliveryView(TypedDict):
    """
    An event of a webhook.
    """

    attempts: list[AttemptView]
    createdAt: str
    eventId: str
    finishedAt: NotRequired[str | None]
    nextAttemptAt: NotRequired[str | None]
    state: str
    type: NotRequired[str | None]


class DiffView(TypedDict):
    """
    The changes of a workspace since its start.
    """

    bytes: int
    commandId: str
    createdAt: str
    diff: Base64Bytes
    runId: str


class DirectoryWorkspace(TypedDict):
    """
    An existing directory on the runner's machine. The agent works in it.
    """

    kind: Literal['directory']
    path: str


class EffectiveBoundsView(TypedDict):
    """
    What runs of a tenant may request. An empty list allows nothing.
    """

    approval: str
    directories: list[str]
    network: str
    profiles: list[str]
    projects: list[str]
    providers: list[str]
    sandbox: str
    timeoutMs: int
    traceSinks: list[str]


class EmptyWorkspace(TypedDict):
    """
    A new, empty directory.
    """

    kind: Literal['empty']


class EndStatus(TypedDict):
    """
    Terminal status of a run or command.
    """

    failureKind: NotRequired[str | None]
    message: NotRequired[str | None]
    status: str
    threadId: NotRequired[str | None]


class EndUsersBody(TypedDict):
    """
    Limits for each end user. They do not apply to members of the tenant.
    """

    answerApprovals: NotRequired[bool | None]
    openThreads: NotRequired[int | None]
    tokensPerDay: NotRequired[int | None]
    turnsPerMinute: NotRequired[int | None]


class EndUsersView(TypedDict):
    """
    Limits for each end user.
    """

    answerApprovals: bool
    openThreads: int
    tokensPerDay: int
    turnsPerMinute: int


class EndedLoginsView(TypedDict):
    """
    The number of ended logins.
    """

    endedLogins: int


class EngineView(TypedDict):
    """
    Last probe of PostgreSQL or NATS.
    """

    observedAt: NotRequired[str | None]
    reachable: bool


class EnrolmentView(TypedDict):
    createdAt: str
    expiresAt: str
    id: str
    lastUsedAt: NotRequired[str | None]
    name: str
    profile: NotRequired[str | None]
    revokedAt: NotRequired[str | None]


class EnrolmentsView(TypedDict):
    """
    Enrolment tokens, newest first, at most 1000.
    """

    enrolments: list[EnrolmentView]


class ErasedEventView(TypedDict):
    """
    Confirms that the content of an event was erased.
    """

    erased: bool
    runId: str
    seq: int


class ErrorPayload(TypedDict):
    """
    An error that did not end the turn.
    """

    failureKind: NotRequired[str]
    message: NotRequired[str]


class ExchangeHandoff(TypedDict):
    """
    A handoff code from the browser redirect, and the verifier that proves its owner.
    """

    code: str
    verifier: str


class FailedDeliveryView(TypedDict):
    """
    The last failed attempt to send an event.
    """

    at: str
    attempt: int
    eventId: str
    isFinal: bool
    message: str


class FileChangeBody(TypedDict):
    """
    A change of one file.
    """

    path: str
    text: str


class FinalResponseView(TypedDict):
    """
    The message selected as the reply, and how it was selected.
    """

    final: bool
    outputTruncated: bool
    replyAuthority: bool
    seq: int
    source: str
    text: NotRequired[str | None]
    textTruncated: bool


class GatewayView(TypedDict):
    """
    A gateway.
    """

    priority: int
    url: str


class GatewaysView(TypedDict):
    """
    The gateways of an issuer, at which clients open the socket.
    """

    gateways: list[GatewayView]


class GitCredentialView(TypedDict):
    """
    A stored credential, without its value.
    """

    host: str
    kind: str
    sha256Suffix: str
    updatedAt: str


class GitCredentialsView(TypedDict):
    """
    The credentials of a tenant.
    """

    credentials: list[GitCredentialView]


class GitWorkspace(TypedDict):
    """
    A checkout of a Git repository. It has either `repoUrl` or `path`, and at most one of `ref` and `commitId`.
    """

    commitId: NotRequired[str | None]
    kind: Literal['git']
    path: NotRequired[str | None]
    ref: NotRequired[str | None]
    repoUrl: NotRequired[str | None]


class HeartbeatView(TypedDict):
    """
    The last heartbeat of a runner. Appended events count as heartbeats.
    """

    ageMs: int
    lastAt: str
    stale: bool


class HistoryAttachment(TypedDict):
    """
    An image of a user message.
    """

    mimeType: str
    url: str


class HistoryMessageUser(TypedDict):
    """
    A message of the user.
    """

    attachments: list[HistoryAttachment]
    content: str
    id: str
    role: Literal['user']
    seq: int
    timestamp: str


HistoryScope: TypeAlias = Literal['history_day']


class HousekeepingView(TypedDict):
    """
    A background task.
    """

    everyMs: int
    lastError: NotRequired[str | None]
    lastRunAt: NotRequired[str | None]
    lastSuccessAt: NotRequired[str | None]
    late: bool
    name: str
    nextRunAt: str


ImageBytes: TypeAlias = bytes


class InclusionProofView(TypedDict):
    """
    A proof that an entry is in a log of a size.
    """

    hashes: list[str]
    leaf_hash: str
    leaf_index: int
    tree_size: int


class InvitationView(TypedDict):
    acceptedAt: NotRequired[str | None]
    acceptedBy: NotRequired[str | None]
    createdAt: str
    email: NotRequired[str | None]
    expiresAt: str
    id: str
    invitedBy: str
    revokedAt: NotRequired[str | None]
    role: str


class InvitationsView(TypedDict):
    invitations: list[InvitationView]


class JobLogView(TypedDict):
    """
    Location of the log, for operators of the server.
    """

    identity: NotRequired[str | None]
    kind: str


class JobTerminalView(TypedDict):
    """
    Terminal state of a process.
    """

    exitCode: NotRequired[int | None]
    message: NotRequired[str | None]
    status: str


class KeyView(TypedDict):
    createdAt: str
    id: str
    lastUsedAt: NotRequired[str | None]
    name: str
    revokedAt: NotRequired[str | None]


class KeysView(TypedDict):
    keys: list[KeyView]


class LeaseView(TypedDict):
    """
    The lease of a run: its holder and its expiry.
    """

    attemptId: NotRequired[str | None]
    epoch: int
    expiresAt: str
    runnerId: str


class LiveView(TypedDict):
    """
    The process is running and responds.
    """

    build: BuildView
    serviceId: str
    status: str


class LivenessView(TypedDict):
    """
    Liveness of a run or command: what it waits for, what happens next and what you can do. Computed on request.
    """

    active: bool
    heartbeat: NotRequired[HeartbeatView | None]
    lastCommandActivity: NotRequired[CommandActivityView | None]
    lastEventAgeMs: NotRequired[int | None]
    lastSeq: int
    lease: NotRequired[LeaseView | None]
    nextStep: str
    nextStepAt: NotRequired[str | None]
    phase: str
    recoveryActions: list[ActionView]
    sentence: str


class LogEntryView(TypedDict):
    """
    An entry of the log: a certificate, or a published version of the manifest of an agent.
    """

    agent_id: NotRequired[str | None]
    aid: NotRequired[str | None]
    cert_sha256: NotRequired[str | None]
    certificate: NotRequired[str | None]
    entry_type: str
    issuer: str
    leaf_hash: str
    log_id: int
    manifest_hash: NotRequired[str | None]
    manifest_version: NotRequired[int | None]
    serial: NotRequired[str | None]
    timestamp: int


class ManifestVersionView(TypedDict):
    """
    A version of the manifest of an agent. Versions never change.
    """

    capabilityManifest: NotRequired[dict[str, Any] | None]
    consent: NotRequired[str | None]
    contract: NotRequired[str | None]
    createdAt: str
    hash: str
    logId: NotRequired[int | None]
    version: int


class ManifestVersionsView(TypedDict):
    """
    Versions, newest first.
    """

    versions: list[ManifestVersionView]


class MarkRead(TypedDict):
    """
    The read position of a reader.
    """

    readerId: NotRequired[str]
    version: NotRequired[int | None]


class MemberRemovalView(TypedDict):
    """
    Confirms that a member was removed.
    """

    principal: str
    removed: bool


class MemberRoleView(TypedDict):
    """
    The role of a member after a change.
    """

    principal: str
    role: str


class MemberView(TypedDict):
    name: str
    principal: str
    role: str


class MembersView(TypedDict):
    members: list[MemberView]


class MessageAttachment(TypedDict):
    """
    An image of a message.
    """

    id: str
    mimeType: str


class MigrationsView(TypedDict):
    """
    Schema version of the database.
    """

    known: int
    ready: bool


class MintSubjectToken(TypedDict):
    """
    The external subject to issue a token for: an end user of an application.
    """

    agentId: NotRequired[str | None]
    name: NotRequired[str | None]
    subject: str


NetworkPolicy: TypeAlias = Literal['disabled', 'allow-list', 'enabled']


class NewEnrolmentView(TypedDict):
    """
    A created enrolment token.
    """

    id: str
    secret: NotRequired[str | None]


class NewEvent(TypedDict):
    commandId: NotRequired[str | None]
    id: str
    payload: NotRequired[dict[str, Any]]
    type: str


class NewInvitationView(TypedDict):
    """
    A created invitation.
    """

    id: str
    secret: NotRequired[str | None]


class NewKeyView(TypedDict):
    """
    A created service key.
    """

    id: str
    secret: NotRequired[str | None]


class NewWebhookView(TypedDict):
    """
    A created webhook.
    """

    id: str
    secret: NotRequired[str | None]


class OcspView(TypedDict):
    """
    The state of a certificate, as the clients of AUN read it.
    """

    ocsp_response: str
    status: str


class OptionBody(TypedDict):
    """
    An option of an answer. It lasts once.
    """

    changesMode: NotRequired[bool]
    effect: str
    id: str
    label: str


class OtherEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[dict[str, Any] | None]
    recordedAt: str
    seq: int
    type: str
    v: int


class OwnEnrolmentView(TypedDict):
    """
    The enrolment of the calling runner.
    """

    expiresAt: str
    id: str
    profile: NotRequired[str | None]
    run: NotRequired[str | None]
    tenant: NotRequired[str | None]


class OwnGrantView(TypedDict):
    """
    The grant of a run token. It does not prove that the lease is still valid.
    """

    epoch: int
    expiresAt: str
    run: str
    runner: str
    tenant: str


PermissionPolicy: TypeAlias = Literal['first-responder', 'designated', 'consensus', 'local-only']


class PolicyView(TypedDict):
    """
    Policies of the server.
    """

    permission: PermissionPolicy


class ProblemError(TypedDict):
    """
    One error in a document of the body.
    """

    message: str
    pointer: str
    rule: str


class ProjectSetupView(TypedDict):
    """
    A shell command that prepares the workspace of a run before its agent starts.
    """

    allowedHosts: list[str]
    cacheFiles: list[str]
    command: str


class ProjectView(TypedDict):
    createdAt: str
    id: str
    name: str
    setup: NotRequired[ProjectSetupView | None]
    slug: str


class ProjectsView(TypedDict):
    """
    Projects sorted by slug, at most 1000.
    """

    projects: list[ProjectView]


class ProtocolView(TypedDict):
    """
    Protocol versions.
    """

    current: str
    supported: list[str]


class PublishedAgentView(TypedDict):
    """
    What everybody may read about a published agent. Names of fields have underscores, as in the specification of manifests.
    """

    capability_manifest: dict[str, Any]
    capability_manifest_hash: str
    capability_manifest_version: int
    id: str
    log_id: int
    name: str


class PutAgentAid(TypedDict):
    """
    The AID of an agent that runs elsewhere.
    """

    aid: str


class PutAgentInbox(TypedDict):
    """
    An inbox to set up.
    """

    name: NotRequired[str | None]
    senders: NotRequired[str | None]


class PutBundlePart(TypedDict):
    """
    A part of a bundle.
    """

    content: Base64Bytes


class PutCredential(TypedDict):
    """
    A credential and its settings. Omitted settings are unchanged, or those of the template. It has no `Debug`, so that it is never logged.
    """

    baseUrl: NotRequired[str | None]
    credential: str
    model: NotRequired[str | None]
    template: NotRequired[str | None]
    wireApi: NotRequired[str | None]


class PutDiff(TypedDict):
    """
    The changes of a workspace after a command.
    """

    commandId: str
    diff: Base64Bytes


class PutGitCredential(TypedDict):
    """
    A credential to store.
    """

    credential: str


class ReadinessView1(TypedDict):
    """
    Readiness of a replica.
    """

    failureKind: NotRequired[str | None]
    message: NotRequired[str | None]
    status: str
    traceId: NotRequired[str | None]


class ReasoningDeltaPayload(TypedDict):
    """
    A chunk of the agent's reasoning in progress. The complete text follows.
    """

    itemId: NotRequired[str]
    text: NotRequired[str]


class ReasoningPayload(TypedDict):
    """
    A complete text of the agent's reasoning.
    """

    itemId: NotRequired[str]
    text: NotRequired[str]
    textTruncated: NotRequired[bool]


class Refresh(TypedDict):
    """
    A refresh token to exchange.
    """

    refreshToken: str


class RefreshStorage(TypedDict):
    """
    Summary of a session's storage, reported by its runner.
    """

    filesCount: int
    sha256: str
    sizeBytes: int


class RegisterRunner(TypedDict):
    """
    A runner to register.
    """

    backendProfiles: NotRequired[list[str]]
    name: str
    placement: NotRequired[dict[str, Any]]


class RelationChangeView(TypedDict):
    """
    An entry of the history of a relation.
    """

    actor: str
    changed_at: str
    granted_scopes: list[str]
    kind: str
    manifest_hash: str
    manifest_version: int
    number: int


class RelationEventView(TypedDict):
    """
    An event in the stream of a user's relations.
    """

    payload: dict[str, Any]
    type: str
    v: int


class RelationHistoryView(TypedDict):
    """
    Entries of a history, newest first.
    """

    changes: list[RelationChangeView]


class RelationView(TypedDict):
    """
    What a user has granted to an agent.
    """

    agent_aid: NotRequired[str | None]
    agent_id: str
    agent_name: str
    changed_at: str
    created_at: str
    current_manifest_hash: NotRequired[str | None]
    current_manifest_version: NotRequired[int | None]
    ended_at: NotRequired[str | None]
    granted_scopes: list[str]
    id: str
    manifest_hash: str
    manifest_version: int
    scopes_requiring_reauth: list[str]
    status: str
    tools_requiring_reauth: list[str]


class RelationsView(TypedDict):
    """
    Relations, the oldest first.
    """

    next_cursor: NotRequired[str | None]
    relations: list[RelationView]


class ReplicaView(TypedDict):
    """
    A server process.
    """

    id: str
    seenAt: str
    startedAt: str
    version: str


class ReportEvent(TypedDict):
    """
    What the receiver has answered.
    """

    claim: str
    durationMs: int
    eventId: str
    status: NotRequired[int | None]


class ReportedEventView(TypedDict):
    """
    Confirms a report.
    """

    eventId: str


class ResendEvents(TypedDict):
    """
    Which events to send again: one, or those of a window.
    """

    eventId: NotRequired[str | None]
    only: NotRequired[str | None]
    since: NotRequired[str | None]
    until: NotRequired[str | None]


class ResentView(TypedDict):
    """
    How many events are sent again.
    """

    events: int


class ReservationView(TypedDict):
    address: str
    aid: str
    expiresAt: str
    owner: NotRequired[str | None]


class ReserveAid(TypedDict):
    """
    A name that one address may register.
    """

    address: str
    name: str
    owner: NotRequired[str | None]


class ResetPassword(TypedDict):
    """
    A new password for another user. It has no `Debug`, so that it is never logged.
    """

    password: str


class RestrictionsView(TypedDict):
    """
    The restrictions of a tenant.
    """

    approval: NotRequired[str | None]
    directories: NotRequired[list[str] | None]
    network: NotRequired[str | None]
    profiles: NotRequired[list[str] | None]
    projects: NotRequired[list[str] | None]
    providers: NotRequired[list[str] | None]
    sandbox: NotRequired[str | None]
    timeoutMs: NotRequired[int | None]
    traceSinks: NotRequired[list[str] | None]


class RetentionView(TypedDict):
    """
    The retention of a tenant.
    """

    historyDays: NotRequired[int | None]
    tenantId: str


class RevocationListView(TypedDict):
    """
    A revocation list, as the clients of AUN read it.
    """

    crl_pem: str


class RevocationView(TypedDict):
    """
    Confirms that a credential was revoked.
    """

    id: str
    revoked: bool


class RevokeAid(TypedDict):
    """
    Why the key of an AID is revoked.
    """

    reason: str


class RotatedWebhookView(TypedDict):
    """
    The new signing secret of a webhook.
    """

    id: str
    previousSecretEndsAt: str
    secret: str


class RunStatusPayload(TypedDict):
    """
    A change of the status of a run. The end of a run is a `terminal_status`.
    """

    by: NotRequired[str]
    reason: NotRequired[str]
    runnerId: NotRequired[str | None]
    sessionId: NotRequired[str]
    status: str
    validationId: NotRequired[str]


class RunnerJobView(TypedDict):
    """
    A job that starts a runner: its location and the state of its process. The outcome of the command is part of the
    command.
    """

    attemptId: str
    backendProfile: str
    commandId: NotRequired[str | None]
    commandStatus: NotRequired[str | None]
    createdAt: str
    endedAt: NotRequired[str | None]
    jobName: str
    kind: str
    launchedAt: NotRequired[str | None]
    launcher: str
    log: JobLogView
    namespace: NotRequired[str | None]
    phase: str
    poll: str
    runId: NotRequired[str | None]
    runnerId: NotRequired[str | None]
    runnerJobId: str
    terminal: NotRequired[JobTerminalView | None]


class RunnerJobsView(TypedDict):
    """
    Jobs, newest first, at most 100.
    """

    runnerJobs: list[RunnerJobView]


class RunnerSummaryView(TypedDict):
    """
    A runner as its tenant sees it.
    """

    backendProfiles: list[str]
    draining: bool
    name: str
    registeredAt: str
    runId: NotRequired[str | None]
    runnerId: str
    seenAt: str


class RunnerView(TypedDict):
    backendProfiles: list[str]
    name: str
    runnerId: str
    tenantId: NotRequired[str | None]


class RunnersView(TypedDict):
    runners: list[RunnerSummaryView]


RuntimeModeBody: TypeAlias = Literal['chat', 'automation']


SandboxPolicy: TypeAlias = Literal['read-only', 'workspace-write', 'danger-full-access']


SecretKeyName: TypeAlias = str


class SecretRefRequest(TypedDict):
    """
    A reference to a secret and to its keys. It never contains a value.
    """

    keys: list[SecretKeyName]
    name: str


class SecretRefView(TypedDict):
    """
    The name of a secret and its keys, without values.
    """

    keys: list[str]
    name: str


class SecretScopeRequest(TypedDict):
    """
    The secrets that a run requests, by reference. Omitted secrets are not granted.
    """

    allowCredentialEcho: NotRequired[bool]
    providerCredentials: NotRequired[list[SecretRefRequest]]
    toolCredentials: NotRequired[list[SecretRefRequest]]


class SecretScopeView(TypedDict):
    """
    The secrets of a run, by reference.
    """

    allowCredentialEcho: bool
    providerCredentials: list[SecretRefView]
    toolCredentials: list[SecretRefView]


class SecretView(TypedDict):
    """
    A secret setting or the secret of a provider profile, without its value.
    """

    name: str
    set: bool
    value: str


ServerMode: TypeAlias = Literal['http-bridge']


class SessionCancellationView(TypedDict):
    cancelled: str
    commandId: NotRequired[str | None]
    runId: NotRequired[str | None]
    status: NotRequired[str | None]


class SessionRef(TypedDict):
    sessionId: NotRequired[str | None]


class SetApprovalPolicy(TypedDict):
    """
    A new approval policy. Fields that are absent have the default of the server.
    """

    approverId: NotRequired[str | None]
    expectedVersion: NotRequired[int | None]
    expiresAfterMs: NotRequired[int | None]
    holdForMs: NotRequired[int | None]
    mode: str
    onExpiry: NotRequired[str | None]
    quorum: NotRequired[int | None]
    reuseWithinMs: NotRequired[int | None]
    veto: NotRequired[bool | None]


class SetMember(TypedDict):
    """
    The new role of a member.
    """

    role: str


class SetProjectSetup(TypedDict):
    """
    The new setup of a project.
    """

    allowedHosts: NotRequired[list[str]]
    cacheFiles: NotRequired[list[str]]
    command: str


class SetRetention(TypedDict):
    """
    How long a tenant keeps its history.
    """

    historyDays: int


class SetTenantBounds(TypedDict):
    """
    What to restrict for a tenant, within the bounds of the installation (the section `runs` of the configuration). A
    field that is absent or null restricts nothing. List items are names, `*`, or a prefix followed by `*`; an empty list
    allows nothing.
    """

    approval: NotRequired[str | None]
    directories: NotRequired[list[str] | None]
    network: NotRequired[str | None]
    profiles: NotRequired[list[str] | None]
    projects: NotRequired[list[str] | None]
    providers: NotRequired[list[str] | None]
    sandbox: NotRequired[str | None]
    timeoutMs: NotRequired[int | None]
    traceSinks: NotRequired[list[str] | None]


class SignIn(TypedDict):
    """
    User name and password. It has no `Debug`, so that it is never logged.
    """

    name: str
    password: str


class SignedOutView(TypedDict):
    """
    Confirms a sign-out.
    """

    signedOut: bool


class StartAutomation(TypedDict):
    """
    A run of an automation to start.
    """

    message: NotRequired[str | None]
    runId: NotRequired[str | None]
    threadId: NotRequired[str | None]


class SteerDeliveryView(TypedDict):
    """
    Delivery state of a steer.
    """

    acceptedByBackend: bool
    ackedByRunner: bool
    meaning: str
    targetCommandId: NotRequired[str | None]
    targetEventsObserved: bool


class StopCopilotKitRun(TypedDict):
    """
    The run to stop.
    """

    runId: NotRequired[str | None]


class StoppedView(TypedDict):
    """
    Tells whether a run was stopped.
    """

    stopped: bool


class StorageView(TypedDict):
    """
    Metadata of a session's storage, without its contents.
    """

    evictedAt: NotRequired[str | None]
    filesCount: NotRequired[int | None]
    name: str
    phase: str
    sessionId: str
    sha256: NotRequired[str | None]
    sizeBytes: NotRequired[int | None]
    storageKind: str
    updatedAt: NotRequired[str | None]


class StoredDiffView(TypedDict):
    """
    The stored changes.
    """

    bytes: int
    runId: str


class SubjectTokenView(TypedDict):
    """
    A token for an external subject. It has no `Debug`, so that it is never logged.
    """

    accessExpiresAt: str
    accessToken: str
    principal: str


class SupervisorView(TypedDict):
    """
    Summary of the supervision of a session: its run, the runner that holds it, and what it waits for.
    """

    active: bool
    leaseExpiresAt: NotRequired[str | None]
    openCommandIds: list[str]
    phase: str
    runId: str
    runStatus: str
    runnerId: NotRequired[str | None]


class TakeAnswer(TypedDict):
    """
    A request of a runner for the answer.
    """

    process: str
    wait: NotRequired[int]


class TaskAcceptedResponse(TypedDict):
    """
    Confirms that a run was accepted.
    """

    created: bool
    runId: str
    taskId: str
    threadId: str


class TechnicalPlanView(TypedDict):
    """
    Rows that nobody needs any more. They are deleted some time after their end (`retention.technical_after`).
    """

    enrolments: int
    jobs: int
    logins: int
    runners: int


class TenantBoundsView(TypedDict):
    """
    The bounds of a tenant.
    """

    effective: EffectiveBoundsView
    restrictions: RestrictionsView
    tenantId: str


class TenantPlanView(TypedDict):
    """
    What would be erased of one tenant. Sessions with open work or stored files stay until that is over.
    """

    events: int
    historyDays: NotRequired[int | None]
    runs: int
    sessions: int
    tenantId: str


class TenantView(TypedDict):
    id: str
    name: str
    slug: str


class TerminalStatusPayload(TypedDict):
    """
    The end of a command or of the run.
    """

    failureKind: NotRequired[str | None]
    message: NotRequired[str | None]
    scope: str
    terminalStatus: str


TextsView = TypedDict(
    'TextsView',
    {
        'en': str,
        'zh-CN': str,
    },
)


class TokensView(TypedDict):
    """
    Tokens of a sign-in.
    """

    accessExpiresAt: str
    accessToken: str
    principal: str
    refreshToken: str


class ToolCallPayload(TypedDict):
    """
    The start or end of a tool call.
    """

    arguments: NotRequired[Any]
    argumentsTruncated: NotRequired[bool]
    callId: NotRequired[str]
    command: NotRequired[str | None]
    exitCode: NotRequired[int | None]
    outputDroppedBytes: NotRequired[int]
    status: NotRequired[str]
    toolName: NotRequired[str]


class ToolCallView(TypedDict):
    command: NotRequired[str | None]
    exitCode: NotRequired[int | None]
    method: NotRequired[str | None]
    seq: int
    status: NotRequired[str | None]
    toolName: NotRequired[str | None]
    type: NotRequired[str | None]


class TreeHeadView(TypedDict):
    """
    A signed tree head.
    """

    hash_algorithm: str
    log_id: str
    public_key: str
    root_hash: str
    signature: str
    signature_algorithm: str
    sth_version: int
    timestamp: int
    tree_size: int


class TriggerEvent(TypedDict):
    """
    A sample event to send.
    """

    type: str


class TrustedRootView(TypedDict):
    """
    A root of the list.
    """

    certificate: str
    crl_url: str
    fingerprint_sha256: str
    id: str
    name: str
    ocsp_url: str
    organization: str
    status: str


UiAppearance: TypeAlias = Literal['card']


UiButtonVariant: TypeAlias = Literal['primary', 'secondary', 'ghost', 'danger']


class UiFactHint(TypedDict):
    """
    A name and its value.
    """

    label: str
    value: str


UiIconSource: TypeAlias = Literal['icon', 'emoji', 'url']


class UiMeta(TypedDict):
    """
    Where a reply comes from. Set by the server, never by the agent.
    """

    requestId: NotRequired[str | None]
    toolId: NotRequired[str | None]
    traceId: NotRequired[str | None]
    userId: NotRequired[str | None]


class UiOpenUrl(TypedDict):
    """
    Opens a page.
    """

    type: Literal['url']
    url: str


UiSchemaVersion: TypeAlias = Literal['2.0']


UiStatus: TypeAlias = Literal['info', 'success', 'warning', 'error', 'pending']


UiTextFormat: TypeAlias = Literal['plain', 'markdown']


UiTextRole: TypeAlias = Literal['title', 'subtitle', 'body', 'caption', 'code']


UiTheme: TypeAlias = Literal['default', 'light', 'dark']


class UpdateRelation(TypedDict):
    """
    A changed consent: other scopes, or the same for a new manifest.
    """

    granted_scopes: list[str]
    manifest_hash: NotRequired[str | None]
    manifest_version: NotRequired[int | None]


class UpdateWebhook(TypedDict):
    """
    A change of a webhook.
    """

    enabled: bool


class UsagePayload(TypedDict):
    """
    Resource usage since the last report.
    """

    activeMs: NotRequired[int]
    cachedInputTokens: NotRequired[int]
    inputTokens: NotRequired[int]
    outputTokens: NotRequired[int]
    toolCalls: NotRequired[int]


class UsageView(TypedDict):
    activeMs: int
    cachedInputTokens: int
    inputTokens: int
    outputTokens: int
    toolCalls: int


class UserMessagePayload(TypedDict):
    """
    What the author of a turn or steer wrote. Secrets are redacted.
    """

    attachments: NotRequired[list[MessageAttachment]]
    by: str
    clientMessageId: NotRequired[str]
    text: str
    type: str


class UserView(TypedDict):
    createdAt: str
    disabledAt: NotRequired[str | None]
    hasPassword: bool
    lockedUntil: NotRequired[str | None]
    name: str
    operator: bool
    principal: str


class UsersView(TypedDict):
    """
    Users, newest first.
    """

    nextCursor: NotRequired[str | None]
    users: list[UserView]


class ValidationView(TypedDict):
    """
    Validation of a profile.
    """

    commandId: str
    createdAt: str
    deadlineAt: str
    failureKind: NotRequired[str | None]
    message: NotRequired[str | None]
    profile: str
    resourceVersion: NotRequired[str | None]
    runId: str
    settledAt: NotRequired[str | None]
    status: str
    validationId: str


class WebhookTestView(TypedDict):
    """
    A test event that will be sent.
    """

    eventId: str


class WebhookView(TypedDict):
    """
    A webhook, without its secret.
    """

    agentId: NotRequired[str | None]
    createdAt: str
    createdBy: str
    description: str
    disabledAt: NotRequired[str | None]
    disabledReason: NotRequired[str | None]
    enabled: bool
    events: list[str]
    failingSince: NotRequired[str | None]
    id: str
    lastFailure: NotRequired[FailedDeliveryView | None]
    lastSuccessAt: NotRequired[str | None]
    previousSecretEndsAt: NotRequired[str | None]
    sender: str
    url: str


class WebhooksView(TypedDict):
    webhooks: list[WebhookView]


class WorkView(TypedDict):
    """
    Work for a runner.
    """

    cancelCommandIds: list[str]
    cancelSeq: int
    commands: list[CommandView]
    nextAfterSeq: int
    runStatus: str
    shouldRelease: NotRequired[bool]
    steers: list[CommandView]


class WorkerBody(TypedDict):
    """
    What a worker is told, and which turns it is for.
    """

    instructions: NotRequired[str]
    keywords: NotRequired[list[str]]
    name: str


class WorkspaceBundle(TypedDict):
    """
    A directory of a repository and its path in the workspace. Both paths are relative.
    """

    subpath: str
    targetPath: str


class HelloNotice(TypedDict):
    """
    The first frame.
    """

    clientId: str
    protocol: str
    type: Literal['hello']
    v: int


class ReplayCompleteNotice(TypedDict):
    """
    All entries that existed when the stream was opened have been sent. Live entries follow.
    """

    lastSeq: int
    replayedCount: int
    runOrdinal: NotRequired[int | None]
    type: Literal['replay_complete']
    v: int


class GapNotice(TypedDict):
    """
    The cursor cannot be resumed. The stream restarts from the beginning.
    """

    reason: str
    recovered: bool
    type: Literal['gap']
    v: int


class SlowClientWarningNotice(TypedDict):
    """
    The client reads too slowly and will be evicted if it does not catch up.
    """

    maxBytes: int
    maxFrames: int
    queuedBytes: int
    queuedFrames: int
    type: Literal['slow_client_warning']
    v: int


class ClientEvictedNotice(TypedDict):
    """
    The client read too slowly. No entry is lost: it can resume after its last id.
    """

    reason: str
    type: Literal['client_evicted']
    v: int


class ClosedNotice(TypedDict):
    """
    The server closes the stream.
    """

    failureKind: str
    type: Literal['closed']
    v: int


class ActionBody(TypedDict):
    """
    What would be executed, whole.
    """

    arguments: NotRequired[dict[str, Any] | None]
    changes: NotRequired[list[FileChangeBody]]
    environment: NotRequired[str | None]
    kind: str
    lifts: NotRequired[list[str]]
    tool: str
    workingDir: NotRequired[str | None]


AgentContentBlock: TypeAlias = AgentTextBlock | AgentBinaryBlock


class AgentToolCall(TypedDict):
    """
    A call of a tool by the agent.
    """

    encryptedValue: NotRequired[str | None]
    function: AgentToolCallFunction
    id: str
    type: AgentToolCallType


AgentUserContent: TypeAlias = str | list[AgentContentBlock]


class AgentUserMessage(TypedDict):
    """
    What the user asks.
    """

    content: AgentUserContent
    encryptedValue: NotRequired[str | None]
    id: str
    name: NotRequired[str | None]
    role: Literal['user']


class AppendEvents(TypedDict):
    """
    Events to append.
    """

    events: list[NewEvent]


class ApprovalDeclinedEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ApprovalDeclinedPayload | None]
    recordedAt: str
    seq: int
    type: Literal['approval_declined']
    v: int


class ApprovalRequestedEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ApprovalRequestedPayload | None]
    recordedAt: str
    seq: int
    type: Literal['approval_requested']
    v: int


class ApprovalStatusEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ApprovalStatusPayload | None]
    recordedAt: str
    seq: int
    type: Literal['approval_status']
    v: int


class ApprovalVoteEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ApprovalVotePayload | None]
    recordedAt: str
    seq: int
    type: Literal['approval_vote']
    v: int


class ArtifactEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ArtifactPayload | None]
    recordedAt: str
    seq: int
    type: Literal['artifact']
    v: int


class AssistantDeltaEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[AssistantDeltaPayload | None]
    recordedAt: str
    seq: int
    type: Literal['assistant_delta']
    v: int


class AuditEntryView(TypedDict):
    """
    An entry of an audit log. The same in pages and in streams.
    """

    action: str
    body: Any
    bodyHash: NotRequired[str | None]
    checkpoint: NotRequired[CheckpointView | None]
    hash: NotRequired[str | None]
    id: str
    recordedAt: str
    seq: int
    type: NotRequired[str]
    v: int


class AuditPageView(TypedDict):
    entries: list[AuditEntryView]
    nextAfterSeq: int


class BackendEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[BackendEventPayload | None]
    recordedAt: str
    seq: int
    type: Literal['backend_event']
    v: int


class BackendStatusEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[BackendStatusPayload | None]
    recordedAt: str
    seq: int
    type: Literal['backend_status']
    v: int


class CapabilitiesView(TypedDict):
    """
    Capabilities of the server. A tag in `features` means that the feature is available.
    """

    containment: str
    features: list[str]
    mode: ServerMode
    policy: PolicyView
    protocol: ProtocolView
    v: int
    workspaceCwd: str | None


class ClientRunEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ClientRunPayload | None]
    recordedAt: str
    seq: int
    type: Literal['client_run']
    v: int


class CommandOutputEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[CommandOutputPayload | None]
    recordedAt: str
    seq: int
    type: Literal['command_output']
    v: int


class CommandStatusEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[CommandStatusPayload | None]
    recordedAt: str
    seq: int
    type: Literal['command_status']
    v: int


class CopilotKitInfo(TypedDict):
    """
    What the server offers to CopilotKit.
    """

    agents: dict[str, CopilotKitAgent]
    audioFileTranscriptionEnabled: bool
    mode: str
    telemetryDisabled: bool
    threadEndpoints: CopilotKitThreadEndpoints
    version: str


class DeliveriesView(TypedDict):
    """
    A page of the log, newest events first.
    """

    deliveries: list[DeliveryView]
    nextCursor: NotRequired[str | None]


class EndedRelationView(TypedDict):
    """
    A relation that has ended, and what ended with it.
    """

    ended_calls: int
    ended_scopes: list[str]
    relation: RelationView


class ErrorEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ErrorPayload | None]
    recordedAt: str
    seq: int
    type: Literal['error']
    v: int


class ExecutionPolicyRequest(TypedDict):
    """
    The execution policy that a run requests. It can be narrower than the tenant's policy, but not wider. Omitted values
    and null are filled in: sandbox `workspace-write` and network `disabled`, or less if the tenant's policy is narrower;
    approval and timeout from the tenant's policy; no secrets.
    """

    approval: NotRequired[ApprovalPolicy | None]
    network: NotRequired[NetworkPolicy | None]
    sandbox: NotRequired[SandboxPolicy | None]
    secretScope: NotRequired[SecretScopeRequest | None]
    timeoutMs: NotRequired[int | None]


class ExecutionPolicyView(TypedDict):
    """
    The execution policy of a run: requested values, and those that were filled in.
    """

    approval: ApprovalPolicy
    network: NetworkPolicy
    sandbox: SandboxPolicy
    secretScope: SecretScopeView
    timeoutMs: int


class ForwardedProps(TypedDict):
    """
    The mode of the run and the time of the device. Nothing else is allowed, and these names have one spelling.
    """

    client_time: NotRequired[ClientTimeBody | None]
    runtime_mode: RuntimeModeBody


class GitBundleWorkspace(TypedDict):
    """
    Some directories of a checkout, each copied to a path in the workspace. The source is as in a `git` workspace.
    """

    bundles: list[WorkspaceBundle]
    commitId: NotRequired[str | None]
    kind: Literal['gitbundle']
    path: NotRequired[str | None]
    ref: NotRequired[str | None]
    repoUrl: NotRequired[str | None]


class HealthView(TypedDict):
    """
    Health of the whole installation, read from PostgreSQL for this response.
    """

    build: BuildView
    replica: str
    replicas: list[ReplicaView]
    serviceId: str
    status: str


class LogEntriesView(TypedDict):
    """
    Entries by index.
    """

    entries: list[LogEntryView]


class MembershipView(TypedDict):
    """
    A tenant and the caller's role in it.
    """

    role: str
    tenant: TenantView


Notice: TypeAlias = HelloNotice | ReplayCompleteNotice | GapNotice | SlowClientWarningNotice | ClientEvictedNotice | ClosedNotice


class PipelineBody(TypedDict):
    """
    How turns are done: a router picks a worker for each message. At most 64 KiB.
    """

    context: NotRequired[list[ContextEntryBody]]
    enabledTools: NotRequired[list[str]]
    workers: NotRequired[list[WorkerBody]]


class PresetScopeView(TypedDict):
    """
    A scope whose texts and sensitivity the platform defines.
    """

    description: TextsView
    id: str
    label: TextsView
    sensitivity: str


class PresetScopesView(TypedDict):
    """
    The preset scopes.
    """

    scopes: list[PresetScopeView]


class Problem(TypedDict):
    """
    A failure: the members of RFC 9457, plus additional members for clients.
    """

    detail: str
    errors: NotRequired[list[ProblemError]]
    failureKind: str
    message: str
    retry: str
    retryAfterMs: NotRequired[int | None]
    status: int
    title: str
    traceId: str
    type: str


class ProfileView(TypedDict):
    """
    A provider profile, without its credential.
    """

    agent: NotRequired[str | None]
    backend: NotRequired[str | None]
    baseUrl: NotRequired[str | None]
    builtIn: bool
    configured: bool
    failureKind: NotRequired[str | None]
    hashSuffix: NotRequired[str | None]
    lastValidation: NotRequired[ValidationView | None]
    model: NotRequired[str | None]
    profile: str
    resourceVersion: NotRequired[str | None]
    scope: str
    secretRef: SecretRefView
    updatedAt: NotRequired[str | None]
    wireApi: NotRequired[str | None]


class ProfilesView(TypedDict):
    profiles: list[ProfileView]


class QuestionBody(TypedDict):
    """
    A question with everything that is shown to those who answer.
    """

    action: ActionBody
    answerSchema: NotRequired[dict[str, Any] | None]
    options: list[OptionBody]
    reason: NotRequired[str | None]


class ReadinessDetailsView(TypedDict):
    """
    The reasons of a readiness status, and what it was computed from.
    """

    build: NotRequired[BuildView]
    housekeeping: NotRequired[list[HousekeepingView]]
    migrations: NotRequired[MigrationsView]
    nats: NotRequired[EngineView]
    postgres: NotRequired[EngineView]
    reasons: NotRequired[list[str]]
    replica: NotRequired[str]
    secrets: NotRequired[list[SecretView]]
    serviceId: NotRequired[str]
    startedAt: NotRequired[str]


class ReadinessView2(ReadinessDetailsView, ReadinessView1):
    """
    Readiness of a replica.
    """


ReadinessView: TypeAlias = ReadinessView2
"""
Readiness of a replica.
"""


class ReasoningDeltaEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ReasoningDeltaPayload | None]
    recordedAt: str
    seq: int
    type: Literal['reasoning_delta']
    v: int


class ReasoningEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ReasoningPayload | None]
    recordedAt: str
    seq: int
    type: Literal['reasoning']
    v: int


class RetentionPlanView(TypedDict):
    """
    What would be erased now.
    """

    technical: TechnicalPlanView
    tenants: list[TenantPlanView]


class RunStatusEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[RunStatusPayload | None]
    recordedAt: str
    seq: int
    type: Literal['run_status']
    v: int


class TenantsView(TypedDict):
    tenants: list[MembershipView]


class TerminalStatusEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[TerminalStatusPayload | None]
    recordedAt: str
    seq: int
    type: Literal['terminal_status']
    v: int


class ToolCallEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[ToolCallPayload | None]
    recordedAt: str
    seq: int
    type: Literal['tool_call']
    v: int


class ToolCallSummaryView(TypedDict):
    count: int
    exitCodeCounts: dict[str, int]
    items: list[ToolCallView]
    running: int
    statusCounts: dict[str, int]


class TrustListView(TypedDict):
    """
    The signed list of trusted roots.
    """

    authority_signature: str
    issued_at: str
    next_update: str
    root_cas: list[TrustedRootView]
    version: int


UiAction: TypeAlias = UiOpenUrl


class UiBadge(TypedDict):
    """
    A short label with the colour of a status.
    """

    label: str
    status: UiStatus
    type: Literal['badge']


class UiBadgeHint(TypedDict):
    """
    A badge.
    """

    label: str
    status: NotRequired[UiStatus]


class UiButton(TypedDict):
    """
    A button.
    """

    action: UiAction
    label: str
    type: Literal['button']
    variant: UiButtonVariant


class UiButtonHint(TypedDict):
    """
    A button that opens a page.
    """

    label: str
    url: str
    variant: NotRequired[UiButtonVariant]


class UiIcon(TypedDict):
    """
    A symbol.
    """

    source: UiIconSource
    type: Literal['icon']
    value: str


class UiIconHint(TypedDict):
    """
    A symbol.
    """

    source: UiIconSource
    value: str


class UiText(TypedDict):
    """
    A text.
    """

    content: str
    format: NotRequired[UiTextFormat]
    role: UiTextRole
    type: Literal['text']


class UpdateAutomation(TypedDict):
    """
    A change of an automation. Omitted values stay as they are.
    """

    enabled: NotRequired[bool | None]
    name: NotRequired[str | None]
    pipeline: NotRequired[PipelineBody | None]
    prompt: NotRequired[str | None]
    revision: NotRequired[int | None]


class UsageEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[UsagePayload | None]
    recordedAt: str
    seq: int
    type: Literal['usage']
    v: int


class UserMessageEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[UserMessagePayload | None]
    recordedAt: str
    seq: int
    type: Literal['user_message']
    v: int


class WhoamiView(TypedDict):
    """
    The signed-in caller.
    """

    kind: str
    operator: bool
    principal: str
    tenants: list[MembershipView]


WorkspaceRef: TypeAlias = EmptyWorkspace | DirectoryWorkspace | CopyWorkspace | GitWorkspace | GitBundleWorkspace | BundleWorkspace


class AgentAssistantMessage(TypedDict):
    """
    A reply of the agent.
    """

    content: NotRequired[str | None]
    encryptedValue: NotRequired[str | None]
    id: str
    name: NotRequired[str | None]
    role: Literal['assistant']
    toolCalls: NotRequired[list[AgentToolCall]]


AgentMessage: TypeAlias = AgentUserMessage | AgentAssistantMessage | AgentSystemMessage | AgentToolMessage | AgentDeveloperMessage | AgentReasoningMessage | AgentActivityMessage


class AgentView(TypedDict):
    """
    An agent.
    """

    backendProfile: str
    capabilityManifestHash: NotRequired[str | None]
    capabilityManifestVersion: NotRequired[int | None]
    createdAt: str
    default: bool
    description: str
    enabled: bool
    endUsers: EndUsersView
    executionPolicy: ExecutionPolicyRequest
    id: str
    instructions: NotRequired[str | None]
    name: str
    pipeline: PipelineBody
    projectId: str
    providerId: str
    published: bool
    revision: int
    slug: str
    tenantId: str
    updatedAt: str
    workspaceRef: WorkspaceRef


class AgentsView(TypedDict):
    """
    Agents sorted by slug, at most 1000.
    """

    agents: list[AgentView]


class ApprovalView(TypedDict):
    """
    A question of an agent, and what has become of it.
    """

    approvalId: str
    canAnswer: bool
    commandId: str
    createdAt: str
    decidedAt: NotRequired[str | None]
    decidedBy: list[str]
    effect: NotRequired[str | None]
    endReason: NotRequired[str | None]
    escalated: bool
    expiresAt: str
    mode: str
    optionId: NotRequired[str | None]
    parked: bool
    policyVersion: int
    question: QuestionBody
    runId: str
    sessionId: str
    shownDigest: str
    status: str
    tenantId: str


class ApprovalsView(TypedDict):
    """
    One page of approvals, newest first.
    """

    approvals: list[ApprovalView]
    nextCursor: NotRequired[str | None]
    position: str


class AskQuestion(TypedDict):
    """
    A question of an agent's process, reported by its runner.
    """

    callId: NotRequired[str | None]
    commandId: str
    process: str
    question: QuestionBody
    request: str


class AutomationView(TypedDict):
    """
    An automation.
    """

    agentId: str
    createdAt: str
    enabled: bool
    id: str
    name: str
    pipeline: PipelineBody
    prompt: str
    revision: int
    slug: str
    tenantId: str
    updatedAt: str


class AutomationsView(TypedDict):
    """
    Automations sorted by slug, at most 1000.
    """

    automations: list[AutomationView]


class CreateAgent(TypedDict):
    """
    An agent to create.
    """

    backendProfile: str
    capabilityManifest: NotRequired[dict[str, Any] | None]
    default: NotRequired[bool]
    description: NotRequired[str | None]
    endUsers: NotRequired[EndUsersBody | None]
    executionPolicy: NotRequired[ExecutionPolicyRequest | None]
    instructions: NotRequired[str | None]
    name: str
    pipeline: NotRequired[PipelineBody | None]
    projectId: str
    providerId: str
    slug: str
    tenantId: str
    workspaceRef: WorkspaceRef


class CreateAutomation(TypedDict):
    """
    An automation to create.
    """

    agentId: str
    name: str
    pipeline: NotRequired[PipelineBody | None]
    prompt: str
    slug: str
    tenantId: str


class CreateRun(TypedDict):
    """
    A run to create.
    """

    backendProfile: str
    executionPolicy: NotRequired[ExecutionPolicyRequest | None]
    idempotencyKey: NotRequired[str | None]
    projectId: str
    providerId: str
    sessionRef: NotRequired[SessionRef | None]
    tenantId: str
    traceSink: str | None
    workspaceRef: WorkspaceRef


class ResultView(TypedDict):
    """
    The result of a command, or of a run without commands. Its cost does not depend on the length of the run.
    """

    artifactSummary: ArtifactSummaryView
    attemptId: NotRequired[str | None]
    blocker: NotRequired[str | None]
    commandId: NotRequired[str | None]
    completed: bool
    eventCount: int
    eventsCapped: bool
    failureKind: NotRequired[str | None]
    finalAssistantOutputTruncated: bool
    finalAssistantSeq: NotRequired[int | None]
    finalAssistantSource: NotRequired[str | None]
    finalAssistantTextTruncated: bool
    finalResponse: NotRequired[FinalResponseView | None]
    lastSeq: int
    liveness: LivenessView
    nextAfterSeq: int
    reply: NotRequired[str | None]
    runId: str
    scopedEventCount: int
    scopedLastSeq: int
    sessionId: str
    status: str
    steerDelivery: NotRequired[SteerDeliveryView | None]
    terminalSource: str
    terminalStatus: NotRequired[str | None]
    toolCallSummary: ToolCallSummaryView
    usage: UsageView


class RunAgentInput(TypedDict):
    """
    A run of an agent. At most 256 KB. Names can also be in snake_case, such as `thread_id`; other fields are ignored.
    """

    context: NotRequired[list[AgentContext] | None]
    forwardedProps: ForwardedProps
    messages: list[AgentMessage]
    parentRunId: NotRequired[str | None]
    runId: str
    state: NotRequired[Any]
    threadId: str
    tools: NotRequired[list[AgentTool] | None]


class RunView(TypedDict):
    """
    A run.
    """

    backendProfile: str
    createdAt: str
    createdBy: str
    endedAt: NotRequired[str | None]
    executionPolicy: ExecutionPolicyView
    failureKind: NotRequired[str | None]
    lastSeq: int
    lease: NotRequired[LeaseView | None]
    liveness: LivenessView
    message: NotRequired[str | None]
    openCommandIds: list[str]
    projectId: str
    providerId: str
    runId: str
    sessionId: str
    status: str
    tenantId: str
    tenantSlug: NotRequired[str]
    terminalStatus: NotRequired[str | None]
    title: NotRequired[str | None]
    traceSink: NotRequired[str | None]
    usage: UsageView
    workspaceRef: WorkspaceRef


class RunsView(TypedDict):
    nextCursor: NotRequired[str | None]
    runs: list[RunView]


class SessionView(TypedDict):
    activeCommandId: NotRequired[str | None]
    activeRunId: NotRequired[str | None]
    backendProfile: str
    createdAt: str
    createdBy: str
    executionState: str
    lastEventSeq: NotRequired[int | None]
    lastRunId: NotRequired[str | None]
    liveness: NotRequired[LivenessView | None]
    projectId: str
    readVersion: int
    run: NotRequired[RunView | None]
    runCount: int
    sessionId: str
    storageKind: NotRequired[str]
    supervisor: NotRequired[SupervisorView | None]
    tenantId: str
    threadId: NotRequired[str | None]
    title: NotRequired[str | None]
    unread: bool
    updatedAt: str
    version: int


class SessionsView(TypedDict):
    nextCursor: NotRequired[str | None]
    sessions: list[SessionView]


class UiHints(TypedDict):
    """
    How to show a reply. Every field is optional, but at least one of `title`, `subtitle`, `body`, `code`, `facts` and
    `caption` has text.

    Hints with an unknown field, an unknown value or more than a limit allows are not used at all: the reply is then
    shown without them.
    """

    badges: NotRequired[list[UiBadgeHint] | None]
    body: NotRequired[str | None]
    buttons: NotRequired[list[UiButtonHint]]
    caption: NotRequired[str | None]
    code: NotRequired[str | None]
    facts: NotRequired[list[UiFactHint]]
    format: NotRequired[UiTextFormat]
    icon: NotRequired[UiIconHint | None]
    locale: NotRequired[str | None]
    status: NotRequired[UiStatus]
    subtitle: NotRequired[str | None]
    theme: NotRequired[UiTheme]
    title: NotRequired[str | None]


class UpdateAgent(TypedDict):
    """
    A change of an agent. Omitted values stay as they are.
    """

    backendProfile: NotRequired[str | None]
    capabilityManifest: NotRequired[dict[str, Any] | None]
    capabilityManifestVersion: NotRequired[int | None]
    default: NotRequired[bool | None]
    description: NotRequired[str | None]
    enabled: NotRequired[bool | None]
    endUsers: NotRequired[EndUsersBody | None]
    executionPolicy: NotRequired[ExecutionPolicyRequest | None]
    instructions: NotRequired[str | None]
    name: NotRequired[str | None]
    pipeline: NotRequired[PipelineBody | None]
    projectId: NotRequired[str | None]
    providerId: NotRequired[str | None]
    published: NotRequired[bool | None]
    revision: NotRequired[int | None]
    workspaceRef: NotRequired[WorkspaceRef | None]


class AssistantMessagePayload(TypedDict):
    """
    A complete message of the agent.
    """

    final: NotRequired[bool]
    itemId: NotRequired[str]
    outputTruncated: NotRequired[bool]
    replyAuthority: NotRequired[bool]
    text: NotRequired[str]
    textTruncated: NotRequired[bool]
    uiHints: NotRequired[UiHints]


class GrantView(TypedDict):
    """
    The result of a claim or of a lease renewal.
    """

    directories: NotRequired[list[str] | None]
    epoch: int
    instructions: NotRequired[str | None]
    leaseExpiresAt: str
    leaseMs: int
    recoveredFrom: NotRequired[str | None]
    run: RunView
    runToken: str
    runnerId: str
    setup: NotRequired[ProjectSetupView | None]
    storageKind: NotRequired[str]
    threadId: NotRequired[str | None]
    tokenExpiresAt: str


class LeaseChangedView(TypedDict):
    grant: NotRequired[GrantView | None]
    released: bool


class AssistantMessageEvent(TypedDict):
    """
    An event of a run.
    """

    commandId: NotRequired[str | None]
    erased: bool
    eventId: NotRequired[str | None]
    late: NotRequired[bool]
    payload: NotRequired[AssistantMessagePayload | None]
    recordedAt: str
    seq: int
    type: Literal['assistant_message']
    v: int


class ClaimedView(TypedDict):
    """
    The claimed run; null if none was available in time.
    """

    grant: NotRequired[GrantView | None]
    waitedMs: NotRequired[int]


RunEvent: TypeAlias = RunStatusEvent | CommandStatusEvent | UserMessageEvent | ClientRunEvent | TerminalStatusEvent | AssistantDeltaEvent | AssistantMessageEvent | ReasoningDeltaEvent | ReasoningEvent | ToolCallEvent | CommandOutputEvent | ArtifactEvent | BackendStatusEvent | ErrorEvent | UsageEvent | ApprovalDeclinedEvent | ApprovalRequestedEvent | ApprovalStatusEvent | ApprovalVoteEvent | BackendEvent | OtherEvent


KnownRunEvent: TypeAlias = ApprovalDeclinedEvent | ApprovalRequestedEvent | ApprovalStatusEvent | ApprovalVoteEvent | ArtifactEvent | AssistantDeltaEvent | AssistantMessageEvent | BackendEvent | BackendStatusEvent | ClientRunEvent | CommandOutputEvent | CommandStatusEvent | ErrorEvent | ReasoningEvent | ReasoningDeltaEvent | RunStatusEvent | TerminalStatusEvent | ToolCallEvent | UsageEvent | UserMessageEvent


class EventsView(TypedDict):
    events: list[RunEvent]
    hasMore: bool
    lastSeq: int
    nextAfterSeq: int
    runId: NotRequired[str | None]


HistoryMessage: TypeAlias = Union[HistoryMessageUser, "HistoryMessageAssistant"]


class HistoryMessageAssistant(TypedDict):
    """
    A reply of the agent.
    """

    content: str
    id: str
    role: Literal['assistant']
    seq: int
    timestamp: str
    ui_schema: NotRequired[UiSchemaRenderer | None]


class HistorySnapshotResponse(TypedDict):
    """
    The messages of one day.
    """

    day: NotRequired[str | None]
    hasMore: bool
    messages: list[HistoryMessage]
    scope: HistoryScope
    threadId: NotRequired[str | None]


class UiGrid(TypedDict):
    """
    Nodes in rows of `columns`.
    """

    children: list[UiNode]
    columns: int
    type: Literal['grid']


UiLayoutNode: TypeAlias = Union["UiStack", UiGrid]


UiNode: TypeAlias = Union["UiStack", UiGrid, UiText, UiBadge, UiIcon, UiButton]


class UiSchemaRenderer(TypedDict):
    """
    What to show, as a tree of nodes.
    """

    locale: str
    meta: NotRequired[UiMeta | None]
    root: UiLayoutNode
    status: UiStatus
    theme: UiTheme
    version: UiSchemaVersion


class UiStack(TypedDict):
    """
    Nodes below each other.
    """

    appearance: NotRequired[UiAppearance | None]
    children: list[UiNode]
    type: Literal['stack']
