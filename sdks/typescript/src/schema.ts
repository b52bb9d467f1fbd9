// Generated from schemas/openapi.json by `cargo xtask sdks --write`. Do not edit.
export interface paths {
    "/.well-known/aun-gateway": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the gateways of the issuer */
        get: operations["listGateways"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the public keys that verify access tokens (JWKS) */
        get: operations["getJwks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create an agent */
        post: operations["createAgentByManifest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a published agent */
        get: operations["getPublishedAgent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change an agent */
        patch: operations["updateAgentByManifest"];
        trace?: never;
    };
    "/agents/{agent}/versions/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an older version of a published agent */
        get: operations["getPublishedAgentVersion"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/account/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get your settings */
        get: operations["getAccountSettings"];
        /** Change your settings */
        put: operations["setAccountSettings"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/attachments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Upload an image for a message */
        post: operations["createAttachment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/attachments/{attachment}/content": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an attachment */
        get: operations["getAttachmentContent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the history of a conversation */
        get: operations["getAgentHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run of an agent */
        post: operations["createAgentRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/runs/{thread}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow a conversation with AG-UI */
        get: operations["followAgentThread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agent/runs/{thread}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop the runs of a conversation */
        post: operations["stopAgentThread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the agents of a tenant */
        get: operations["listAgents"];
        put?: never;
        /** Create an agent */
        post: operations["createAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an agent */
        get: operations["getAgent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change an agent */
        patch: operations["updateAgent"];
        trace?: never;
    };
    "/api/v1/agents/{agent}/agui": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run an agent with AG-UI */
        post: operations["runAgentWithAgui"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/aid": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the AID of an agent */
        get: operations["getAgentAid"];
        /** Set the AID of an agent that runs elsewhere */
        put: operations["putAgentAid"];
        post?: never;
        /** Take the AID from an agent that runs elsewhere */
        delete: operations["deleteAgentAid"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the inbox of an agent */
        get: operations["getAgentInbox"];
        /** Give an agent an inbox */
        put: operations["putAgentInbox"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/manifests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the versions of the manifest of an agent */
        get: operations["listAgentManifests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/manifests/{version}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a version of the manifest of an agent */
        get: operations["getAgentManifest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aid-reservations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reserve a name for one address */
        post: operations["reserveAid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aids": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List AIDs */
        get: operations["listAids"];
        put?: never;
        /** Create an AID */
        post: operations["createAid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aids/{aid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an AID */
        get: operations["getAid"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aids/{aid}/renew": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Renew the certificate of an AID */
        post: operations["renewAid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/aids/{aid}/revoke": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Revoke the key of an AID */
        post: operations["revokeAid"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approval-rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the remembered answers of a tenant */
        get: operations["listApprovalRules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approval-rules/{rule}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a remembered answer */
        delete: operations["revokeApprovalRule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the approvals of a tenant */
        get: operations["listApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{approval}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an approval */
        get: operations["getApproval"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{approval}/votes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answer a question of an agent */
        post: operations["voteOnApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/approvals/{approval}/withdraw": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Withdraw a question of an agent without an answer */
        post: operations["withdrawApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the audit log of the installation */
        get: operations["listInstallationAuditEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/public-key": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the key that verifies the checkpoints of audit logs */
        get: operations["getAuditPublicKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the audit log of the installation (server-sent events) */
        get: operations["followInstallationAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/browser-session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the current browser session */
        get: operations["getBrowserSession"];
        put?: never;
        /** Create a browser session with a name and a password */
        post: operations["createBrowserSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/handoff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a hand-off code for tokens */
        post: operations["exchangeHandoff"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign in with a name and a password */
        post: operations["signIn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End all your logins */
        delete: operations["endLogins"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sign out */
        post: operations["signOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/oidc/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Complete a sign-in through the identity provider */
        get: operations["completeOidc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/oidc/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Start a sign-in through the identity provider */
        get: operations["startOidc"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Change your password */
        put: operations["changePassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Exchange a refresh token for new tokens */
        post: operations["refreshTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/automations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the automations of a tenant */
        get: operations["listAutomations"];
        put?: never;
        /** Create an automation */
        post: operations["createAutomation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/automations/{automation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an automation */
        get: operations["getAutomation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Change an automation */
        patch: operations["updateAutomation"];
        trace?: never;
    };
    "/api/v1/automations/{automation}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a run of an automation */
        post: operations["startAutomation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the available backends */
        get: operations["listBackends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/commands/{command}/ack": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Acknowledge a command */
        post: operations["acknowledgeCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/commands/{command}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a command */
        post: operations["cancelCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/commands/{command}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Set the status of a command */
        patch: operations["setCommandStatus"];
        trace?: never;
    };
    "/api/v1/copilotkit/agent/{agent}/connect": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Connect CopilotKit to a conversation */
        post: operations["connectCopilotKitAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/copilotkit/agent/{agent}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run an agent for CopilotKit */
        post: operations["runCopilotKitAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/copilotkit/agent/{agent}/stop/{thread}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop the runs of a conversation for CopilotKit */
        post: operations["stopCopilotKitThread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/copilotkit/info": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Describe the agents for CopilotKit */
        get: operations["getCopilotKitInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/invitations/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Accept an invitation */
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provider-profiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the provider profiles of a tenant */
        get: operations["listProfiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provider-profiles/{profile}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a provider profile */
        get: operations["getProfile"];
        put?: never;
        post?: never;
        /** Delete a provider profile and its credential */
        delete: operations["deleteProfile"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provider-profiles/{profile}/credential": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the credential of a provider profile */
        put: operations["setProfileCredential"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provider-profiles/{profile}/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Validate a provider profile */
        post: operations["validateProfile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/provider-profiles/{profile}/validations/{validation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a validation of a provider profile */
        get: operations["getProfileValidation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List your relations */
        get: operations["listRelations"];
        put?: never;
        /** Grant scopes to an agent */
        post: operations["createRelation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/relations/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow your relations (server-sent events) */
        get: operations["followRelations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/relations/{relation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one of your relations */
        get: operations["getRelation"];
        put?: never;
        post?: never;
        /** End a relation */
        delete: operations["deleteRelation"];
        options?: never;
        head?: never;
        /** Change what is granted */
        patch: operations["updateRelation"];
        trace?: never;
    };
    "/api/v1/relations/{relation}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Acknowledge a notice */
        post: operations["acknowledgeRelationNotice"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/relations/{relation}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the history of a relation */
        get: operations["listRelationHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/retention/plan": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Show what retention would erase now */
        get: operations["planRetention"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runner/enrolment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the enrolment of the caller's token */
        get: operations["getOwnEnrolment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runner/grant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the grant of the caller's token */
        get: operations["getOwnGrant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runners/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim the next waiting run */
        post: operations["claimNextRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runners/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Register a runner */
        post: operations["registerRunner"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runs of a tenant */
        get: operations["listRuns"];
        put?: never;
        /** Create a run */
        post: operations["createRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a run */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask a question of an agent */
        post: operations["askQuestion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/approvals/{approval}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Confirm that an agent's process has got the answer */
        post: operations["confirmAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/approvals/{approval}/take": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take the answer to a question */
        post: operations["takeAnswer"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/attachments/{attachment}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an image of a message */
        get: operations["getRunAttachment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/bundle/parts/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a part of a run's uploaded workspace */
        get: operations["getBundlePart"];
        /** Upload a part of a run's workspace */
        put: operations["putBundlePart"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel a run */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim a run */
        post: operations["claimRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close a run */
        post: operations["closeRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/commands": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Poll for commands */
        get: operations["pollCommands"];
        put?: never;
        /** Create a command */
        post: operations["createCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/commands/{command}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a command */
        get: operations["getCommand"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/commands/{command}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the result of a command */
        get: operations["getCommandResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/diff": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the changes of a run's workspace */
        get: operations["getRunDiff"];
        /** Set the changes of a run's workspace */
        put: operations["putRunDiff"];
        post?: never;
        /** Delete the changes of a run's workspace */
        delete: operations["deleteRunDiff"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events of a run */
        get: operations["listEvents"];
        put?: never;
        /** Append events to a run */
        post: operations["appendEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/events/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the events of a run (server-sent events) */
        get: operations["followRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/events/{seq}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Erase the content of an event */
        delete: operations["eraseEvent"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the commands of a run */
        get: operations["listCommands"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/lease": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Renew or release a lease */
        patch: operations["updateLease"];
        trace?: never;
    };
    "/api/v1/runs/{run}/result": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the result of a run */
        get: operations["getRunResult"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/runner-jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runner jobs of a run */
        get: operations["listRunnerJobs"];
        put?: never;
        /** Start a runner for a run */
        post: operations["createRunnerJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/runner-jobs/{job}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a runner job */
        get: operations["getRunnerJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Set the status of a run */
        patch: operations["setRunStatus"];
        trace?: never;
    };
    "/api/v1/scopes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the preset scopes */
        get: operations["listPresetScopes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions */
        get: operations["listSessions"];
        put?: never;
        /** Create a session */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a session */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/control": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancel the active work of a session */
        post: operations["controlSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/output": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the output of a session's run */
        get: operations["getSessionOutput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Mark a session as read */
        post: operations["markSessionRead"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/storage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the storage of a session */
        get: operations["getSessionStorage"];
        put?: never;
        post?: never;
        /** Evict the storage of a session */
        delete: operations["evictSessionStorage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/storage/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Report the size of a session's storage */
        post: operations["refreshSessionStorage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the events of a session (server-sent events) */
        get: operations["followSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/sessions/{session}/trace": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the events of a session's run */
        get: operations["getSessionTrace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the tenants of the caller */
        get: operations["listTenants"];
        put?: never;
        /** Create a tenant */
        post: operations["createTenant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a tenant */
        get: operations["getTenant"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/approval-policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the approval policy of a tenant */
        get: operations["getApprovalPolicy"];
        /** Set the approval policy of a tenant */
        put: operations["setApprovalPolicy"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/approvals/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the approvals of a tenant (server-sent events) */
        get: operations["followApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the audit log of a tenant */
        get: operations["listAuditEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/audit/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Follow the audit log of a tenant (server-sent events) */
        get: operations["followAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/bounds": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the bounds of a tenant */
        get: operations["getTenantBounds"];
        /** Set the bounds of a tenant */
        put: operations["setTenantBounds"];
        post?: never;
        /** Clear the bounds of a tenant */
        delete: operations["clearTenantBounds"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/enrolments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the enrolment tokens of a tenant */
        get: operations["listEnrolments"];
        put?: never;
        /** Create an enrolment token */
        post: operations["createEnrolment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/enrolments/{enrolment}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an enrolment token */
        delete: operations["revokeEnrolment"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/git-credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the credentials of git hosts */
        get: operations["listGitCredentials"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/git-credentials/{host}/{kind}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the credential of a git host */
        put: operations["setGitCredential"];
        post?: never;
        /** Delete the credential of a git host */
        delete: operations["deleteGitCredential"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the invitations of a tenant */
        get: operations["listInvitations"];
        put?: never;
        /** Create an invitation */
        post: operations["createInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/invitations/{invitation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke an invitation */
        delete: operations["revokeInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the service keys of a tenant */
        get: operations["listKeys"];
        put?: never;
        /** Create a service key */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revoke a service key */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/members": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the members of a tenant */
        get: operations["listMembers"];
        put?: never;
        /** Add a member by name */
        post: operations["addMember"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/members/{principal}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the role of a member */
        put: operations["setMember"];
        post?: never;
        /** Remove a member */
        delete: operations["removeMember"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the projects of a tenant */
        get: operations["listProjects"];
        put?: never;
        /** Create a project */
        post: operations["createProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/projects/{project}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a project */
        get: operations["getProject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/projects/{project}/setup": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Set the setup of a project */
        put: operations["setProjectSetup"];
        post?: never;
        /** Clear the setup of a project */
        delete: operations["clearProjectSetup"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/retention": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the retention of a tenant */
        get: operations["getRetention"];
        /** Set the retention of a tenant */
        put: operations["setRetention"];
        post?: never;
        /** Keep the history of a tenant for good */
        delete: operations["clearRetention"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/runners": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the runners of a tenant */
        get: operations["listRunners"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/runners/{runner}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a runner */
        get: operations["getRunner"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/runners/{runner}/drain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Drain a runner */
        post: operations["drainRunner"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/subject-tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Create a token for an external subject */
        post: operations["createSubjectToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the webhooks of a tenant */
        get: operations["listWebhooks"];
        put?: never;
        /** Create a webhook */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/webhooks/{webhook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete a webhook */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/webhooks/{webhook}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Replace the signing secret of a webhook */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tenants/{tenant}/webhooks/{webhook}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a test event to a webhook */
        post: operations["testWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List users */
        get: operations["listUsers"];
        put?: never;
        /** Create a user */
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a user */
        get: operations["getUser"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}/disable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Disable a user */
        post: operations["disableUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}/enable": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Enable a disabled user */
        post: operations["enableUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}/logins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** End all logins of a user */
        delete: operations["endUserLogins"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Reset the password of a user */
        put: operations["resetPassword"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/users/{principal}/unlock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Unlock a user */
        post: operations["unlockUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a webhook */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /** Enable or disable a webhook */
        patch: operations["updateWebhook"];
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/claim": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Claim events of a listener */
        post: operations["claimWebhookEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the deliveries of a webhook */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Report what the receiver of a listener has answered */
        post: operations["reportWebhookEvent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/resend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send events of a webhook again */
        post: operations["resendWebhookEvents"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{webhook}/trigger": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send a sample event to a webhook */
        post: operations["triggerWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the signed-in principal */
        get: operations["getCurrentPrincipal"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the capabilities of the server */
        get: operations["getCapabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/certs/{serial}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the entry of a certificate */
        get: operations["getLogEntryOfCertificate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/consistency/{first}/{second}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Prove that the log has only grown */
        get: operations["getConsistencyProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/entries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List entries */
        get: operations["listLogEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/entries/{log_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get an entry */
        get: operations["getLogEntry"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/proof/{tree_size}/{log_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Prove that an entry is in the log */
        get: operations["getInclusionProof"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ct/sth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the newest signed tree head */
        get: operations["getTreeHead"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/h2a/relations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List your relations */
        get: operations["listH2aRelations"];
        put?: never;
        /** Grant scopes to an agent */
        post: operations["createH2aRelation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/h2a/relations/{relation}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get one of your relations */
        get: operations["getH2aRelation"];
        put?: never;
        post?: never;
        /** End a relation */
        delete: operations["deleteH2aRelation"];
        options?: never;
        head?: never;
        /** Change what is granted */
        patch: operations["updateH2aRelation"];
        trace?: never;
    };
    "/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the health of the installation */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check that the process is alive */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/readiness": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Check whether this replica is ready for traffic */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/cert/{aid}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the certificate of an AID */
        get: operations["getCertificate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/chain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the chain of the issuer */
        get: operations["getCertificateChain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/crl.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the list of revoked certificates */
        get: operations["getRevocationList"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/ocsp/{serial}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the state of a certificate */
        get: operations["getCertificateStatus"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/trust-authority.crt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the certificate of the trust authority */
        get: operations["getTrustAuthority"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/pki/trust-roots.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the list of trusted roots */
        get: operations["getTrustedRoots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/root.crt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the root certificate */
        get: operations["getRootCertificate"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/trust-root.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the list of trusted roots */
        get: operations["getTrustedRootsOfIssuer"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description An invitation to accept. It has no `Debug`, so that it is never logged. */
        AcceptInvitation: {
            /**
             * Format: password
             * @description The secret of the invitation.
             */
            secret: string;
        };
        /** @description The membership from an accepted invitation. */
        AcceptedInvitationView: {
            role: string;
            /** @example ten_01920000000070008000000000000000 */
            tenant: string;
        };
        /** @description What the caller has chosen for itself. */
        AccountSettings: {
            /**
             * @description IANA name of the zone of the caller's events, for clients that send no `client_time`. Null: UTC.
             * @example Europe/Berlin
             */
            timeZone?: string | null;
        };
        /** @description Says that the user has seen what changed. */
        AcknowledgeNotice: {
            /**
             * Format: int64
             * @description The version that the user was told about.
             */
            manifest_version: number;
        };
        /** @description Confirms that the event about a version is not repeated. */
        AcknowledgedNoticeView: {
            /** @description Always true. */
            acknowledged: boolean;
            /** Format: int64 */
            manifest_version: number;
            /** @example rel_01920000000070008000000000000000 */
            relation_id: string;
        };
        /** @description What would be executed, whole. */
        ActionBody: {
            /** @description Null if the agent does not give them. */
            arguments?: Record<string, unknown> | null;
            changes?: components["schemas"]["FileChangeBody"][];
            /** @description The environment of the agent that it runs in. */
            environment?: string | null;
            /**
             * @description command, file_change, permissions, mcp_tool, tool_call, plan, question, elicitation_form or elicitation_url.
             * @example command
             */
            kind: string;
            /** @description What an allowance lifts, such as `sandbox`. */
            lifts?: string[];
            /** @example shell */
            tool: string;
            workingDir?: string | null;
        };
        ActionView: {
            about: string;
            /** @example start-runner */
            action: string;
        };
        /** @description A member to add by name. */
        AddMember: {
            /** @description The name that the user signs in with. */
            name: string;
            /**
             * @description owner, operator, developer or viewer. Not above your own role.
             * @example developer
             */
            role: string;
        };
        /** @description A progress update. */
        AgentActivityMessage: {
            activityType: string;
            content: Record<string, unknown>;
            id: string;
            /** @enum {string} */
            role: "activity";
        };
        /** @description The AID with which an agent speaks. */
        AgentAidView: {
            /** @example helper.guild.example */
            aid: string;
            /** @description Whether the server holds its key and answers for the agent. */
            hosted: boolean;
        };
        /** @description A reply of the agent. */
        AgentAssistantMessage: {
            content?: string | null;
            encryptedValue?: string | null;
            id: string;
            name?: string | null;
            /** @enum {string} */
            role: "assistant";
            toolCalls?: components["schemas"]["AgentToolCall"][];
        };
        /** @description An image of a user message. Its bytes are not allowed in the body (`data`). */
        AgentBinaryBlock: {
            filename?: string | null;
            id?: string | null;
            /** @example image/png */
            mimeType: string;
            /** @enum {string} */
            type: "binary";
            /** @description A signed URL of `/api/v1/agent/attachments`. */
            url: string;
        };
        /** @description A part of a user message, by `type`. */
        AgentContentBlock: components["schemas"]["AgentTextBlock"] | components["schemas"]["AgentBinaryBlock"];
        /** @description A fact of the front end. */
        AgentContext: {
            description: string;
            value: string;
        };
        /** @description An instruction of the developer. */
        AgentDeveloperMessage: {
            content: string;
            encryptedValue?: string | null;
            id: string;
            name?: string | null;
            /** @enum {string} */
            role: "developer";
        };
        /** @description The inbox of an agent. */
        AgentInboxView: {
            /**
             * @description The name of the agent in the AUN network.
             * @example helper.guild.example
             */
            aid: string;
            /** @description Always false: the server holds the key of the agent. */
            endToEndEncrypted: boolean;
            /**
             * @description `members` or `anyone`.
             * @example members
             */
            senders: string;
        };
        /** @description A message, by `role`. */
        AgentMessage: components["schemas"]["AgentUserMessage"] | components["schemas"]["AgentAssistantMessage"] | components["schemas"]["AgentSystemMessage"] | components["schemas"]["AgentToolMessage"] | components["schemas"]["AgentDeveloperMessage"] | components["schemas"]["AgentReasoningMessage"] | components["schemas"]["AgentActivityMessage"];
        /** @description The reasoning of the agent. */
        AgentReasoningMessage: {
            content: string;
            encryptedValue?: string | null;
            id: string;
            /** @enum {string} */
            role: "reasoning";
        };
        /** @description An instruction of the application. */
        AgentSystemMessage: {
            content: string;
            encryptedValue?: string | null;
            id: string;
            name?: string | null;
            /** @enum {string} */
            role: "system";
        };
        /** @description Text of a user message. */
        AgentTextBlock: {
            text: string;
            /** @enum {string} */
            type: "text";
        };
        /** @description A tool of the front end. */
        AgentTool: {
            description: string;
            /** @example get_weather */
            name: string;
            /** @description A JSON Schema. */
            parameters: Record<string, unknown>;
        };
        /** @description A call of a tool by the agent. */
        AgentToolCall: {
            encryptedValue?: string | null;
            function: components["schemas"]["AgentToolCallFunction"];
            id: string;
            type: components["schemas"]["AgentToolCallType"];
        };
        /** @description The function of a tool call. */
        AgentToolCallFunction: {
            /** @description JSON, as text. */
            arguments: string;
            name: string;
        };
        /**
         * @description The kind of a tool call: always `function`.
         * @enum {string}
         */
        AgentToolCallType: "function";
        /** @description The result of a tool call. */
        AgentToolMessage: {
            content: string;
            encryptedValue?: string | null;
            error?: string | null;
            id: string;
            /** @enum {string} */
            role: "tool";
            toolCallId: string;
        };
        /** @description A text, or blocks of text and images. At most 10,000 characters of text and 3 images. */
        AgentUserContent: string | components["schemas"]["AgentContentBlock"][];
        /** @description What the user asks. */
        AgentUserMessage: {
            content: components["schemas"]["AgentUserContent"];
            encryptedValue?: string | null;
            id: string;
            name?: string | null;
            /** @enum {string} */
            role: "user";
        };
        /** @description An agent. */
        AgentView: {
            backendProfile: string;
            /** @description The hash of that version. */
            capabilityManifestHash?: string | null;
            /**
             * Format: int64
             * @description The current version of its manifest. Null: it has declared none.
             */
            capabilityManifestVersion?: number | null;
            /** Format: date-time */
            createdAt: string;
            /** @description Whether requests that name no agent are for this one. */
            default: boolean;
            description: string;
            /** @description Whether it takes new turns. */
            enabled: boolean;
            endUsers: components["schemas"]["EndUsersView"];
            /** @description The requested values. Each run shows those that were filled in. */
            executionPolicy: components["schemas"]["ExecutionPolicyRequest"];
            /** @example agt_01920000000070008000000000000000 */
            id: string;
            instructions?: string | null;
            name: string;
            pipeline: components["schemas"]["PipelineBody"];
            projectId: string;
            providerId: string;
            /** @description Whether everybody may read its name and its manifest. */
            published: boolean;
            /**
             * Format: int64
             * @description Incremented by every change of what runs are created with.
             */
            revision: number;
            slug: string;
            tenantId: string;
            /** Format: date-time */
            updatedAt: string;
            workspaceRef: components["schemas"]["WorkspaceRef"];
        };
        /** @description Agents sorted by slug, at most 1000. */
        AgentsView: {
            agents: components["schemas"]["AgentView"][];
        };
        AidCertificateView: {
            /** @description The certificate in PEM. */
            certificate: string;
            /** @description SHA-256 of the certificate. */
            fingerprint: string;
            /** @description SHA-256 of the public key. */
            keyFingerprint: string;
            /** Format: date-time */
            notAfter: string;
            /** Format: date-time */
            notBefore: string;
            revocationReason?: string | null;
            /** Format: date-time */
            revokedAt?: string | null;
            /** @description In hexadecimal digits. */
            serial: string;
            /** @description `active`, `verify_only`, `expired` or `revoked`. */
            status: string;
        };
        AidView: {
            /** @example alice.guild.example */
            aid: string;
            /** @description The newest certificate. */
            certificate: components["schemas"]["AidCertificateView"];
            /** Format: date-time */
            createdAt: string;
            /**
             * @description The principal that the AID belongs to.
             * @example prn_01920000000070008000000000000000
             */
            owner: string;
        };
        /** @description AIDs by name. */
        AidsView: {
            aids: components["schemas"]["AidView"][];
            /** @description The `cursor` of the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description The state of a question, for the runner that asked it. */
        AnswerView: {
            /** @example apr_01920000000070008000000000000000 */
            approvalId: string;
            /** @description The values to give to the process, for an option with the effect answer; only with the status delivering. */
            content?: Record<string, unknown> | null;
            /** @description The option to give to the process; only with the status delivering. */
            optionId?: string | null;
            /** @description Whether the turn must end: the question stays, and its answer continues the work in another turn. */
            parked?: boolean;
            /** @example delivering */
            status: string;
        };
        /** @description Events to append. */
        AppendEvents: {
            events: components["schemas"]["NewEvent"][];
        };
        AppendedEventView: {
            id: string;
            /** @description Whether the event already existed. */
            replayed: boolean;
            /** Format: int64 */
            seq: number;
        };
        AppendedEventsView: {
            /** @description One result per event, in the given order. */
            events: components["schemas"]["AppendedEventView"][];
            /** Format: int64 */
            lastSeq: number;
        };
        /** @description An event of a run. */
        ApprovalDeclinedEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ApprovalDeclinedPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "approval_declined";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description The agent asked for permission and was declined. */
        ApprovalDeclinedPayload: {
            /** @description What the agent asked for; any JSON. */
            detail?: unknown;
            reason?: string;
            what?: string;
        };
        /** @description An event of a stream of approvals. */
        ApprovalEventView: {
            /** @description The turn that asks. */
            commandId: string;
            /** @description As in the events of the run. It has no arguments: read the approval. */
            payload: Record<string, unknown>;
            /** Format: date-time */
            recordedAt: string;
            runId: string;
            /** Format: int64 */
            seq: number;
            sessionId: string;
            /** @description approval_requested, approval_status or approval_vote. */
            type: string;
            /**
             * Format: int32
             * @description Version of this form.
             */
            v: number;
        };
        /**
         * @description When the backend asks for approval, from the narrowest to the widest. `untrusted`: before every action that is not
         *     known to be harmless; `on-request`: when the backend decides to.
         * @enum {string}
         */
        ApprovalPolicy: "untrusted" | "on-request" | "never";
        /** @description The approval policy of a tenant. */
        ApprovalPolicyView: {
            approverId?: string | null;
            /** Format: int64 */
            expiresAfterMs: number;
            /** Format: int64 */
            holdForMs: number;
            /** @example first-responder */
            mode: string;
            /** @example deny */
            onExpiry: string;
            /** Format: int32 */
            quorum?: number | null;
            /** Format: int64 */
            reuseWithinMs: number;
            /**
             * Format: int32
             * @description 1 is the default of the server.
             */
            version: number;
            veto?: boolean | null;
        };
        /** @description An event of a run. */
        ApprovalRequestedEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ApprovalRequestedPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "approval_requested";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description The agent asks before it acts. The approval has the question. */
        ApprovalRequestedPayload: {
            /** @description Whether an earlier answer or a rule decides it at once, and nobody is asked. */
            answered?: boolean;
            /** @example apr_01920000000070008000000000000000 */
            approvalId: string;
            /** @description The tool call that waits for the answer. */
            callId?: string;
            /** @description Denied then, if there is no answer. */
            expiresAt: string;
            /** @example command */
            kind: string;
            /** @example shell */
            tool: string;
        };
        /** @description A remembered answer to one exact action. */
        ApprovalRuleView: {
            /** @description The approval whose answer is remembered. It shows the action. */
            approvalId: string;
            /** @description Id of the person who made it. */
            authorId: string;
            backendProfile?: string | null;
            /** Format: date-time */
            createdAt: string;
            /**
             * @description allow or deny.
             * @example allow
             */
            effect: string;
            /** Format: date-time */
            expiresAt: string;
            projectId?: string | null;
            revoked: boolean;
            /** @example apl_01920000000070008000000000000000 */
            ruleId: string;
            runId?: string | null;
            /**
             * @description run, session or agent-and-project.
             * @example session
             */
            scope: string;
            sessionId?: string | null;
            tenantId: string;
            /**
             * Format: int32
             * @description How often it was used.
             */
            used: number;
        };
        /** @description One page of rules, newest first. */
        ApprovalRulesView: {
            /** @description For the next page; null on the last one. */
            nextCursor?: string | null;
            rules: components["schemas"]["ApprovalRuleView"][];
        };
        /** @description An event of a run. */
        ApprovalStatusEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ApprovalStatusPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "approval_status";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A new state of a question. */
        ApprovalStatusPayload: {
            /** @example apr_01920000000070008000000000000000 */
            approvalId: string;
            /** @description Ids of those who decided, or `expiry`. */
            by?: string[] | null;
            /** @description allow, deny or answer. */
            effect?: string | null;
            /** @description The chosen option. */
            optionId?: string | null;
            /** @description Why the question was withdrawn, its answer is void, or it is still pending: `parked` or `escalated`. */
            reason?: string | null;
            /**
             * @description pending, decided, expired, delivering, delivered, settled, withdrawn, void, reused or uncertain.
             * @example decided
             */
            status: string;
        };
        /** @description A question of an agent, and what has become of it. */
        ApprovalView: {
            /** @example apr_01920000000070008000000000000000 */
            approvalId: string;
            /** @description Whether you may answer it now. */
            canAnswer: boolean;
            /** @description The turn that asks. */
            commandId: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            decidedAt?: string | null;
            /** @description Ids of those who decided, or `expiry`. */
            decidedBy: string[];
            /** @description allow, deny or answer. */
            effect?: string | null;
            /** @description Why the question was withdrawn, or its answer is void. */
            endReason?: string | null;
            /** @description Whether the owners of the tenant are asked, because nobody answered in time. */
            escalated: boolean;
            /**
             * Format: date-time
             * @description Denied then, if there is no answer.
             */
            expiresAt: string;
            /**
             * @description The mode of that policy: first-responder, designated, consensus or local-only.
             * @example first-responder
             */
            mode: string;
            /** @description The chosen option. */
            optionId?: string | null;
            /** @description Whether the agent's process has ended, and asks again when there is an answer. */
            parked: boolean;
            /**
             * Format: int32
             * @description Version of the tenant's approval policy that it was asked under.
             */
            policyVersion: number;
            question: components["schemas"]["QuestionBody"];
            runId: string;
            sessionId: string;
            /** @description Digest of the whole question; an answer must name it. */
            shownDigest: string;
            /**
             * @description pending, decided, expired, delivering, delivered, settled, withdrawn, void, reused or uncertain.
             * @example pending
             */
            status: string;
            tenantId: string;
        };
        /** @description An event of a run. */
        ApprovalVoteEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ApprovalVotePayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "approval_vote";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description An answer that does not decide yet. */
        ApprovalVotePayload: {
            /** @example apr_01920000000070008000000000000000 */
            approvalId: string;
            /** @description Id of the person who answered. */
            by: string;
            optionId: string;
            /**
             * Format: int32
             * @description Equal answers that decide.
             */
            quorum: number;
            /**
             * Format: int32
             * @description Answers so far.
             */
            votes: number;
        };
        /** @description One page of approvals, newest first. */
        ApprovalsView: {
            approvals: components["schemas"]["ApprovalView"][];
            /** @description For the next page; null on the last one. */
            nextCursor?: string | null;
            /** @description What happens after this list follows this position: `after` waits for it, the stream continues after it. */
            position: string;
        };
        /** @description An event of a run. */
        ArtifactEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ArtifactPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "artifact";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A file that the turn changed, or a summary of the remaining ones. */
        ArtifactPayload: {
            /** Format: int64 */
            bytes?: number;
            /**
             * @description added, modified or deleted.
             * @example added
             */
            change?: string;
            /**
             * Format: int64
             * @description Number of files of a summary.
             */
            files?: number;
            /** Format: int64 */
            filesLookedAt?: number;
            /**
             * @description file, summary, or another kind of the backend.
             * @example file
             */
            kind?: string;
            path?: string | null;
            truncated?: boolean;
            /** @description Whether a summary covers the whole workspace. */
            wholeWorkspace?: boolean;
        };
        ArtifactSummaryView: {
            /** Format: int64 */
            bytes: number;
            /** Format: int64 */
            count: number;
            /** @description The last ten items. */
            items: Record<string, unknown>[];
            /** Format: int64 */
            outputBytes: number;
            /** Format: int64 */
            outputCount: number;
            outputTruncated: boolean;
            truncated: boolean;
        };
        /** @description A question of an agent's process, reported by its runner. */
        AskQuestion: {
            /** @description The tool call that waits for the answer, as the events of the turn name it. */
            callId?: string | null;
            /**
             * @description The turn that asks.
             * @example cmd_01920000000070008000000000000000
             */
            commandId: string;
            /** @description Id of the agent's process, new for each start. */
            process: string;
            question: components["schemas"]["QuestionBody"];
            /** @description The process's own id of the request. */
            request: string;
        };
        /** @description An event of a run. */
        AssistantDeltaEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["AssistantDeltaPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "assistant_delta";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A chunk of a message in progress. The complete message follows. */
        AssistantDeltaPayload: {
            /** @description The message that the chunk belongs to. */
            itemId?: string;
            text?: string;
        };
        /** @description An event of a run. */
        AssistantMessageEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["AssistantMessagePayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "assistant_message";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A complete message of the agent. */
        AssistantMessagePayload: {
            /** @description Whether the backend marks the message as the last one of the turn. */
            final?: boolean;
            itemId?: string;
            outputTruncated?: boolean;
            /** @description Whether the message is the reply of the turn. */
            replyAuthority?: boolean;
            text?: string;
            textTruncated?: boolean;
            /** @description How to show the message: the history of applications has a UiSchema that is compiled from it. */
            uiHints?: components["schemas"]["UiHints"];
        };
        /** @description A stored attachment. */
        AttachmentView: {
            /**
             * Format: date-time
             * @description When the URL expires.
             */
            expiresAt: string;
            id: string;
            /**
             * @description The type of the image.
             * @example image/png
             */
            mimeType: string;
            /**
             * Format: int64
             * @description In bytes.
             */
            size: number;
            /** @description The signed URL. Send it as the `url` of a binary content, or show it in a page. */
            url: string;
        };
        /** @description An attempt to send an event. */
        AttemptView: {
            /** Format: date-time */
            at: string;
            /**
             * Format: int32
             * @description Number of the attempt, from 1 after each request to send the event again.
             */
            attempt: number;
            /** Format: int64 */
            durationMs: number;
            /** @description Null if the receiver has accepted the event. */
            error?: string | null;
            /**
             * Format: int32
             * @description Null without an answer.
             */
            status?: number | null;
        };
        /** @description An entry of an audit log. The same in pages and in streams. */
        AuditEntryView: {
            /** @example key.created */
            action: string;
            /** @description Actor, address of the client (null for actions of the server itself), object and details; null if erased. */
            body: unknown;
            /**
             * @description SHA-256 of the body as compact JSON with sorted keys. Null until the entry is sealed, a few seconds after it was
             *     recorded. Kept when the body is erased.
             */
            bodyHash?: string | null;
            checkpoint?: components["schemas"]["CheckpointView"] | null;
            /**
             * @description SHA-256 of the previous hash (64 zeros for the first entry), a line feed, and the compact JSON with sorted keys
             *     of action, bodyHash, id, recordedAt and seq. Null until the entry is sealed.
             */
            hash?: string | null;
            id: string;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /**
             * @description Always `entry`: the frame type in streams.
             * @example entry
             */
            type?: string;
            /**
             * Format: int32
             * @description Version of this format.
             * @example 1
             */
            v: number;
        };
        AuditPageView: {
            entries: components["schemas"]["AuditEntryView"][];
            /**
             * Format: int64
             * @description The `afterSeq` of the next page.
             */
            nextAfterSeq: number;
        };
        /** @description The key that verifies the checkpoints of all audit logs. */
        AuditPublicKeyView: {
            /**
             * @description Always `Ed25519`.
             * @example Ed25519
             */
            algorithm: string;
            keyId: string;
            /** @description The 32 bytes of the key in hexadecimal digits. */
            publicKey: string;
        };
        /** @description An automation. */
        AutomationView: {
            agentId: string;
            /** Format: date-time */
            createdAt: string;
            /** @description Whether it starts new runs. */
            enabled: boolean;
            /** @example aut_01920000000070008000000000000000 */
            id: string;
            name: string;
            pipeline: components["schemas"]["PipelineBody"];
            prompt: string;
            /**
             * Format: int64
             * @description Incremented by every change of the prompt or the pipeline.
             */
            revision: number;
            slug: string;
            tenantId: string;
            /** Format: date-time */
            updatedAt: string;
        };
        /** @description Automations sorted by slug, at most 1000. */
        AutomationsView: {
            automations: components["schemas"]["AutomationView"][];
        };
        /** @description An event of a run. */
        BackendEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["BackendEventPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "backend_event";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description An event of the agent that Guildhall does not know. */
        BackendEventPayload: {
            /** @description The agent's name for it. */
            kind?: string;
            /** @description Any JSON. */
            payload?: unknown;
        };
        /** @description An event of a run. */
        BackendStatusEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["BackendStatusPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "backend_status";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A status of the backend, the runner or its lease, by `phase`. */
        BackendStatusPayload: {
            attemptId?: string;
            /** @description Details of the backend; any JSON. */
            detail?: unknown;
            /**
             * Format: int64
             * @description Epoch of the lease.
             */
            epoch?: number;
            /**
             * Format: int64
             * @description Number of events in the file.
             */
            events?: number;
            /** @description A file with events on that machine. */
            file?: string;
            /** @description The runner's machine. */
            host?: string;
            leaseExpiresAt?: string;
            /** @description Level of a line of the runner's log. */
            level?: string;
            message?: string;
            /** @description The runner that holds the lease. */
            owner?: string;
            /** @example run-claimed */
            phase?: string;
            reason?: string;
            /** @description The lost runner that was replaced. */
            recoveredFrom?: string | null;
            runnerId?: string;
            /** Format: int64 */
            withinMs?: number;
        };
        /** @description A backend profile and its features. */
        BackendView: {
            /** @example codex-app-server-stdio */
            backendKind: string;
            commandTypes: string[];
            /** @description Whether this server stores everything that a run needs. Runners may bring their own. */
            configured: boolean;
            profile: string;
            protocol: string;
            requiredSecretKeys: string[];
            transport: string;
            /** @description Why it cannot be used here; null if it can. */
            unavailable?: string | null;
        };
        BackendsView: {
            backends: components["schemas"]["BackendView"][];
        };
        /**
         * Format: byte
         * @description Bytes, in JSON as base64 text.
         * @example ZGlmZg==
         */
        Base64Bytes: string;
        /** @description A browser session. Its cookie is set with `Set-Cookie` and is not accessible to scripts. */
        BrowserSessionView: {
            /** @description Send it as `X-Guildhall-CSRF` with every request that changes state. */
            csrfToken: string;
            /** Format: date-time */
            expiresAt: string;
            /**
             * @description The signed-in principal.
             * @example prn_01920000000070008000000000000000
             */
            principal: string;
        };
        /** @description Build of the server. */
        BuildView: {
            /** @description Commit of the build; `unknown` if not built from a Git checkout. */
            commit: string;
            /** @example 0.1.0 */
            version: string;
        };
        /** @description A part of a bundle, for the runner. */
        BundlePartView: {
            content: components["schemas"]["Base64Bytes"];
            /** Format: int32 */
            number: number;
            runId: string;
        };
        /** @description The stored part. */
        BundleUploadView: {
            /**
             * Format: int64
             * @description Parts that were not uploaded yet. The run takes commands when there are none.
             */
            missingParts: number;
            /** Format: int32 */
            number: number;
            runId: string;
        };
        /**
         * @description A Git bundle that you upload after you created the run, in parts of 1 MiB: the agent gets its own repository from it.
         *     `refs/guildhall/base` in the bundle is a commit with the files of the working tree; `HEAD` is optional.
         */
        BundleWorkspace: {
            /** @enum {string} */
            kind: "bundle";
            /** @description SHA-256 of the bundle. */
            sha256: string;
            /**
             * Format: int64
             * @description Size of the bundle.
             * @example 4096
             */
            sizeBytes: number;
        };
        /** @description Capabilities of the server. A tag in `features` means that the feature is available. */
        CapabilitiesView: {
            /**
             * @description Isolation of agents. `elsewhere`: this server starts no runners. `contained`: the kernel denies agents access
             *     to the server's state and credentials. `uncontained`: runners use the server's account, and agents can access
             *     whatever that account can; only for a single tenant, or for tenants that trust each other.
             * @example elsewhere
             */
            containment: string;
            features: string[];
            /** @description Kind of server, for people. Clients should check `features`. */
            mode: components["schemas"]["ServerMode"];
            /** @description Policies of the tenant that the caller acts in. */
            policy: components["schemas"]["PolicyView"];
            protocol: components["schemas"]["ProtocolView"];
            /**
             * Format: int32
             * @description Version of this format.
             * @example 1
             */
            v: number;
            /** @description The working directory of a single-workspace server. Always null: this server serves many workspaces. */
            workspaceCwd: string | null;
        };
        /** @description An answer to a question. */
        CastVote: {
            /**
             * @description The values of the form (`question.answerSchema`), by the names of its fields: required for an option with the effect
             *     answer, and refused for any other. They are kept encrypted, are given to the agent only, and cannot be read back.
             */
            content?: Record<string, unknown> | null;
            /** @example accept */
            optionId: string;
            /**
             * @description Answers the same action without asking from now on, for 30 days: run, session or agent-and-project. Absent: this
             *     question only.
             */
            remember?: string | null;
            /** @description The `shownDigest` of the approval that you have read. */
            shownDigest: string;
        };
        /** @description A renewal or release of a lease. */
        ChangeLease: {
            /** @description Release the run instead of renewing the lease. */
            release?: boolean;
        };
        /** @description A change of the caller's password. It has no `Debug`, so that it is never logged. */
        ChangePassword: {
            /** Format: password */
            currentPassword: string;
            /**
             * Format: password
             * @description At least 12 characters.
             */
            newPassword: string;
        };
        /** @description A signed statement: the hash of this log at this entry. It covers all entries before. */
        CheckpointView: {
            /** @description First 16 hexadecimal digits of the SHA-256 of the public key. */
            keyId: string;
            /**
             * @description Id of the tenant, or `installation`.
             * @example installation
             */
            log: string;
            /**
             * @description Ed25519 signature of the lines `guildhall audit checkpoint v1`, log, seq, hash and signedAt, each ended by a line
             *     feed.
             */
            signature: string;
            /** Format: date-time */
            signedAt: string;
        };
        /** @description A request for events. */
        ClaimEvents: {
            /**
             * Format: int64
             * @description Milliseconds to wait for an event, at most 30 s.
             */
            wait?: number;
        };
        /** @description A claim on the next available run. */
        ClaimNext: {
            /** @example rnr_01920000000070008000000000000000 */
            runnerId: string;
            /**
             * Format: int64
             * @description Milliseconds to wait for a run, at most 30 s. They do not count against the request timeout of the server.
             */
            wait?: number;
        };
        /** @description A claim on a run. */
        ClaimRun: {
            /** @example rnr_01920000000070008000000000000000 */
            runnerId: string;
            /**
             * @description Whether the runner will retry when the lease of another runner ends. The run then shows that a runner is
             *     waiting.
             */
            wait?: boolean;
        };
        /** @description An event to send. It is handed out again after a minute without a report. */
        ClaimedEventView: {
            /**
             * Format: int32
             * @description Number of the attempt, from 1.
             */
            attempt: number;
            /** @description The body of the request, which is signed as it is. */
            body: string;
            /** @description Names this hand-out in the report. */
            claim: string;
            /** @description The `webhook-id` of the request. */
            eventId: string;
        };
        /** @description Events for the receiver of the program, at most one of each conversation. */
        ClaimedEventsView: {
            events: components["schemas"]["ClaimedEventView"][];
        };
        /** @description The claimed run; null if none was available in time. */
        ClaimedView: {
            grant?: components["schemas"]["GrantView"] | null;
            /**
             * Format: int64
             * @description How long the request had waited when the run was claimed. The lease starts this long after the request was sent, or
             *     later.
             */
            waitedMs?: number;
        };
        /** @description An event of a run. */
        ClientRunEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ClientRunPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "client_run";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A client's own run id. It stands for a turn, or for the part of it that follows the answers to its questions. */
        ClientRunPayload: {
            /** @example f3a1c0de-0000-4000-8000-000000000001 */
            clientRunId: string;
            /** @description The client's run that this one follows. */
            parentRunId?: string;
            /** @description Approvals that the client answered to continue the turn. */
            resumed?: string[];
            /** @description Tools of the front end, redacted. They are repeated to its clients; no agent gets them. */
            tools?: Record<string, unknown>[];
            /**
             * @description The worker that the router of the turn picked.
             * @example default
             */
            worker?: string;
        };
        /** @description The time of the device. */
        ClientTimeBody: {
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             * @example 1773658353000
             */
            client_epoch_ms: number;
            /**
             * @description RFC 3339, with an offset.
             * @example 2026-03-16T09:12:33-07:00
             */
            client_now_iso: string;
            /**
             * @description A name of the IANA time zone database.
             * @example America/Los_Angeles
             */
            device_timezone: string;
        };
        /** @description The last event of a command. */
        CommandActivityView: {
            /** Format: int64 */
            ageMs: number;
            /** Format: date-time */
            at: string;
            /** Format: int64 */
            seq: number;
            /**
             * @description Type of the event.
             * @example tool_call
             */
            type: string;
        };
        /** @description An event of a run. */
        CommandOutputEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["CommandOutputPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "command_output";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description Output of a tool call. */
        CommandOutputPayload: {
            callId?: string;
            /** Format: int64 */
            droppedBytes?: number;
            outputTruncated?: boolean;
            text?: string;
            /** @description Whether the text replaces earlier chunks. */
            whole?: boolean;
        };
        /** @description An event of a run. */
        CommandStatusEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["CommandStatusPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "command_status";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A change of the status of a command. The end of a command is a `terminal_status`. */
        CommandStatusPayload: {
            /** @description The principal who cancelled the command. */
            by?: string;
            /** @description The blocked turn whose work this one continues. Of a new command. */
            continues?: string;
            /**
             * Format: int32
             * @description Number of the command in its run, from 1. Of a new command.
             */
            ordinal?: number;
            /** @description The runner that started the command. */
            runnerId?: string;
            /**
             * @description pending, running or cancelling.
             * @example running
             */
            status: string;
            /** @description turn, steer or interrupt. Of a new command. */
            type?: string;
        };
        CommandView: {
            /** Format: date-time */
            ackedAt?: string | null;
            cancelRequested: boolean;
            /** @example cmd_01920000000070008000000000000000 */
            commandId: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            endedAt?: string | null;
            failureKind?: string | null;
            message?: string | null;
            payload: Record<string, unknown>;
            runId: string;
            /**
             * Format: int32
             * @description Sequence number among the commands of the run.
             */
            seq: number;
            /**
             * @description pending, running, completed, failed, blocked or cancelled.
             * @example pending
             */
            status: string;
            /** @description The turn that a steer or interrupt refers to. */
            targetCommandId?: string | null;
            terminalStatus?: string | null;
            type: string;
        };
        /** @description Commands of a run, in order. */
        CommandsView: {
            commands: components["schemas"]["CommandView"][];
            /**
             * Format: int32
             * @description `afterSeq` of the next page; null on the last page.
             */
            nextAfterSeq?: number | null;
        };
        /** @description Confirms that the agent's process has got the answer. */
        ConfirmAnswer: {
            /** @description The process that asked. */
            process: string;
        };
        /** @description A proof that the log of the first size is the beginning of the log of the second size. */
        ConsistencyProofView: {
            /** Format: int64 */
            first: number;
            /** @description In the order of RFC 6962. */
            hashes: string[];
            /** Format: int64 */
            second: number;
        };
        /** @description A fact for the agent. */
        ContextEntryBody: {
            /** @example Team */
            description: string;
            /** @example web */
            value: string;
        };
        /** @description A control action on a session. */
        ControlSession: {
            /**
             * @description cancel: cancels the active command, or else the open run.
             * @example cancel
             */
            action: string;
        };
        /** @description An agent. */
        CopilotKitAgent: {
            /**
             * @description Always `HttpAgent`.
             * @example HttpAgent
             */
            className: string;
            description: string;
            name: string;
        };
        /** @description What the server offers to CopilotKit. */
        CopilotKitInfo: {
            /** @description The agents that take turns, by name. `default` is the default agent of the tenant. */
            agents: {
                [key: string]: components["schemas"]["CopilotKitAgent"];
            };
            /** @description Always false. */
            audioFileTranscriptionEnabled: boolean;
            /**
             * @description Always `sse`.
             * @example sse
             */
            mode: string;
            /** @description Always true: front ends send nothing to CopilotKit. */
            telemetryDisabled: boolean;
            threadEndpoints: components["schemas"]["CopilotKitThreadEndpoints"];
            /** @description The version of this server. */
            version: string;
        };
        /** @description Which routes there are for lists of threads. None: `connect` reads one thread. */
        CopilotKitThreadEndpoints: {
            inspect: boolean;
            list: boolean;
            mutations: boolean;
            realtimeMetadata: boolean;
        };
        /**
         * @description A private copy of a Git repository on the runner's machine: its working tree as it is, with changes that are not
         *     committed and untracked files that are not ignored.
         */
        CopyWorkspace: {
            /** @enum {string} */
            kind: "copy";
            /**
             * @description Absolute, or relative to the workspace directory of the runner. Without `.`, `..` and backslashes.
             * @example /srv/acme/web
             */
            path: string;
        };
        /** @description An agent to create. */
        CreateAgent: {
            /**
             * @description Slug of a backend profile.
             * @example demo
             */
            backendProfile: string;
            /** @description What the agent can do, and which permissions it asks for: a capability manifest. Only a person may send one. */
            capabilityManifest?: Record<string, unknown> | null;
            /** @description Whether requests that name no agent are for this one. It replaces the earlier default. */
            default?: boolean;
            description?: string | null;
            endUsers?: components["schemas"]["EndUsersBody"] | null;
            executionPolicy?: components["schemas"]["ExecutionPolicyRequest"] | null;
            /**
             * @description What the agent is told before the first turn of a conversation, at most 32 KiB. Every member of the tenant can
             *     read it: it must contain no secret.
             * @example Answer in one sentence.
             */
            instructions?: string | null;
            /** @example Helper */
            name: string;
            pipeline?: components["schemas"]["PipelineBody"] | null;
            /**
             * @description Slug of a project, or another name that the tenant's policy allows.
             * @example acme/web
             */
            projectId: string;
            /** @example local */
            providerId: string;
            /**
             * @description Short name, unique in the tenant: lower-case letters, digits and inner dashes.
             * @example helper
             */
            slug: string;
            /**
             * @description Id or slug of one of your tenants.
             * @example acme
             */
            tenantId: string;
            /** @description The workspace of a new conversation: any kind but `bundle`, which is uploaded for one run. */
            workspaceRef: components["schemas"]["WorkspaceRef"];
        };
        /** @description An AID to create. */
        CreateAid: {
            /**
             * @description The name before the issuer. Some names are reserved.
             * @example alice
             */
            name: string;
            /**
             * @description The user that the AID belongs to (principal id); without it, you.
             * @example prn_01920000000070008000000000000000
             */
            owner?: string | null;
            /** @description The P-256 key of the AID: SubjectPublicKeyInfo in DER, in base64. */
            publicKey: string;
        };
        /** @description An automation to create. */
        CreateAutomation: {
            /**
             * @description Id or slug of the agent that it talks to.
             * @example helper
             */
            agentId: string;
            /** @example Daily report */
            name: string;
            pipeline?: components["schemas"]["PipelineBody"] | null;
            /**
             * @description The message of a run that has none of its own. Every member of the tenant can read it: it must contain no secret.
             * @example Summarise what changed since yesterday.
             */
            prompt: string;
            /**
             * @description Short name, unique in the tenant: lower-case letters, digits and inner dashes.
             * @example daily-report
             */
            slug: string;
            /**
             * @description Id or slug of one of your tenants.
             * @example acme
             */
            tenantId: string;
        };
        /** @description A command to create. The text of a turn or steer is the `prompt`, `message` or `text` of `payload`. */
        CreateCommand: {
            /** @description Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal. */
            idempotencyKey?: string | null;
            payload?: Record<string, unknown>;
            /**
             * @description turn, steer or interrupt.
             * @example turn
             */
            type: string;
        };
        /** @description An enrolment token to create. */
        CreateEnrolment: {
            /**
             * Format: int64
             * @description Lifetime of the token: one minute to 365 days, 7 days by default. Runs claimed before it expires continue
             *     afterwards.
             */
            expiresInMs?: number | null;
            /** @description Description of its purpose. */
            name: string;
            /** @description Restricts claims to runs of this backend profile. By default any. */
            profile?: string | null;
        };
        /** @description An invitation to create. */
        CreateInvitation: {
            /** @description Note about the invited person, such as an email address. No email is sent, and it is not verified. */
            email?: string | null;
            /**
             * @description Role of the invited member. Not above your own role.
             * @example developer
             */
            role: string;
        };
        /** @description A service key to create. */
        CreateKey: {
            name: string;
            /**
             * @description Role of the key: operator, developer or viewer. Not above your own role.
             * @example developer
             */
            role: string;
        };
        /** @description A project to create. */
        CreateProject: {
            name: string;
            /**
             * @description Short name, unique in the tenant: lower-case letters, digits and inner dashes.
             * @example website
             */
            slug: string;
        };
        /** @description A consent. */
        CreateRelation: {
            /**
             * @description Id of the agent.
             * @example agt_01920000000070008000000000000000
             */
            agent_id: string;
            /**
             * @description Ids of scopes that the manifest of the agent declares.
             * @example [
             *       "filesystem:read"
             *     ]
             */
            granted_scopes?: string[];
            /** @description The hash of the manifest that the user was shown. Another one is a conflict. */
            manifest_hash?: string | null;
            /**
             * Format: int64
             * @description The version of the manifest that the user was shown. Another current version is a conflict.
             */
            manifest_version?: number | null;
        };
        /** @description A run to create. */
        CreateRun: {
            /**
             * @description Slug of a backend profile: `demo`, `codex`, or one of your own.
             * @example demo
             */
            backendProfile: string;
            executionPolicy?: components["schemas"]["ExecutionPolicyRequest"] | null;
            /** @description Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal. */
            idempotencyKey?: string | null;
            /**
             * @description Slug of a project, or another name that the tenant's policy allows.
             * @example acme/web
             */
            projectId: string;
            /** @example local */
            providerId: string;
            sessionRef?: components["schemas"]["SessionRef"] | null;
            /**
             * @description Id or slug of one of your tenants.
             * @example acme
             */
            tenantId: string;
            /** @description Name of a configured trace sink, or null. */
            traceSink: string | null;
            /** @description The workspace of the agent. */
            workspaceRef: components["schemas"]["WorkspaceRef"];
        };
        /** @description Starts a runner for a pending command of a run. Defaults to the oldest pending command. */
        CreateRunnerJob: {
            /** @example cmd_01920000000070008000000000000000 */
            commandId?: string | null;
            /** @description Makes a retry safe, like the header `Idempotency-Key`. If both are sent, they must be equal. */
            idempotencyKey?: string | null;
        };
        /** @description A session to create. */
        CreateSession: {
            backendProfile: string;
            /**
             * Format: int64
             * @description Lifetime of its storage: 1 millisecond to 365 days. By default it is deleted some time after its last use.
             */
            expiresInMs?: number | null;
            /** @description Slug of a project, or another name that the tenant's policy allows. */
            projectId: string;
            /** @description Id or slug of one of your tenants. */
            tenantId: string;
        };
        /** @description A tenant to create. */
        CreateTenant: {
            name: string;
            /**
             * @description Short name in URLs and commands: lower-case letters, digits and inner dashes.
             * @example acme
             */
            slug: string;
        };
        /** @description A user to create. It has no `Debug`, so that it is never logged. */
        CreateUser: {
            name: string;
            /**
             * Format: password
             * @description At least 12 characters.
             */
            password: string;
        };
        /** @description A webhook to create. */
        CreateWebhook: {
            /**
             * @description The agent whose messages are sent. Without it, the questions of all agents of the tenant are.
             * @example agt_01920000000070008000000000000000
             */
            agentId?: string | null;
            description?: string;
            /**
             * @description Event types to send, each once: approval.requested, approval.decided, approval.withdrawn; with an agent message.new,
             *     artifact_response, h2a.reauth_required.
             * @example [
             *       "approval.requested"
             *     ]
             */
            events: string[];
            /**
             * @description Who sends the events: the server, or a program that asks for them (`listener`, with an agent only). The server never
             *     calls the URL of a listener, and deletes it when its program has not asked for 15 minutes.
             * @example server
             */
            sender?: string | null;
            /**
             * @description Where events are sent: https://, without user and fragment; http:// to the server's own machine only, where the
             *     operator allows its addresses.
             * @example https://hooks.example.org/guildhall
             */
            url: string;
        };
        /** @description Confirms that an agent that runs elsewhere has no AID any more. */
        DeletedAgentAidView: {
            /** @example agt_01920000000070008000000000000000 */
            agentId: string;
            /** @description Always true. */
            deleted: boolean;
        };
        /** @description Confirms that the changes were deleted. */
        DeletedDiffView: {
            /** @description Always true. */
            deleted: boolean;
            runId: string;
        };
        /** @description Confirms that a credential was deleted. */
        DeletedGitCredentialView: {
            /** @description Always true. */
            deleted: boolean;
            host: string;
            kind: string;
        };
        /** @description Confirms that a profile and its credential were deleted. */
        DeletedProfileView: {
            /** @description Always true. */
            deleted: boolean;
            /** @example codex */
            profile: string;
        };
        /** @description Confirms that a webhook was deleted. */
        DeletedWebhookView: {
            /** @description Always true. */
            deleted: boolean;
            id: string;
        };
        /** @description A page of the log, newest events first. */
        DeliveriesView: {
            deliveries: components["schemas"]["DeliveryView"][];
            /** @description The `cursor` of the next page; null on the last page. */
            nextCursor?: string | null;
        };
        /** @description An event of a webhook. */
        DeliveryView: {
            /** @description The newest 20 attempts, oldest first. */
            attempts: components["schemas"]["AttemptView"][];
            /** Format: date-time */
            createdAt: string;
            /**
             * @description The `webhook-id` of its requests.
             * @example evt_01920000000070008000000000000000
             */
            eventId: string;
            /** Format: date-time */
            finishedAt?: string | null;
            /**
             * Format: date-time
             * @description Null while it is sent, while it waits for an earlier event of its conversation, and after its end.
             */
            nextAttemptAt?: string | null;
            /**
             * @description waiting, delivered or missed.
             * @example delivered
             */
            state: string;
            /**
             * @description Null for a type of a newer version.
             * @example message.new
             */
            type?: string | null;
        };
        /** @description The changes of a workspace since its start. */
        DiffView: {
            /**
             * Format: int64
             * @description Size of the diff; 0 if nothing has changed.
             */
            bytes: number;
            /** @description The command after which the changes were collected. */
            commandId: string;
            /** Format: date-time */
            createdAt: string;
            /** @description A binary diff for `git apply`. */
            diff: components["schemas"]["Base64Bytes"];
            runId: string;
        };
        /** @description An existing directory on the runner's machine. The agent works in it. */
        DirectoryWorkspace: {
            /** @enum {string} */
            kind: "directory";
            /**
             * @description Absolute, or relative to the workspace directory of the runner. Without `.`, `..` and backslashes.
             * @example /srv/acme/web
             */
            path: string;
        };
        /** @description What runs of a tenant may request. An empty list allows nothing. */
        EffectiveBoundsView: {
            /** @description The least restrictive approval policy, and the default. */
            approval: string;
            directories: string[];
            /** @description Widest network access. */
            network: string;
            profiles: string[];
            projects: string[];
            providers: string[];
            /** @description The least restrictive sandbox. */
            sandbox: string;
            /**
             * Format: int64
             * @description The longest turn timeout, and the default.
             */
            timeoutMs: number;
            traceSinks: string[];
        };
        /** @description A new, empty directory. */
        EmptyWorkspace: {
            /** @enum {string} */
            kind: "empty";
        };
        /** @description Terminal status of a run or command. */
        EndStatus: {
            /** @description A failure kind. Required for failed and blocked. */
            failureKind?: string | null;
            message?: string | null;
            /**
             * @description completed, failed, blocked or cancelled. For commands also running, which has no effect.
             * @example completed
             */
            status: string;
            /** @description The backend's thread, to resume with the next command. For commands only. */
            threadId?: string | null;
        };
        /** @description Limits for each end user. They do not apply to members of the tenant. */
        EndUsersBody: {
            /** @description Whether an end user answers the questions of the agent in their own conversations. By default only members do. */
            answerApprovals?: boolean | null;
            /**
             * Format: int32
             * @description Conversations with a turn that has not ended. 5 by default.
             */
            openThreads?: number | null;
            /**
             * Format: int64
             * @description Tokens of models, in and out, of one day of UTC. A turn counts when it has ended. 2,000,000 by default.
             */
            tokensPerDay?: number | null;
            /**
             * Format: int32
             * @description 10 by default.
             */
            turnsPerMinute?: number | null;
        };
        /** @description Limits for each end user. */
        EndUsersView: {
            answerApprovals: boolean;
            /** Format: int32 */
            openThreads: number;
            /** Format: int64 */
            tokensPerDay: number;
            /** Format: int32 */
            turnsPerMinute: number;
        };
        /** @description The number of ended logins. */
        EndedLoginsView: {
            /**
             * Format: int64
             * @description Logins that were valid before: CLI logins and browser sessions.
             */
            endedLogins: number;
        };
        /** @description A relation that has ended, and what ended with it. */
        EndedRelationView: {
            /**
             * Format: int64
             * @description Calls of tools that the user's devices had not received. Their content was removed.
             */
            ended_calls: number;
            /** @description The scopes that were granted. Empty if the relation had ended before. */
            ended_scopes: string[];
            relation: components["schemas"]["RelationView"];
        };
        /** @description Last probe of PostgreSQL or NATS. */
        EngineView: {
            /**
             * Format: date-time
             * @description Time of the last probe.
             */
            observedAt?: string | null;
            reachable: boolean;
        };
        EnrolmentView: {
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            /**
             * Format: date-time
             * @description With a precision of one minute.
             */
            lastUsedAt?: string | null;
            name: string;
            profile?: string | null;
            /** Format: date-time */
            revokedAt?: string | null;
        };
        /** @description Enrolment tokens, newest first, at most 1000. */
        EnrolmentsView: {
            enrolments: components["schemas"]["EnrolmentView"][];
        };
        /** @description Confirms that the content of an event was erased. */
        ErasedEventView: {
            /** @description Always true. */
            erased: boolean;
            runId: string;
            /** Format: int64 */
            seq: number;
        };
        /** @description An event of a run. */
        ErrorEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ErrorPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "error";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description An error that did not end the turn. */
        ErrorPayload: {
            /** @example provider-unavailable */
            failureKind?: string;
            message?: string;
        };
        EventsView: {
            events: components["schemas"]["RunEvent"][];
            hasMore: boolean;
            /**
             * Format: int64
             * @description The last sequence number of the run.
             */
            lastSeq: number;
            /**
             * Format: int64
             * @description The `afterSeq` of the next page.
             */
            nextAfterSeq: number;
            runId?: string | null;
        };
        /** @description A handoff code from the browser redirect, and the verifier that proves its owner. */
        ExchangeHandoff: {
            /** Format: password */
            code: string;
            /**
             * Format: password
             * @description The PKCE verifier of the challenge that started the sign-in.
             */
            verifier: string;
        };
        /**
         * @description The execution policy that a run requests. It can be narrower than the tenant's policy, but not wider. Omitted values
         *     and null are filled in: sandbox `workspace-write` and network `disabled`, or less if the tenant's policy is narrower;
         *     approval and timeout from the tenant's policy; no secrets.
         */
        ExecutionPolicyRequest: {
            approval?: components["schemas"]["ApprovalPolicy"] | null;
            network?: components["schemas"]["NetworkPolicy"] | null;
            sandbox?: components["schemas"]["SandboxPolicy"] | null;
            secretScope?: components["schemas"]["SecretScopeRequest"] | null;
            /**
             * Format: int64
             * @description Maximum duration of a turn: 1 second to 7 days.
             * @example 1800000
             */
            timeoutMs?: number | null;
        };
        /** @description The execution policy of a run: requested values, and those that were filled in. */
        ExecutionPolicyView: {
            approval: components["schemas"]["ApprovalPolicy"];
            network: components["schemas"]["NetworkPolicy"];
            sandbox: components["schemas"]["SandboxPolicy"];
            secretScope: components["schemas"]["SecretScopeView"];
            /**
             * Format: int64
             * @description Maximum duration of a turn.
             * @example 1800000
             */
            timeoutMs: number;
        };
        /** @description The last failed attempt to send an event. */
        FailedDeliveryView: {
            /** Format: date-time */
            at: string;
            /**
             * Format: int32
             * @description Number of the attempt, from 1.
             */
            attempt: number;
            eventId: string;
            /** @description Whether the event is not sent again. */
            isFinal: boolean;
            message: string;
        };
        /** @description A change of one file. */
        FileChangeBody: {
            path: string;
            /** @description The diff, or the new text. */
            text: string;
        };
        /** @description The message selected as the reply, and how it was selected. */
        FinalResponseView: {
            final: boolean;
            outputTruncated: boolean;
            replyAuthority: boolean;
            /** Format: int64 */
            seq: number;
            /**
             * @description authority (the backend marked it as the reply) or fallback (the last message with text).
             * @example authority
             */
            source: string;
            /** @description Null if erased. */
            text?: string | null;
            textTruncated: boolean;
        };
        /** @description The mode of the run and the time of the device. Nothing else is allowed, and these names have one spelling. */
        ForwardedProps: {
            client_time?: components["schemas"]["ClientTimeBody"] | null;
            runtime_mode: components["schemas"]["RuntimeModeBody"];
        };
        /** @description A gateway. */
        GatewayView: {
            /**
             * Format: int32
             * @description Clients try the smallest number first.
             */
            priority: number;
            /** @example wss://gateway.guild.example/aun */
            url: string;
        };
        /** @description The gateways of an issuer, at which clients open the socket. */
        GatewaysView: {
            gateways: components["schemas"]["GatewayView"][];
        };
        /** @description Some directories of a checkout, each copied to a path in the workspace. The source is as in a `git` workspace. */
        GitBundleWorkspace: {
            bundles: components["schemas"]["WorkspaceBundle"][];
            /** @description A full commit id. */
            commitId?: string | null;
            /** @enum {string} */
            kind: "gitbundle";
            /** @description Path of the repository on the runner's machine. */
            path?: string | null;
            /**
             * @description A branch or tag. By default the head of the default branch.
             * @example main
             */
            ref?: string | null;
            /**
             * @description URL of the repository, https or ssh, or `git@host:path`, without a credential.
             * @example https://git.example.org/acme/web.git
             */
            repoUrl?: string | null;
        };
        /** @description A stored credential, without its value. */
        GitCredentialView: {
            /** @example git.example.org */
            host: string;
            /**
             * @description token or ssh-key.
             * @example token
             */
            kind: string;
            /** @description The last digits of the SHA-256 of the value. */
            sha256Suffix: string;
            /** Format: date-time */
            updatedAt: string;
        };
        /** @description The credentials of a tenant. */
        GitCredentialsView: {
            credentials: components["schemas"]["GitCredentialView"][];
        };
        /** @description A checkout of a Git repository. It has either `repoUrl` or `path`, and at most one of `ref` and `commitId`. */
        GitWorkspace: {
            /** @description A full commit id. */
            commitId?: string | null;
            /** @enum {string} */
            kind: "git";
            /** @description Path of the repository on the runner's machine. */
            path?: string | null;
            /**
             * @description A branch or tag. By default the head of the default branch.
             * @example main
             */
            ref?: string | null;
            /**
             * @description URL of the repository, https or ssh, or `git@host:path`, without a credential.
             * @example https://git.example.org/acme/web.git
             */
            repoUrl?: string | null;
        };
        /** @description The result of a claim or of a lease renewal. */
        GrantView: {
            /**
             * @description The directories that the tenant may use now: names, `*`, or prefixes followed by `*`. Present where the workspace is
             *     a path on the runner's machine. The runner must not use another directory, also after resolving symbolic links.
             */
            directories?: string[] | null;
            /** Format: int64 */
            epoch: number;
            /** @description What the agent of the run is told before its first turn. Present in the grant of a claim, not of a renewal. */
            instructions?: string | null;
            /** Format: date-time */
            leaseExpiresAt: string;
            /**
             * Format: int64
             * @description Duration of the lease without renewal. Stop the backend before it expires.
             */
            leaseMs: number;
            /** @description The lost runner that held the run before, if any. */
            recoveredFrom?: string | null;
            run: components["schemas"]["RunView"];
            /** @description Token for this run and this epoch only. */
            runToken: string;
            runnerId: string;
            setup?: components["schemas"]["ProjectSetupView"] | null;
            /** @description State of the session's storage: none, directory or evicted. */
            storageKind?: string;
            /** @description The backend's thread to resume; null to start a new one. */
            threadId?: string | null;
            /** Format: date-time */
            tokenExpiresAt: string;
        };
        /** @description Health of the whole installation, read from PostgreSQL for this response. */
        HealthView: {
            build: components["schemas"]["BuildView"];
            /** @description The replica that responded. */
            replica: string;
            /** @description The active server processes of this database. */
            replicas: components["schemas"]["ReplicaView"][];
            /** @example guildhall */
            serviceId: string;
            /**
             * @description ready, degraded or unready: the readiness of the replica that responded.
             * @example ready
             */
            status: string;
        };
        /** @description The last heartbeat of a runner. Appended events count as heartbeats. */
        HeartbeatView: {
            /** Format: int64 */
            ageMs: number;
            /**
             * Format: date-time
             * @description When the lease was last renewed.
             */
            lastAt: string;
            /** @description Whether the lease has expired. */
            stale: boolean;
        };
        /** @description An image of a user message. */
        HistoryAttachment: {
            /** @example image/png */
            mimeType: string;
            /** @description A signed URL. */
            url: string;
        };
        /** @description A message of the history, by `role`. */
        HistoryMessage: components["schemas"]["HistoryMessageUser"] | components["schemas"]["HistoryMessageAssistant"];
        /** @description A reply of the agent. */
        HistoryMessageAssistant: {
            content: string;
            id: string;
            /** @enum {string} */
            role: "assistant";
            /**
             * Format: int64
             * @description Position in the thread, from 1.
             */
            seq: number;
            /** Format: date-time */
            timestamp: string;
            ui_schema?: components["schemas"]["UiSchemaRenderer"] | null;
        };
        /** @description A message of the user. */
        HistoryMessageUser: {
            attachments: components["schemas"]["HistoryAttachment"][];
            content: string;
            id: string;
            /** @enum {string} */
            role: "user";
            /**
             * Format: int64
             * @description Position in the thread, from 1.
             */
            seq: number;
            /** Format: date-time */
            timestamp: string;
        };
        /**
         * @description What a snapshot covers: always one day.
         * @enum {string}
         */
        HistoryScope: "history_day";
        /** @description The messages of one day. */
        HistorySnapshotResponse: {
            /**
             * Format: date
             * @description The day, in UTC; null if there is no message. It is the `before` of the next older page.
             * @example 2026-03-15
             */
            day?: string | null;
            /** @description Whether there are messages of earlier days. */
            hasMore: boolean;
            /** @description Oldest first. */
            messages: components["schemas"]["HistoryMessage"][];
            scope: components["schemas"]["HistoryScope"];
            /**
             * @description Null if there is no thread.
             * @example 550e8400-e29b-41d4-a716-446655440000
             */
            threadId?: string | null;
        };
        /** @description A background task. */
        HousekeepingView: {
            /** Format: int64 */
            everyMs: number;
            lastError?: string | null;
            /** Format: date-time */
            lastRunAt?: string | null;
            /** Format: date-time */
            lastSuccessAt?: string | null;
            late: boolean;
            name: string;
            /** Format: date-time */
            nextRunAt: string;
        };
        /**
         * Format: binary
         * @description The bytes of an image.
         */
        ImageBytes: string;
        /** @description A proof that an entry is in a log of a size. */
        InclusionProofView: {
            /** @description From the leaf to the root. */
            hashes: string[];
            leaf_hash: string;
            /** Format: int64 */
            leaf_index: number;
            /** Format: int64 */
            tree_size: number;
        };
        InvitationView: {
            /** Format: date-time */
            acceptedAt?: string | null;
            acceptedBy?: string | null;
            /** Format: date-time */
            createdAt: string;
            /** @description The note of the inviter. */
            email?: string | null;
            /** Format: date-time */
            expiresAt: string;
            id: string;
            invitedBy: string;
            /** Format: date-time */
            revokedAt?: string | null;
            role: string;
        };
        InvitationsView: {
            invitations: components["schemas"]["InvitationView"][];
        };
        /** @description Location of the log, for operators of the server. */
        JobLogView: {
            /** @description Null until a launcher has started the job. */
            identity?: string | null;
            /**
             * @description file: a file below the state directory of the launcher.
             * @example file
             */
            kind: string;
        };
        /** @description Terminal state of a process. */
        JobTerminalView: {
            /** Format: int32 */
            exitCode?: number | null;
            message?: string | null;
            /** @description succeeded, failed or lost. */
            status: string;
        };
        KeyView: {
            /** Format: date-time */
            createdAt: string;
            id: string;
            /**
             * Format: date-time
             * @description With a precision of one minute.
             */
            lastUsedAt?: string | null;
            name: string;
            /** Format: date-time */
            revokedAt?: string | null;
        };
        KeysView: {
            keys: components["schemas"]["KeyView"][];
        };
        LeaseChangedView: {
            grant?: components["schemas"]["GrantView"] | null;
            released: boolean;
        };
        /** @description The lease of a run: its holder and its expiry. */
        LeaseView: {
            /**
             * @description The attempt of the runner job that started the runner, or else one of its own.
             * @example atp_01920000000070008000000000000000
             */
            attemptId?: string | null;
            /** Format: int64 */
            epoch: number;
            /** Format: date-time */
            expiresAt: string;
            runnerId: string;
        };
        /** @description The process is running and responds. */
        LiveView: {
            build: components["schemas"]["BuildView"];
            /** @example guildhall */
            serviceId: string;
            /** @example live */
            status: string;
        };
        /** @description Liveness of a run or command: what it waits for, what happens next and what you can do. Computed on request. */
        LivenessView: {
            active: boolean;
            heartbeat?: components["schemas"]["HeartbeatView"] | null;
            lastCommandActivity?: components["schemas"]["CommandActivityView"] | null;
            /**
             * Format: int64
             * @description Age of the last event of the run. Only in results.
             */
            lastEventAgeMs?: number | null;
            /** Format: int64 */
            lastSeq: number;
            lease?: components["schemas"]["LeaseView"] | null;
            /** @description The next automatic step. */
            nextStep: string;
            /** Format: date-time */
            nextStepAt?: string | null;
            /**
             * @description waiting-runner, waiting-model, waiting-tool, waiting-approval, idle-after-tool, transport-disconnected,
             *     runner-heartbeat-stale, idle or terminal.
             * @example waiting-runner
             */
            phase: string;
            /** @description Actions that you can take now. */
            recoveryActions: components["schemas"]["ActionView"][];
            /** @description A summary in one sentence, for people. */
            sentence: string;
        };
        /** @description Entries by index. */
        LogEntriesView: {
            entries: components["schemas"]["LogEntryView"][];
        };
        /** @description An entry of the log: a certificate, or a published version of the manifest of an agent. */
        LogEntryView: {
            /** @description Of a manifest. */
            agent_id?: string | null;
            /**
             * @description Of a certificate.
             * @example alice.guild.example
             */
            aid?: string | null;
            /** @description SHA-256 of the certificate. */
            cert_sha256?: string | null;
            /** @description The certificate in PEM. */
            certificate?: string | null;
            /**
             * @description `certificate` or `agent_manifest`.
             * @example certificate
             */
            entry_type: string;
            /** @example guild.example */
            issuer: string;
            /** @description SHA-256 of `MerkleTreeLeaf` of RFC 6962, after a zero byte. */
            leaf_hash: string;
            /**
             * Format: int64
             * @description The index in the log, from 0.
             */
            log_id: number;
            /** @description SHA-256 of the canonical JSON of the manifest. */
            manifest_hash?: string | null;
            /**
             * Format: int64
             * @description Of a manifest.
             */
            manifest_version?: number | null;
            /** @description Of a certificate, in hexadecimal digits. */
            serial?: string | null;
            /**
             * Format: int64
             * @description When it was logged, in milliseconds since 1970. The leaf contains it.
             */
            timestamp: number;
        };
        /** @description A version of the manifest of an agent. Versions never change. */
        ManifestVersionView: {
            /** @description Absent in lists. */
            capabilityManifest?: Record<string, unknown> | null;
            /**
             * @description What users had to know about it: `silent`, `notify` or `re-consent`. Null for the first one.
             * @example notify
             */
            consent?: string | null;
            /**
             * @description Whether it broke the contract of the version before: `compatible` or `breaking`. Null for the first one.
             * @example compatible
             */
            contract?: string | null;
            /** Format: date-time */
            createdAt: string;
            /** @description SHA-256 of the canonical JSON (RFC 8785), in hexadecimal digits. */
            hash: string;
            /**
             * Format: int64
             * @description Index of its entry in the transparency log. Null: it was never published.
             */
            logId?: number | null;
            /**
             * Format: int64
             * @description From 1, without gaps.
             */
            version: number;
        };
        /** @description Versions, newest first. */
        ManifestVersionsView: {
            versions: components["schemas"]["ManifestVersionView"][];
        };
        /** @description The read position of a reader. */
        MarkRead: {
            readerId?: string;
            /**
             * Format: int64
             * @description The read version. Defaults to the current version.
             */
            version?: number | null;
        };
        /** @description Confirms that a member was removed. */
        MemberRemovalView: {
            principal: string;
            /** @description Always true. */
            removed: boolean;
        };
        /** @description The role of a member after a change. */
        MemberRoleView: {
            principal: string;
            /**
             * @description owner, operator, developer or viewer.
             * @example developer
             */
            role: string;
        };
        MemberView: {
            name: string;
            principal: string;
            role: string;
        };
        MembersView: {
            members: components["schemas"]["MemberView"][];
        };
        /** @description A tenant and the caller's role in it. */
        MembershipView: {
            /**
             * @description owner, operator, developer or viewer.
             * @example owner
             */
            role: string;
            tenant: components["schemas"]["TenantView"];
        };
        /** @description An image of a message. */
        MessageAttachment: {
            /** @description Attachment id. */
            id: string;
            /** @example image/png */
            mimeType: string;
        };
        /** @description Schema version of the database. */
        MigrationsView: {
            /**
             * Format: int64
             * @description The highest migration known to this server.
             */
            known: number;
            ready: boolean;
        };
        /** @description The external subject to issue a token for: an end user of an application. */
        MintSubjectToken: {
            /**
             * @description Id or slug of an agent of the tenant that the user may talk to.
             * @example helper
             */
            agentId?: string | null;
            /** @description Display name, stored with the first token of a subject. Defaults to the subject. */
            name?: string | null;
            /**
             * @description The application's permanent id of the user. An opaque string, compared exactly.
             * @example user-4711
             */
            subject: string;
        };
        /**
         * @description Hosts that the agent and its commands reach, from the narrowest to the widest. `disabled`: only the model provider;
         *     `allow-list`: also the hosts that the operator lists; `enabled`: also every host with a public address.
         * @enum {string}
         */
        NetworkPolicy: "disabled" | "allow-list" | "enabled";
        /** @description A created enrolment token. */
        NewEnrolmentView: {
            /** @example enr_01920000000070008000000000000000 */
            id: string;
            /**
             * @description The secret. Runners send it as `Authorization: Bearer …`. Returned once; null in an idempotent replay of the
             *     request.
             */
            secret?: string | null;
        };
        NewEvent: {
            commandId?: string | null;
            /** @description Id chosen by the runner. Use the same id when the event is sent again. */
            id: string;
            payload?: Record<string, unknown>;
            /** @example assistant_message */
            type: string;
        };
        /** @description A created invitation. */
        NewInvitationView: {
            /** @example inv_01920000000070008000000000000000 */
            id: string;
            /** @description The secret that accepts the invitation once. Returned once; null in an idempotent replay of the request. */
            secret?: string | null;
        };
        /** @description A created service key. */
        NewKeyView: {
            /** @example key_01920000000070008000000000000000 */
            id: string;
            /** @description The secret. Returned once; null in an idempotent replay of the request. */
            secret?: string | null;
        };
        /** @description A created webhook. */
        NewWebhookView: {
            /** @example whk_01920000000070008000000000000000 */
            id: string;
            /** @description The signing secret. Returned once; null in an idempotent replay of the request. */
            secret?: string | null;
        };
        /** @description A notice about the stream itself. */
        Notice: components["schemas"]["HelloNotice"] | components["schemas"]["ReplayCompleteNotice"] | components["schemas"]["GapNotice"] | components["schemas"]["SlowClientWarningNotice"] | components["schemas"]["ClientEvictedNotice"] | components["schemas"]["ClosedNotice"];
        /** @description The state of a certificate, as the clients of AUN read it. */
        OcspView: {
            /** @description An OCSP response in base64, signed by the issuer. It says the same. */
            ocsp_response: string;
            /** @description `good`, `revoked` or `unknown`. */
            status: string;
        };
        /** @description An option of an answer. It lasts once. */
        OptionBody: {
            /** @description Whether it also changes the mode of the agent's session. */
            changesMode?: boolean;
            /**
             * @description allow, deny or answer.
             * @example allow
             */
            effect: string;
            /** @example accept */
            id: string;
            label: string;
        };
        /** @description An event of a run. */
        OtherEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: Record<string, unknown> | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            type: string;
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description The enrolment of the calling runner. */
        OwnEnrolmentView: {
            /** Format: date-time */
            expiresAt: string;
            /** @example enr_01920000000070008000000000000000 */
            id: string;
            profile?: string | null;
            /** @description The only run that can be claimed, if restricted to one. */
            run?: string | null;
            /** @description The tenant whose runs can be claimed; null for the installation pool. */
            tenant?: string | null;
        };
        /** @description The grant of a run token. It does not prove that the lease is still valid. */
        OwnGrantView: {
            /**
             * Format: int64
             * @description The lease epoch. Writes with an epoch other than the current one of the run are rejected.
             */
            epoch: number;
            /**
             * Format: date-time
             * @description When the token expires.
             */
            expiresAt: string;
            /** @example run_01920000000070008000000000000000 */
            run: string;
            runner: string;
            tenant: string;
        };
        /**
         * @description Who answers the permission requests of agents.
         * @enum {string}
         */
        PermissionPolicy: "first-responder" | "designated" | "consensus" | "local-only";
        /** @description How turns are done: a router picks a worker for each message. At most 64 KiB. */
        PipelineBody: {
            /** @description What the agent is told with each turn. */
            context?: components["schemas"]["ContextEntryBody"][];
            /** @description Tools that the agent may ask to use. A question about another tool is denied without asking people. Omitted: all. */
            enabledTools?: string[];
            /** @description At most 16, each with a name of its own. */
            workers?: components["schemas"]["WorkerBody"][];
        };
        /** @description Policies of the server. */
        PolicyView: {
            permission: components["schemas"]["PermissionPolicy"];
        };
        /** @description A scope whose texts and sensitivity the platform defines. */
        PresetScopeView: {
            description: components["schemas"]["TextsView"];
            /** @example filesystem:read */
            id: string;
            label: components["schemas"]["TextsView"];
            /**
             * @description `low`, `medium` or `high`.
             * @example medium
             */
            sensitivity: string;
        };
        /** @description The preset scopes. */
        PresetScopesView: {
            scopes: components["schemas"]["PresetScopeView"][];
        };
        /** @description A failure: the members of RFC 9457, plus additional members for clients. */
        Problem: {
            /** @description Description of this failure. */
            detail: string;
            /** @description Everything that is wrong with a document in the body. Absent elsewhere. */
            errors?: components["schemas"]["ProblemError"][];
            /**
             * @description The failure kind. Stable: use it to distinguish failures.
             * @example not-found
             */
            failureKind: string;
            /** @description Same as `detail`. */
            message: string;
            /**
             * @description Whether the request can be retried: never, later or after-change.
             * @example never
             */
            retry: string;
            /**
             * Format: int64
             * @description Minimum time before a retry, in milliseconds. Absent if unknown.
             */
            retryAfterMs?: number | null;
            /** Format: int32 */
            status: number;
            /** @description Meaning of the failure kind. The same for every failure of this kind. */
            title: string;
            /**
             * @description Trace id of the request in logs and traces.
             * @example 4bf92f3577b34da6a3ce929d0e0e4736
             */
            traceId: string;
            /**
             * @description URN of the failure kind.
             * @example urn:guildhall:error:not-found
             */
            type: string;
        };
        /** @description One error in a document of the body. */
        ProblemError: {
            message: string;
            /**
             * @description JSON pointer (RFC 6901) to the place in the document; empty for the whole.
             * @example /tools/0/name
             */
            pointer: string;
            /**
             * @description The broken rule. Stable.
             * @example tool-name
             */
            rule: string;
        };
        /** @description A provider profile, without its credential. */
        ProfileView: {
            /**
             * @description The program of the agent.
             * @example codex
             */
            agent?: string | null;
            /** @description codex, acp or script; null if nothing is stored and no template has this name. */
            backend?: string | null;
            /** @description URL of the provider that receives the credential. */
            baseUrl?: string | null;
            builtIn: boolean;
            /** @description Whether everything that a run needs is configured. */
            configured: boolean;
            /** @description secret-unavailable if it is not configured. */
            failureKind?: string | null;
            /** @description Last digits of the credential's SHA-256 hash, to distinguish credentials. */
            hashSuffix?: string | null;
            lastValidation?: components["schemas"]["ValidationView"] | null;
            model?: string | null;
            /** @example codex */
            profile: string;
            /** @description Version of the stored profile. Changes with every update. */
            resourceVersion?: string | null;
            /**
             * @description tenant (defined by the tenant), shared (defined by the operator for all tenants) or none (not stored).
             * @example tenant
             */
            scope: string;
            secretRef: components["schemas"]["SecretRefView"];
            /** Format: date-time */
            updatedAt?: string | null;
            /** @description responses or chat. */
            wireApi?: string | null;
        };
        ProfilesView: {
            profiles: components["schemas"]["ProfileView"][];
        };
        /** @description A shell command that prepares the workspace of a run before its agent starts. */
        ProjectSetupView: {
            /**
             * @description The hosts that the command may reach.
             * @example [
             *       "packages.example.com"
             *     ]
             */
            allowedHosts: string[];
            /**
             * @description The files in the workspace whose content makes the key of the cache.
             * @example [
             *       "package-lock.json"
             *     ]
             */
            cacheFiles: string[];
            /** @example npm ci */
            command: string;
        };
        ProjectView: {
            /** Format: date-time */
            createdAt: string;
            /** @example prj_01920000000070008000000000000000 */
            id: string;
            name: string;
            setup?: components["schemas"]["ProjectSetupView"] | null;
            slug: string;
        };
        /** @description Projects sorted by slug, at most 1000. */
        ProjectsView: {
            projects: components["schemas"]["ProjectView"][];
        };
        /** @description Protocol versions. */
        ProtocolView: {
            /** @example v1 */
            current: string;
            supported: string[];
        };
        /** @description What everybody may read about a published agent. Names of fields have underscores, as in the specification of manifests. */
        PublishedAgentView: {
            capability_manifest: Record<string, unknown>;
            /** @description SHA-256 of the canonical JSON (RFC 8785), in hexadecimal digits. */
            capability_manifest_hash: string;
            /** Format: int64 */
            capability_manifest_version: number;
            /** @example agt_01920000000070008000000000000000 */
            id: string;
            /**
             * Format: int64
             * @description Index of the entry of this version in the transparency log.
             */
            log_id: number;
            name: string;
        };
        /** @description The AID of an agent that runs elsewhere. */
        PutAgentAid: {
            /**
             * @description An AID that you own.
             * @example helper.guild.example
             */
            aid: string;
        };
        /** @description An inbox to set up. */
        PutAgentInbox: {
            /**
             * @description Name of the agent's AID; the slug of the agent without it. It cannot be changed later.
             * @example helper
             */
            name?: string | null;
            /**
             * @description Whose messages start work: `members` of the tenant who may start runs, the default, or `anyone`.
             * @example members
             */
            senders?: string | null;
        };
        /** @description A part of a bundle. */
        PutBundlePart: {
            /** @description 1 MiB before the encoding; the last part has the rest. */
            content: components["schemas"]["Base64Bytes"];
        };
        /** @description A credential and its settings. Omitted settings are unchanged, or those of the template. It has no `Debug`, so that it is never logged. */
        PutCredential: {
            /**
             * @description URL of the provider: https, without user or query.
             * @example https://api.example.org/v1
             */
            baseUrl?: string | null;
            /**
             * Format: password
             * @description The provider's API key. Never returned.
             */
            credential: string;
            model?: string | null;
            /**
             * @description Name of a template: the agent and its provider. By default the stored settings, or else the template with the name
             *     of the profile.
             * @example codex
             */
            template?: string | null;
            /** @description responses or chat. */
            wireApi?: string | null;
        };
        /** @description The changes of a workspace after a command. */
        PutDiff: {
            /** @example cmd_01920000000070008000000000000000 */
            commandId: string;
            /** @description A binary diff for `git apply`, at most 1 MiB before the encoding. */
            diff: components["schemas"]["Base64Bytes"];
        };
        /** @description A credential to store. */
        PutGitCredential: {
            /** @description `TOKEN` or `USER:TOKEN`, or a private SSH key without a passphrase. */
            credential: string;
        };
        /** @description A question with everything that is shown to those who answer. */
        QuestionBody: {
            action: components["schemas"]["ActionBody"];
            /**
             * @description For questions with an option of the effect answer: the JSON schema of its values, in the form that MCP allows for
             *     elicitation. `writeOnly` marks a secret, and `examples` suggests texts.
             */
            answerSchema?: Record<string, unknown> | null;
            options: components["schemas"]["OptionBody"][];
            /** @description The words of the agent. */
            reason?: string | null;
        };
        /** @description The reasons of a readiness status, and what it was computed from. */
        ReadinessDetailsView: {
            build?: components["schemas"]["BuildView"];
            housekeeping?: components["schemas"]["HousekeepingView"][];
            migrations?: components["schemas"]["MigrationsView"];
            nats?: components["schemas"]["EngineView"];
            postgres?: components["schemas"]["EngineView"];
            /** @description The reasons for a status other than ready. */
            reasons?: string[];
            /** @description The replica that responded. */
            replica?: string;
            /**
             * @description The secret settings of this server and the secrets of shared provider profiles: whether each is set, without
             *     its value.
             */
            secrets?: components["schemas"]["SecretView"][];
            /** @example guildhall */
            serviceId?: string;
            /** Format: date-time */
            startedAt?: string;
        };
        /** @description Readiness of a replica. */
        ReadinessView: (components["schemas"]["ReadinessDetailsView"] | null) & {
            /** @description The failure kind, if unready. */
            failureKind?: string | null;
            /** @description The first reason, if unready. */
            message?: string | null;
            /**
             * @description ready, degraded (serves requests but needs attention) or unready.
             * @example ready
             */
            status: string;
            /** @description Trace id of the request in logs and traces, if unready. */
            traceId?: string | null;
        };
        /** @description An event of a run. */
        ReasoningDeltaEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ReasoningDeltaPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "reasoning_delta";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A chunk of the agent's reasoning in progress. The complete text follows. */
        ReasoningDeltaPayload: {
            /** @description The text that the chunk belongs to. */
            itemId?: string;
            text?: string;
        };
        /** @description An event of a run. */
        ReasoningEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ReasoningPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "reasoning";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A complete text of the agent's reasoning. */
        ReasoningPayload: {
            itemId?: string;
            text?: string;
            textTruncated?: boolean;
        };
        /** @description A refresh token to exchange. */
        Refresh: {
            /** Format: password */
            refreshToken: string;
        };
        /** @description Summary of a session's storage, reported by its runner. */
        RefreshStorage: {
            /** Format: int64 */
            filesCount: number;
            /** @description Hash of names, sizes and contents, in order. */
            sha256: string;
            /** Format: int64 */
            sizeBytes: number;
        };
        /** @description A runner to register. */
        RegisterRunner: {
            /** @description The backend profiles that it can serve. */
            backendProfiles?: string[];
            name: string;
            /** @description Where the runner runs, for people. */
            placement?: Record<string, unknown>;
        };
        /** @description An entry of the history of a relation. */
        RelationChangeView: {
            /**
             * @description The person who did it.
             * @example prn_01920000000070008000000000000000
             */
            actor: string;
            /** Format: date-time */
            changed_at: string;
            /** @description What was granted from then on. */
            granted_scopes: string[];
            /**
             * @description `granted`, `changed`, `reconsented` or `revoked`.
             * @example granted
             */
            kind: string;
            manifest_hash: string;
            /** Format: int64 */
            manifest_version: number;
            /**
             * Format: int32
             * @description From 1, without gaps.
             */
            number: number;
        };
        /** @description An event in the stream of a user's relations. */
        RelationEventView: {
            /** @description The same members as in the event of the socket. */
            payload: Record<string, unknown>;
            /**
             * @description `h2a.relation_changed`, `h2a.reauth_required` or `h2a.manifest_updated`.
             * @example h2a.relation_changed
             */
            type: string;
            /**
             * Format: int32
             * @description Always 1.
             */
            v: number;
        };
        /** @description Entries of a history, newest first. */
        RelationHistoryView: {
            changes: components["schemas"]["RelationChangeView"][];
        };
        /** @description What a user has granted to an agent. */
        RelationView: {
            /**
             * @description The AID with which the agent speaks. Null: it has none.
             * @example helper.guild.example
             */
            agent_aid?: string | null;
            /** @example agt_01920000000070008000000000000000 */
            agent_id: string;
            agent_name: string;
            /** Format: date-time */
            changed_at: string;
            /** Format: date-time */
            created_at: string;
            current_manifest_hash?: string | null;
            /**
             * Format: int64
             * @description The current manifest of the agent. Null: the agent is not published any more.
             */
            current_manifest_version?: number | null;
            /** Format: date-time */
            ended_at?: string | null;
            granted_scopes: string[];
            /** @example rel_01920000000070008000000000000000 */
            id: string;
            manifest_hash: string;
            /**
             * Format: int64
             * @description The manifest that the user agreed to.
             */
            manifest_version: number;
            /** @description Scopes that changed since the consent. What changed does not work until the user has agreed again. */
            scopes_requiring_reauth: string[];
            /**
             * @description `active` or `ended`.
             * @example active
             */
            status: string;
            /** @description Tools that do not work until then. */
            tools_requiring_reauth: string[];
        };
        /** @description Relations, the oldest first. */
        RelationsView: {
            /** @description Query parameter for the next page. Null: this is the last one. */
            next_cursor?: string | null;
            relations: components["schemas"]["RelationView"][];
        };
        /** @description A server process. */
        ReplicaView: {
            id: string;
            /** Format: date-time */
            seenAt: string;
            /** Format: date-time */
            startedAt: string;
            version: string;
        };
        /** @description What the receiver has answered. */
        ReportEvent: {
            claim: string;
            /** Format: int64 */
            durationMs: number;
            eventId: string;
            /**
             * Format: int32
             * @description None if the receiver could not be reached.
             */
            status?: number | null;
        };
        /** @description Confirms a report. */
        ReportedEventView: {
            eventId: string;
        };
        /** @description Which events to send again: one, or those of a window. */
        ResendEvents: {
            /**
             * @description One event, whatever its state. Without a window only.
             * @example evt_01920000000070008000000000000000
             */
            eventId?: string | null;
            /**
             * @description Which events of the window: `failed`, those that the receiver has not accepted (the default), or `all`.
             * @example failed
             */
            only?: string | null;
            /**
             * Format: date-time
             * @description Events that were created at this time or later.
             */
            since?: string | null;
            /**
             * Format: date-time
             * @description Events that were created before this time; all later ones without it.
             */
            until?: string | null;
        };
        /** @description How many events are sent again. */
        ResentView: {
            /**
             * Format: int32
             * @description At most 10,000, the oldest ones.
             */
            events: number;
        };
        ReservationView: {
            /** @example 192.0.2.7 */
            address: string;
            /** @example alice.guild.example */
            aid: string;
            /** Format: date-time */
            expiresAt: string;
            /** @description The user that the AID will belong to; null: a principal of its own. */
            owner?: string | null;
        };
        /** @description A name that one address may register. */
        ReserveAid: {
            /**
             * @description The address of the client that will register it.
             * @example 192.0.2.7
             */
            address: string;
            /**
             * @description The name before the issuer. Some names are reserved.
             * @example alice
             */
            name: string;
            /**
             * @description The user that the AID will belong to (principal id): whoever registers it acts for this user. Without it, the AID belongs to a
             *     principal of its own, which has no rights.
             * @example prn_01920000000070008000000000000000
             */
            owner?: string | null;
        };
        /** @description A new password for another user. It has no `Debug`, so that it is never logged. */
        ResetPassword: {
            /**
             * Format: password
             * @description At least 12 characters.
             */
            password: string;
        };
        /** @description The restrictions of a tenant. */
        RestrictionsView: {
            approval?: string | null;
            directories?: string[] | null;
            network?: string | null;
            profiles?: string[] | null;
            projects?: string[] | null;
            providers?: string[] | null;
            sandbox?: string | null;
            /** Format: int64 */
            timeoutMs?: number | null;
            traceSinks?: string[] | null;
        };
        /** @description The result of a command, or of a run without commands. Its cost does not depend on the length of the run. */
        ResultView: {
            artifactSummary: components["schemas"]["ArtifactSummaryView"];
            /**
             * @description The attempt that runs or ran the command. Equal to the `attemptId` of the runner job that started the runner.
             * @example atp_01920000000070008000000000000000
             */
            attemptId?: string | null;
            blocker?: string | null;
            commandId?: string | null;
            /** @description True only for the terminal status `completed`. */
            completed: boolean;
            /** Format: int64 */
            eventCount: number;
            /** @description Whether events were omitted. Always false, because events are counted when they are appended. */
            eventsCapped: boolean;
            failureKind?: string | null;
            finalAssistantOutputTruncated: boolean;
            /** Format: int64 */
            finalAssistantSeq?: number | null;
            finalAssistantSource?: string | null;
            finalAssistantTextTruncated: boolean;
            finalResponse?: components["schemas"]["FinalResponseView"] | null;
            /** Format: int64 */
            lastSeq: number;
            liveness: components["schemas"]["LivenessView"];
            /** Format: int64 */
            nextAfterSeq: number;
            /** @description The reply of the agent; null until completed. */
            reply?: string | null;
            runId: string;
            /** Format: int64 */
            scopedEventCount: number;
            /** Format: int64 */
            scopedLastSeq: number;
            sessionId: string;
            status: string;
            steerDelivery?: components["schemas"]["SteerDeliveryView"] | null;
            /** @description Source of the terminal status: terminal_status (an event), record or none. */
            terminalSource: string;
            terminalStatus?: string | null;
            toolCallSummary: components["schemas"]["ToolCallSummaryView"];
            usage: components["schemas"]["UsageView"];
        };
        /** @description What would be erased now. */
        RetentionPlanView: {
            technical: components["schemas"]["TechnicalPlanView"];
            tenants: components["schemas"]["TenantPlanView"][];
        };
        /** @description The retention of a tenant. */
        RetentionView: {
            /**
             * Format: int32
             * @description Null if the tenant keeps its history for good.
             */
            historyDays?: number | null;
            tenantId: string;
        };
        /** @description A revocation list, as the clients of AUN read it. */
        RevocationListView: {
            /** @description An X.509 revocation list in PEM, signed by the issuer. */
            crl_pem: string;
        };
        /** @description Confirms that a credential was revoked. */
        RevocationView: {
            /**
             * @description Id of the revoked key, enrolment or invitation.
             * @example key_01920000000070008000000000000000
             */
            id: string;
            /** @description Always true. */
            revoked: boolean;
        };
        /** @description Why the key of an AID is revoked. */
        RevokeAid: {
            /** @description `unspecified`, `key_compromise`, `superseded` or `cessation_of_operation`. */
            reason: string;
        };
        /** @description The new signing secret of a webhook. */
        RotatedWebhookView: {
            id: string;
            /**
             * Format: date-time
             * @description Until then, the previous secret signs too.
             */
            previousSecretEndsAt: string;
            /** @description The signing secret. Returned once. */
            secret: string;
        };
        /** @description A run of an agent. At most 256 KB. Names can also be in snake_case, such as `thread_id`; other fields are ignored. */
        RunAgentInput: {
            context?: components["schemas"]["AgentContext"][] | null;
            forwardedProps: components["schemas"]["ForwardedProps"];
            /** @description Exactly one user message, which is the first. */
            messages: components["schemas"]["AgentMessage"][];
            parentRunId?: string | null;
            /** @example run-001 */
            runId: string;
            /** @description Any JSON. */
            state?: unknown;
            /**
             * @description The conversation: a UUID that the client chooses.
             * @example 550e8400-e29b-41d4-a716-446655440000
             */
            threadId: string;
            /** @description Tools of the front end, for approvals and replay. They do not register or select tools of the server. */
            tools?: components["schemas"]["AgentTool"][] | null;
        };
        /** @description An event of a run, by `type`. Payloads of runners are stored unchanged: expect properties that are missing or unknown. A payload is null if the event was erased. */
        RunEvent: components["schemas"]["RunStatusEvent"] | components["schemas"]["CommandStatusEvent"] | components["schemas"]["UserMessageEvent"] | components["schemas"]["ClientRunEvent"] | components["schemas"]["TerminalStatusEvent"] | components["schemas"]["AssistantDeltaEvent"] | components["schemas"]["AssistantMessageEvent"] | components["schemas"]["ReasoningDeltaEvent"] | components["schemas"]["ReasoningEvent"] | components["schemas"]["ToolCallEvent"] | components["schemas"]["CommandOutputEvent"] | components["schemas"]["ArtifactEvent"] | components["schemas"]["BackendStatusEvent"] | components["schemas"]["ErrorEvent"] | components["schemas"]["UsageEvent"] | components["schemas"]["ApprovalDeclinedEvent"] | components["schemas"]["ApprovalRequestedEvent"] | components["schemas"]["ApprovalStatusEvent"] | components["schemas"]["ApprovalVoteEvent"] | components["schemas"]["BackendEvent"] | components["schemas"]["OtherEvent"];
        /** @description An event of a run. */
        RunStatusEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["RunStatusPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "run_status";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description A change of the status of a run. The end of a run is a `terminal_status`. */
        RunStatusPayload: {
            /** @description The principal who created, cancelled or closed the run. */
            by?: string;
            /** @description Why the run is pending again: released or runner-lost. */
            reason?: string;
            /** @description The runner that released the run, or was lost. */
            runnerId?: string | null;
            sessionId?: string;
            /**
             * @description pending (created, released, or its runner was lost), cancelling or closing.
             * @example pending
             */
            status: string;
            /** @description The profile validation that created the run. */
            validationId?: string;
        };
        /** @description A run. */
        RunView: {
            backendProfile: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            endedAt?: string | null;
            executionPolicy: components["schemas"]["ExecutionPolicyView"];
            failureKind?: string | null;
            /** Format: int64 */
            lastSeq: number;
            lease?: components["schemas"]["LeaseView"] | null;
            liveness: components["schemas"]["LivenessView"];
            message?: string | null;
            /** @description Ids of the open commands, in order. */
            openCommandIds: string[];
            projectId: string;
            providerId: string;
            /** @example run_01920000000070008000000000000000 */
            runId: string;
            sessionId: string;
            /**
             * @description pending, claimed, running, cancelling, completed, failed, blocked or cancelled.
             * @example pending
             */
            status: string;
            tenantId: string;
            /** @example acme */
            tenantSlug?: string;
            terminalStatus?: string | null;
            /**
             * @description The first words of the first turn.
             * @example fix the failing test
             */
            title?: string | null;
            traceSink?: string | null;
            usage: components["schemas"]["UsageView"];
            workspaceRef: components["schemas"]["WorkspaceRef"];
        };
        /**
         * @description A job that starts a runner: its location and the state of its process. The outcome of the command is part of the
         *     command.
         */
        RunnerJobView: {
            /** @example atp_01920000000070008000000000000000 */
            attemptId: string;
            backendProfile: string;
            /** @description The command that it was started for; null for a warm runner. */
            commandId?: string | null;
            /** @description Status of its command. */
            commandStatus?: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string | null;
            /** @example guildhall-runner-000000000000 */
            jobName: string;
            /**
             * @description asked (requested by a client), cold (started for a waiting run) or warm.
             * @example asked
             */
            kind: string;
            /** Format: date-time */
            launchedAt?: string | null;
            /** @example local */
            launcher: string;
            log: components["schemas"]["JobLogView"];
            /** @description Namespace of the job; null for a process on the server's machine. */
            namespace?: string | null;
            /**
             * @description pending, launching, running, succeeded, failed or lost.
             * @example pending
             */
            phase: string;
            /** @description URL to poll. */
            poll: string;
            runId?: string | null;
            /** @description The runner that the job registered. */
            runnerId?: string | null;
            /** @example rjb_01920000000070008000000000000000 */
            runnerJobId: string;
            terminal?: components["schemas"]["JobTerminalView"] | null;
        };
        /** @description Jobs, newest first, at most 100. */
        RunnerJobsView: {
            runnerJobs: components["schemas"]["RunnerJobView"][];
        };
        /** @description A runner as its tenant sees it. */
        RunnerSummaryView: {
            backendProfiles: string[];
            /** @description Whether it gets no more runs. */
            draining: boolean;
            name: string;
            /** Format: date-time */
            registeredAt: string;
            /** @description The run that it holds. */
            runId?: string | null;
            /** @example rnr_01920000000070008000000000000000 */
            runnerId: string;
            /**
             * Format: date-time
             * @description When it last asked for a run.
             */
            seenAt: string;
        };
        RunnerView: {
            backendProfiles: string[];
            name: string;
            /** @example rnr_01920000000070008000000000000000 */
            runnerId: string;
            /** @description Null for a runner of the installation pool. */
            tenantId?: string | null;
        };
        RunnersView: {
            runners: components["schemas"]["RunnerSummaryView"][];
        };
        RunsView: {
            /** @description The `cursor` of the next page; null on the last page. */
            nextCursor?: string | null;
            runs: components["schemas"]["RunView"][];
        };
        /**
         * @description Where the tools and the context of the run come from: the agent, or a stored automation.
         * @enum {string}
         */
        RuntimeModeBody: "chat" | "automation";
        /**
         * @description File system access of the agent, from the narrowest to the widest. `danger-full-access`: the agent uses no sandbox of
         *     its own; the runner contains it regardless.
         * @enum {string}
         */
        SandboxPolicy: "read-only" | "workspace-write" | "danger-full-access";
        /**
         * @description The name of a key in a secret.
         * @example auth.json
         */
        SecretKeyName: string;
        /** @description A reference to a secret and to its keys. It never contains a value. */
        SecretRefRequest: {
            /** @description Names of keys, all different. */
            keys: components["schemas"]["SecretKeyName"][];
            /**
             * @description `guildhall-provider-<profile>` or `guildhall-tool-<tool>`; also with a prefix that the operator configured.
             * @example guildhall-provider-codex
             */
            name: string;
        };
        /** @description The name of a secret and its keys, without values. */
        SecretRefView: {
            keys: string[];
            /** @example guildhall-provider-codex */
            name: string;
        };
        /** @description The secrets that a run requests, by reference. Omitted secrets are not granted. */
        SecretScopeRequest: {
            /** @description Whether the backend may see credentials in its own output. Logs, events and responses are redacted regardless. */
            allowCredentialEcho?: boolean;
            /** @description The credential of the run's backend profile. A profile never uses the credential of another. */
            providerCredentials?: components["schemas"]["SecretRefRequest"][];
            toolCredentials?: components["schemas"]["SecretRefRequest"][];
        };
        /** @description The secrets of a run, by reference. */
        SecretScopeView: {
            allowCredentialEcho: boolean;
            providerCredentials: components["schemas"]["SecretRefView"][];
            toolCredentials: components["schemas"]["SecretRefView"][];
        };
        /** @description A secret setting or the secret of a provider profile, without its value. */
        SecretView: {
            /** @example postgres.url */
            name: string;
            set: boolean;
            /**
             * @description Always `[redacted]`.
             * @example [redacted]
             */
            value: string;
        };
        /**
         * @description Kind of server.
         * @enum {string}
         */
        ServerMode: "http-bridge";
        SessionCancellationView: {
            /** @description command, run or nothing. */
            cancelled: string;
            commandId?: string | null;
            runId?: string | null;
            /** @description Its current status. */
            status?: string | null;
        };
        SessionRef: {
            /** @example ses_01920000000070008000000000000000 */
            sessionId?: string | null;
        };
        SessionView: {
            activeCommandId?: string | null;
            activeRunId?: string | null;
            backendProfile: string;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /**
             * @description running or terminal.
             * @example running
             */
            executionState: string;
            /**
             * Format: int64
             * @description The last event of that run.
             */
            lastEventSeq?: number | null;
            lastRunId?: string | null;
            liveness?: components["schemas"]["LivenessView"] | null;
            projectId: string;
            /**
             * Format: int64
             * @description The last version that this reader has read.
             */
            readVersion: number;
            run?: components["schemas"]["RunView"] | null;
            /** Format: int32 */
            runCount: number;
            /** @example ses_01920000000070008000000000000000 */
            sessionId: string;
            /**
             * @description Where the backend stores the threads: none, directory or evicted.
             * @example directory
             */
            storageKind?: string;
            supervisor?: components["schemas"]["SupervisorView"] | null;
            tenantId: string;
            /** @description The backend's thread, if it exists. */
            threadId?: string | null;
            /**
             * @description The title of its first run.
             * @example fix the failing test
             */
            title?: string | null;
            unread: boolean;
            /** Format: date-time */
            updatedAt: string;
            /**
             * Format: int64
             * @description Incremented by every ended command and every ended run.
             */
            version: number;
        };
        SessionsView: {
            /** @description The `cursor` of the next page; null on the last page. */
            nextCursor?: string | null;
            sessions: components["schemas"]["SessionView"][];
        };
        /** @description A new approval policy. Fields that are absent have the default of the server. */
        SetApprovalPolicy: {
            /** @description For designated: the member who answers. Absent: who sent the turn that asks. */
            approverId?: string | null;
            /**
             * Format: int32
             * @description The version that you have read. If it is not the current one, the request fails with 409.
             */
            expectedVersion?: number | null;
            /**
             * Format: int64
             * @description How long a question waits for an answer.
             */
            expiresAfterMs?: number | null;
            /**
             * Format: int64
             * @description How long an agent waits with its process before the question is parked.
             */
            holdForMs?: number | null;
            /**
             * @description first-responder, designated, consensus or local-only.
             * @example consensus
             */
            mode: string;
            /** @description What happens then: deny, interrupt (denies and ends the turn) or escalate (asks the owners once more). */
            onExpiry?: string | null;
            /**
             * Format: int32
             * @description For consensus: equal answers that decide.
             */
            quorum?: number | null;
            /**
             * Format: int64
             * @description How long an undelivered answer can be used when the agent asks again.
             */
            reuseWithinMs?: number | null;
            /** @description For consensus: one denial is enough. */
            veto?: boolean | null;
        };
        /** @description The new role of a member. */
        SetMember: {
            /**
             * @description owner, operator, developer or viewer.
             * @example developer
             */
            role: string;
        };
        /** @description The new setup of a project. */
        SetProjectSetup: {
            /**
             * @description The hosts that the command may reach, in lower case: `packages.example.com`, `*.example.com` (subdomains only) or
             *     `packages.example.com:8443`. At most 253 characters each.
             * @example [
             *       "packages.example.com"
             *     ]
             */
            allowedHosts?: string[];
            /**
             * @description The files in the workspace whose content makes the key of the cache: relative paths of at most 256 bytes, without
             *     `.`, `..` and empty parts.
             * @example [
             *       "package-lock.json"
             *     ]
             */
            cacheFiles?: string[];
            /**
             * @description A shell command of at most 4096 bytes, without control characters except tabs and line breaks. Every member of
             *     the tenant can read it: it must contain no secret.
             * @example npm ci
             */
            command: string;
        };
        /** @description How long a tenant keeps its history. */
        SetRetention: {
            /**
             * Format: int32
             * @description A session is erased this many days after its last use, with its runs, events and approvals.
             */
            historyDays: number;
        };
        /**
         * @description What to restrict for a tenant, within the bounds of the installation (the section `runs` of the configuration). A
         *     field that is absent or null restricts nothing. List items are names, `*`, or a prefix followed by `*`; an empty list
         *     allows nothing.
         */
        SetTenantBounds: {
            /** @description The least restrictive approval policy: untrusted, on-request or never. */
            approval?: string | null;
            /**
             * @description Directories on the runner's machine that a run may name as its workspace.
             * @example [
             *       "/srv/acme/*"
             *     ]
             */
            directories?: string[] | null;
            /** @description Widest network access: disabled, allow-list or enabled. */
            network?: string | null;
            /**
             * @description Backend profiles.
             * @example [
             *       "codex",
             *       "demo"
             *     ]
             */
            profiles?: string[] | null;
            /**
             * @example [
             *       "acme/*"
             *     ]
             */
            projects?: string[] | null;
            providers?: string[] | null;
            /** @description The least restrictive sandbox: read-only, workspace-write or danger-full-access. */
            sandbox?: string | null;
            /**
             * Format: int64
             * @description The longest turn timeout.
             */
            timeoutMs?: number | null;
            traceSinks?: string[] | null;
        };
        /** @description User name and password. It has no `Debug`, so that it is never logged. */
        SignIn: {
            name: string;
            /** Format: password */
            password: string;
        };
        /** @description Confirms a sign-out. */
        SignedOutView: {
            /** @description Always true. */
            signedOut: boolean;
        };
        /** @description A run of an automation to start. */
        StartAutomation: {
            /** @description The message, instead of the prompt of the automation. */
            message?: string | null;
            /**
             * @description An id of your own: in the same thread, the same id is the same run. By default a new one.
             * @example run-1
             */
            runId?: string | null;
            /**
             * Format: uuid
             * @description A conversation of the caller to continue. By default a new one.
             * @example 550e8400-e29b-41d4-a716-446655440000
             */
            threadId?: string | null;
        };
        /** @description Delivery state of a steer. */
        SteerDeliveryView: {
            /** @description The backend accepted it for the turn. */
            acceptedByBackend: boolean;
            ackedByRunner: boolean;
            meaning: string;
            targetCommandId?: string | null;
            /** @description The turn has produced events since the delivery. */
            targetEventsObserved: boolean;
        };
        /** @description The run to stop. */
        StopCopilotKitRun: {
            /** @description The client's id of one run. By default all. */
            runId?: string | null;
        };
        /** @description Tells whether a run was stopped. */
        StoppedView: {
            stopped: boolean;
        };
        /** @description Metadata of a session's storage, without its contents. */
        StorageView: {
            /** Format: date-time */
            evictedAt?: string | null;
            /** Format: int64 */
            filesCount?: number | null;
            /** @example guildhall-session-01920000000070008000000000000000 */
            name: string;
            /**
             * @description pending, bound, removing or removed.
             * @example bound
             */
            phase: string;
            sessionId: string;
            sha256?: string | null;
            /** Format: int64 */
            sizeBytes?: number | null;
            /**
             * @description none (nothing stored yet), directory (a directory on the runner's machine) or evicted (deleted or about to be).
             * @example directory
             */
            storageKind: string;
            /**
             * Format: date-time
             * @description Time of the last report by a runner.
             */
            updatedAt?: string | null;
        };
        /** @description The stored changes. */
        StoredDiffView: {
            /** Format: int64 */
            bytes: number;
            runId: string;
        };
        /** @description A token for an external subject. It has no `Debug`, so that it is never logged. */
        SubjectTokenView: {
            /** Format: date-time */
            accessExpiresAt: string;
            /** @description The user's client sends it as `Authorization: Bearer …`. */
            accessToken: string;
            /**
             * @description Principal of the subject. The same for every token of the subject.
             * @example prn_01920000000070008000000000000000
             */
            principal: string;
        };
        /** @description Summary of the supervision of a session: its run, the runner that holds it, and what it waits for. */
        SupervisorView: {
            active: boolean;
            /** Format: date-time */
            leaseExpiresAt?: string | null;
            /** @description Ids of the open commands, in order. */
            openCommandIds: string[];
            /**
             * @description The phase of `liveness`.
             * @example waiting-runner
             */
            phase: string;
            runId: string;
            /** @example running */
            runStatus: string;
            /** @description The runner that holds the lease of the run. */
            runnerId?: string | null;
        };
        /** @description A request of a runner for the answer. */
        TakeAnswer: {
            /** @description The process that asked. */
            process: string;
            /**
             * Format: int64
             * @description How long to wait for an answer, in milliseconds.
             */
            wait?: number;
        };
        /** @description Confirms that a run was accepted. */
        TaskAcceptedResponse: {
            /** @description Whether the thread is new. */
            created: boolean;
            /**
             * @description As in the request.
             * @example run-001
             */
            runId: string;
            taskId: string;
            /**
             * @description As in the request.
             * @example 550e8400-e29b-41d4-a716-446655440000
             */
            threadId: string;
        };
        /** @description Rows that nobody needs any more. They are deleted some time after their end (`retention.technical_after`). */
        TechnicalPlanView: {
            /**
             * Format: int64
             * @description Enrolments of runners that the server started.
             */
            enrolments: number;
            /**
             * Format: int64
             * @description Runner jobs that have ended.
             */
            jobs: number;
            /**
             * Format: int64
             * @description Logins that have ended.
             */
            logins: number;
            /**
             * Format: int64
             * @description Runners that hold no run and were not seen for long.
             */
            runners: number;
        };
        /** @description The bounds of a tenant. */
        TenantBoundsView: {
            /** @description What runs of this tenant may request: what both the installation and the restrictions allow. */
            effective: components["schemas"]["EffectiveBoundsView"];
            /** @description What an operator has restricted for this tenant. Null restricts nothing. */
            restrictions: components["schemas"]["RestrictionsView"];
            /** @example ten_01920000000070008000000000000000 */
            tenantId: string;
        };
        /** @description What would be erased of one tenant. Sessions with open work or stored files stay until that is over. */
        TenantPlanView: {
            /** Format: int64 */
            events: number;
            /**
             * Format: int32
             * @description Null if the tenant keeps its history for good.
             */
            historyDays?: number | null;
            /** Format: int64 */
            runs: number;
            /** Format: int64 */
            sessions: number;
            tenantId: string;
        };
        TenantView: {
            /** @example ten_01920000000070008000000000000000 */
            id: string;
            name: string;
            slug: string;
        };
        TenantsView: {
            tenants: components["schemas"]["MembershipView"][];
        };
        /** @description An event of a run. */
        TerminalStatusEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["TerminalStatusPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "terminal_status";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description The end of a command or of the run. */
        TerminalStatusPayload: {
            failureKind?: string | null;
            message?: string | null;
            /**
             * @description command or run.
             * @example command
             */
            scope: string;
            /**
             * @description completed, failed, blocked or cancelled.
             * @example completed
             */
            terminalStatus: string;
        };
        /** @description A text in every language. */
        TextsView: {
            en: string;
            "zh-CN": string;
        };
        /** @description Tokens of a sign-in. */
        TokensView: {
            /** Format: date-time */
            accessExpiresAt: string;
            /** @description Send it as `Authorization: Bearer …`. */
            accessToken: string;
            /**
             * @description The signed-in principal.
             * @example prn_01920000000070008000000000000000
             */
            principal: string;
            /** @description Exchange it once at /api/v1/auth/refresh. Using it twice revokes the login. */
            refreshToken: string;
        };
        /** @description An event of a run. */
        ToolCallEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["ToolCallPayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "tool_call";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description The start or end of a tool call. */
        ToolCallPayload: {
            /**
             * @description Arguments of the call, if the backend gives them; any JSON. Our runners send an object, when the call starts, and
             *     again at its end if they changed.
             */
            arguments?: unknown;
            /** @description Whether the runner cut long arguments. */
            argumentsTruncated?: boolean;
            callId?: string;
            command?: string | null;
            /** Format: int64 */
            exitCode?: number | null;
            /**
             * Format: int64
             * @description Output that the runner dropped because of its limits.
             */
            outputDroppedBytes?: number;
            /**
             * @description started, or the status that ended the call.
             * @example started
             */
            status?: string;
            /** @example shell */
            toolName?: string;
        };
        ToolCallSummaryView: {
            /** Format: int64 */
            count: number;
            exitCodeCounts: {
                [key: string]: number;
            };
            /** @description The last ten ended tool calls. */
            items: components["schemas"]["ToolCallView"][];
            running: number;
            statusCounts: {
                [key: string]: number;
            };
        };
        ToolCallView: {
            /** @description At most 200 characters. */
            command?: string | null;
            /** Format: int64 */
            exitCode?: number | null;
            method?: string | null;
            /** Format: int64 */
            seq: number;
            status?: string | null;
            toolName?: string | null;
            type?: string | null;
        };
        /** @description A signed tree head. */
        TreeHeadView: {
            /** @example sha256 */
            hash_algorithm: string;
            /** @description SHA-256 of the public key, which names the log. */
            log_id: string;
            /** @description SubjectPublicKeyInfo in base64. Compare it with one that you got before. */
            public_key: string;
            /** @description In hexadecimal digits. */
            root_hash: string;
            /** @description ECDSA in DER, in base64. */
            signature: string;
            /** @example ecdsa-p256-sha256 */
            signature_algorithm: string;
            /**
             * Format: int32
             * @description The form of the signed bytes: 1 is `TreeHeadSignature` of RFC 6962 (v1).
             */
            sth_version: number;
            /**
             * Format: int64
             * @description In milliseconds since 1970.
             */
            timestamp: number;
            /**
             * Format: int64
             * @description The number of entries.
             */
            tree_size: number;
        };
        /** @description A sample event to send. */
        TriggerEvent: {
            /**
             * @description Any event type, whether the webhook is told about it or not.
             * @example message.new
             */
            type: string;
        };
        /** @description The signed list of trusted roots. */
        TrustListView: {
            /** @description ECDSA P-384 with SHA-384 in base64 (DER), over this object without this field: keys sorted, no spaces, UTF-8. */
            authority_signature: string;
            /** @example 2026-11-18T20:00:00Z */
            issued_at: string;
            /** @example 2026-11-19T20:00:00Z */
            next_update: string;
            root_cas: components["schemas"]["TrustedRootView"][];
            /**
             * Format: int64
             * @description Rises when the roots change, and never falls.
             */
            version: number;
        };
        /** @description A root of the list. */
        TrustedRootView: {
            /** @description The certificate in PEM. */
            certificate: string;
            crl_url: string;
            /** @description SHA-256 of the certificate. */
            fingerprint_sha256: string;
            id: string;
            name: string;
            ocsp_url: string;
            organization: string;
            /** @description Clients import only `active` roots. */
            status: string;
        };
        /** @description What a button does, by `type`. */
        UiAction: components["schemas"]["UiOpenUrl"];
        /**
         * @description The frame of a stack.
         * @enum {string}
         */
        UiAppearance: "card";
        /** @description A short label with the colour of a status. */
        UiBadge: {
            /** @example SUCCESS */
            label: string;
            status: components["schemas"]["UiStatus"];
            /** @enum {string} */
            type: "badge";
        };
        /** @description A badge. */
        UiBadgeHint: {
            label: string;
            /** @description Defaults to info. */
            status?: components["schemas"]["UiStatus"];
        };
        /** @description A button. */
        UiButton: {
            action: components["schemas"]["UiAction"];
            label: string;
            /** @enum {string} */
            type: "button";
            variant: components["schemas"]["UiButtonVariant"];
        };
        /** @description A button that opens a page. */
        UiButtonHint: {
            label: string;
            /** @description An https URL. */
            url: string;
            /** @description Defaults to secondary. */
            variant?: components["schemas"]["UiButtonVariant"];
        };
        /** @enum {string} */
        UiButtonVariant: "primary" | "secondary" | "ghost" | "danger";
        /** @description A name and its value. */
        UiFactHint: {
            label: string;
            value: string;
        };
        /** @description Nodes in rows of `columns`. */
        UiGrid: {
            children: components["schemas"]["UiNode"][];
            /** Format: int32 */
            columns: number;
            /** @enum {string} */
            type: "grid";
        };
        /**
         * @description How to show a reply. Every field is optional, but at least one of `title`, `subtitle`, `body`, `code`, `facts` and
         *     `caption` has text.
         *
         *     Hints with an unknown field, an unknown value or more than a limit allows are not used at all: the reply is then
         *     shown without them.
         */
        UiHints: {
            /**
             * @description Shown after the title. Absent: one badge with the status. Empty: none.
             * @default null
             */
            badges?: components["schemas"]["UiBadgeHint"][] | null;
            /** @default null */
            body?: string | null;
            /** @default [] */
            buttons?: components["schemas"]["UiButtonHint"][];
            /** @default null */
            caption?: string | null;
            /** @default null */
            code?: string | null;
            /**
             * @description Shown as a table of two columns.
             * @default []
             */
            facts?: components["schemas"]["UiFactHint"][];
            /**
             * @description The format of `body`. Defaults to plain.
             * @default plain
             */
            format?: components["schemas"]["UiTextFormat"];
            /** @default null */
            icon?: components["schemas"]["UiIconHint"] | null;
            /**
             * @description Language of the texts, such as zh-CN. Defaults to the locale of the reader.
             * @default null
             */
            locale?: string | null;
            /**
             * @description Defaults to info.
             * @default info
             */
            status?: components["schemas"]["UiStatus"];
            /** @default null */
            subtitle?: string | null;
            /**
             * @description Defaults to default.
             * @default default
             */
            theme?: components["schemas"]["UiTheme"];
            /** @default null */
            title?: string | null;
        };
        /** @description A symbol. */
        UiIcon: {
            source: components["schemas"]["UiIconSource"];
            /** @enum {string} */
            type: "icon";
            /** @description The name of an icon, an emoji, or an https URL. */
            value: string;
        };
        /** @description A symbol. */
        UiIconHint: {
            source: components["schemas"]["UiIconSource"];
            /**
             * @description The name of an icon (1 to 64 of `a-z`, `0-9`, `-` and `_`), an emoji (at most 16 characters), or an https URL (at
             *     most 2048).
             */
            value: string;
        };
        /** @enum {string} */
        UiIconSource: "icon" | "emoji" | "url";
        /** @description A node that contains others, by `type`. */
        UiLayoutNode: components["schemas"]["UiStack"] | components["schemas"]["UiGrid"];
        /** @description Where a reply comes from. Set by the server, never by the agent. */
        UiMeta: {
            requestId?: string | null;
            toolId?: string | null;
            traceId?: string | null;
            userId?: string | null;
        };
        /** @description A node, by `type`. */
        UiNode: components["schemas"]["UiStack"] | components["schemas"]["UiGrid"] | components["schemas"]["UiText"] | components["schemas"]["UiBadge"] | components["schemas"]["UiIcon"] | components["schemas"]["UiButton"];
        /** @description Opens a page. */
        UiOpenUrl: {
            /** @enum {string} */
            type: "url";
            /** @description https. */
            url: string;
        };
        /** @description What to show, as a tree of nodes. */
        UiSchemaRenderer: {
            /**
             * @description Language of the texts.
             * @example zh-CN
             */
            locale: string;
            meta?: components["schemas"]["UiMeta"] | null;
            root: components["schemas"]["UiLayoutNode"];
            status: components["schemas"]["UiStatus"];
            theme: components["schemas"]["UiTheme"];
            version: components["schemas"]["UiSchemaVersion"];
        };
        /**
         * @description The version of the format.
         * @enum {string}
         */
        UiSchemaVersion: "2.0";
        /** @description Nodes below each other. */
        UiStack: {
            appearance?: components["schemas"]["UiAppearance"] | null;
            children: components["schemas"]["UiNode"][];
            /** @enum {string} */
            type: "stack";
        };
        /**
         * @description The outcome that a reply or a badge tells.
         * @enum {string}
         */
        UiStatus: "info" | "success" | "warning" | "error" | "pending";
        /** @description A text. */
        UiText: {
            content: string;
            /** @description Absent for plain. */
            format?: components["schemas"]["UiTextFormat"];
            role: components["schemas"]["UiTextRole"];
            /** @enum {string} */
            type: "text";
        };
        /** @enum {string} */
        UiTextFormat: "plain" | "markdown";
        /** @enum {string} */
        UiTextRole: "title" | "subtitle" | "body" | "caption" | "code";
        /**
         * @description The colours of a reply.
         * @enum {string}
         */
        UiTheme: "default" | "light" | "dark";
        /** @description A change of an agent. Omitted values stay as they are. */
        UpdateAgent: {
            backendProfile?: string | null;
            /** @description Another manifest is the next version. The same manifest again changes nothing. */
            capabilityManifest?: Record<string, unknown> | null;
            /**
             * Format: int64
             * @description The version of the manifest that you have read, 0 for none. If the agent has another, nothing changes and the status is 409.
             */
            capabilityManifestVersion?: number | null;
            default?: boolean | null;
            description?: string | null;
            /** @description Whether it takes new turns. */
            enabled?: boolean | null;
            endUsers?: components["schemas"]["EndUsersBody"] | null;
            executionPolicy?: components["schemas"]["ExecutionPolicyRequest"] | null;
            /** @description Null removes the instructions. */
            instructions?: string | null;
            name?: string | null;
            pipeline?: components["schemas"]["PipelineBody"] | null;
            projectId?: string | null;
            providerId?: string | null;
            /**
             * @description Whether everybody may read the name and the manifest of the agent. Needs a manifest. Each published version is an entry
             *     of the transparency log, which stays.
             */
            published?: boolean | null;
            /**
             * Format: int64
             * @description The revision that you have read. If the agent has another, nothing changes and the status is 409.
             */
            revision?: number | null;
            workspaceRef?: components["schemas"]["WorkspaceRef"] | null;
        };
        /** @description A change of an automation. Omitted values stay as they are. */
        UpdateAutomation: {
            /** @description Whether it starts new runs. */
            enabled?: boolean | null;
            name?: string | null;
            pipeline?: components["schemas"]["PipelineBody"] | null;
            prompt?: string | null;
            /**
             * Format: int64
             * @description The revision that you have read. If the automation has another, nothing changes and the status is 409.
             */
            revision?: number | null;
        };
        /** @description A changed consent: other scopes, or the same for a new manifest. */
        UpdateRelation: {
            /**
             * @description Ids of all scopes that are granted from now on.
             * @example [
             *       "filesystem:read"
             *     ]
             */
            granted_scopes: string[];
            /** @description The hash of the manifest that the user was shown. Another one is a conflict. */
            manifest_hash?: string | null;
            /**
             * Format: int64
             * @description The version of the manifest that the user was shown. Another current version is a conflict.
             */
            manifest_version?: number | null;
        };
        /** @description A change of a webhook. */
        UpdateWebhook: {
            /** @description Whether events are sent. What a disabled webhook has missed is sent on request. */
            enabled: boolean;
        };
        /** @description An event of a run. */
        UsageEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["UsagePayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "usage";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description Resource usage since the last report. */
        UsagePayload: {
            /** Format: int64 */
            activeMs?: number;
            /** Format: int64 */
            cachedInputTokens?: number;
            /** Format: int64 */
            inputTokens?: number;
            /** Format: int64 */
            outputTokens?: number;
            /** Format: int64 */
            toolCalls?: number;
        };
        UsageView: {
            /** Format: int64 */
            activeMs: number;
            /** Format: int64 */
            cachedInputTokens: number;
            /** Format: int64 */
            inputTokens: number;
            /** Format: int64 */
            outputTokens: number;
            /** Format: int64 */
            toolCalls: number;
        };
        /** @description An event of a run. */
        UserMessageEvent: {
            commandId?: string | null;
            /** @description Whether the payload was erased. The sequence number is kept. */
            erased: boolean;
            /** @description The runner's event id; null for events of the server. */
            eventId?: string | null;
            /** @description Whether the event arrived after its command had ended. Results ignore a late event. */
            late?: boolean;
            payload?: components["schemas"]["UserMessagePayload"] | null;
            /** Format: date-time */
            recordedAt: string;
            /** Format: int64 */
            seq: number;
            /** @enum {string} */
            type: "user_message";
            /**
             * Format: int32
             * @description Version of the event format.
             */
            v: number;
        };
        /** @description What the author of a turn or steer wrote. Secrets are redacted. */
        UserMessagePayload: {
            /** @description Its images. */
            attachments?: components["schemas"]["MessageAttachment"][];
            /** @description The author. */
            by: string;
            /** @description The client's own id of the message. */
            clientMessageId?: string;
            text: string;
            /**
             * @description turn or steer.
             * @example turn
             */
            type: string;
        };
        UserView: {
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description Null for a user who can sign in.
             */
            disabledAt?: string | null;
            /** @description Whether the user signs in with a password. */
            hasPassword: boolean;
            /**
             * Format: date-time
             * @description The end of the lock after failed sign-ins; null if the user is not locked.
             */
            lockedUntil?: string | null;
            /** @description The name to sign in with. Of a user without a password, the name that the identity provider sent. */
            name: string;
            /** @description Whether the user operates the installation. */
            operator: boolean;
            /** @example prn_01920000000070008000000000000000 */
            principal: string;
        };
        /** @description Users, newest first. */
        UsersView: {
            /** @description The `cursor` of the next page; null on the last page. */
            nextCursor?: string | null;
            users: components["schemas"]["UserView"][];
        };
        /** @description Validation of a profile. */
        ValidationView: {
            commandId: string;
            /** Format: date-time */
            createdAt: string;
            /**
             * Format: date-time
             * @description The validation has an outcome by then.
             */
            deadlineAt: string;
            failureKind?: string | null;
            message?: string | null;
            profile: string;
            /** @description The validated version of the profile; null if the profile is stored by its runner. */
            resourceVersion?: string | null;
            /** @description The run of the test turn. */
            runId: string;
            /** Format: date-time */
            settledAt?: string | null;
            /**
             * @description pending, ok or failed.
             * @example ok
             */
            status: string;
            /** @example val_01920000000070008000000000000000 */
            validationId: string;
        };
        /** @description A test event that will be sent. */
        WebhookTestView: {
            /**
             * @description The `webhook-id` of the request.
             * @example evt_01920000000070008000000000000000
             */
            eventId: string;
        };
        /** @description A webhook, without its secret. */
        WebhookView: {
            /** @description The agent whose messages are sent; null for a webhook of the tenant. */
            agentId?: string | null;
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            description: string;
            /** Format: date-time */
            disabledAt?: string | null;
            /**
             * @description Why it is disabled: gone, failing or manual.
             * @example gone
             */
            disabledReason?: string | null;
            /** @description False after the receiver answered 410, after five days without a success, or after somebody disabled it. */
            enabled: boolean;
            events: string[];
            /**
             * Format: date-time
             * @description Since when every attempt has failed.
             */
            failingSince?: string | null;
            /** @example whk_01920000000070008000000000000000 */
            id: string;
            lastFailure?: components["schemas"]["FailedDeliveryView"] | null;
            /**
             * Format: date-time
             * @description When a receiver last accepted an event.
             */
            lastSuccessAt?: string | null;
            /**
             * Format: date-time
             * @description Until then, the previous secret signs too.
             */
            previousSecretEndsAt?: string | null;
            /**
             * @description Who sends the events: server or listener.
             * @example server
             */
            sender: string;
            url: string;
        };
        WebhooksView: {
            webhooks: components["schemas"]["WebhookView"][];
        };
        /** @description The signed-in caller. */
        WhoamiView: {
            /** @description user, service or external. */
            kind: string;
            /** @description Whether the caller operates the installation. */
            operator: boolean;
            principal: string;
            /** @description The caller's tenants and roles. */
            tenants: components["schemas"]["MembershipView"][];
        };
        /** @description Work for a runner. */
        WorkView: {
            /** @description Commands to interrupt. */
            cancelCommandIds: string[];
            /** Format: int64 */
            cancelSeq: number;
            /** @description Turns and interrupts, in order. */
            commands: components["schemas"]["CommandView"][];
            /**
             * Format: int32
             * @description The `afterSeq` of the next poll.
             */
            nextAfterSeq: number;
            runStatus: string;
            /** @description Whether an idle runner should release the run: another run waits for a runner, or this one is draining. */
            shouldRelease?: boolean;
            /** @description Input for the running turn, not turns of their own. */
            steers: components["schemas"]["CommandView"][];
        };
        /** @description What a worker is told, and which turns it is for. */
        WorkerBody: {
            /**
             * @description What the agent is told with each turn of this worker.
             * @example Write a test first.
             */
            instructions?: string;
            /**
             * @description The router picks the first worker with a keyword that the message contains. A worker without keywords takes what
             *     no other takes.
             * @example [
             *       "bug",
             *       "pull request"
             *     ]
             */
            keywords?: string[];
            /** @example code */
            name: string;
        };
        /** @description A directory of a repository and its path in the workspace. Both paths are relative. */
        WorkspaceBundle: {
            /** @example docs */
            subpath: string;
            /** @example reference/docs */
            targetPath: string;
        };
        /** @description The workspace of a run, by `kind`. It never contains a credential. */
        WorkspaceRef: components["schemas"]["EmptyWorkspace"] | components["schemas"]["DirectoryWorkspace"] | components["schemas"]["CopyWorkspace"] | components["schemas"]["GitWorkspace"] | components["schemas"]["GitBundleWorkspace"] | components["schemas"]["BundleWorkspace"];
        /** @description The first frame. */
        HelloNotice: {
            /** @description The client id from the request, or one generated by the server. */
            clientId: string;
            /** @description Protocol version. */
            protocol: string;
            /** @enum {string} */
            type: "hello";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description All entries that existed when the stream was opened have been sent. Live entries follow. */
        ReplayCompleteNotice: {
            /** Format: int64 */
            lastSeq: number;
            /** Format: int64 */
            replayedCount: number;
            /**
             * Format: int32
             * @description In session streams: the run that `lastSeq` belongs to.
             */
            runOrdinal?: number | null;
            /** @enum {string} */
            type: "replay_complete";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description The cursor cannot be resumed. The stream restarts from the beginning. */
        GapNotice: {
            /** @description other_incarnation or ahead_of_log. */
            reason: string;
            recovered: boolean;
            /** @enum {string} */
            type: "gap";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description The client reads too slowly and will be evicted if it does not catch up. */
        SlowClientWarningNotice: {
            maxBytes: number;
            maxFrames: number;
            queuedBytes: number;
            queuedFrames: number;
            /** @enum {string} */
            type: "slow_client_warning";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description The client read too slowly. No entry is lost: it can resume after its last id. */
        ClientEvictedNotice: {
            reason: string;
            /** @enum {string} */
            type: "client_evicted";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description The server closes the stream. */
        ClosedNotice: {
            failureKind: string;
            /** @enum {string} */
            type: "closed";
            /**
             * Format: int32
             * @description Version of the event and frame format.
             */
            v: number;
        };
        /** @description An event of a run whose type is in the API document. */
        KnownRunEvent: components["schemas"]["ApprovalDeclinedEvent"] | components["schemas"]["ApprovalRequestedEvent"] | components["schemas"]["ApprovalStatusEvent"] | components["schemas"]["ApprovalVoteEvent"] | components["schemas"]["ArtifactEvent"] | components["schemas"]["AssistantDeltaEvent"] | components["schemas"]["AssistantMessageEvent"] | components["schemas"]["BackendEvent"] | components["schemas"]["BackendStatusEvent"] | components["schemas"]["ClientRunEvent"] | components["schemas"]["CommandOutputEvent"] | components["schemas"]["CommandStatusEvent"] | components["schemas"]["ErrorEvent"] | components["schemas"]["ReasoningEvent"] | components["schemas"]["ReasoningDeltaEvent"] | components["schemas"]["RunStatusEvent"] | components["schemas"]["TerminalStatusEvent"] | components["schemas"]["ToolCallEvent"] | components["schemas"]["UsageEvent"] | components["schemas"]["UserMessageEvent"];
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listGateways: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The gateways */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GatewaysView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getJwks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The JWK set */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAgentByManifest: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAgent"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPublishedAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent and its manifest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublishedAgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateAgentByManifest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateAgent"];
            };
        };
        responses: {
            /** @description The changed agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPublishedAgentVersion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
                /** @description Number of the version, from 1 */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent and its manifest */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PublishedAgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAccountSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The settings of the caller */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountSettings"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setAccountSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AccountSettings"];
            };
        };
        responses: {
            /** @description The settings have changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccountSettings"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAttachment: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "image/gif": components["schemas"]["ImageBytes"];
                "image/jpeg": components["schemas"]["ImageBytes"];
                "image/png": components["schemas"]["ImageBytes"];
                "image/webp": components["schemas"]["ImageBytes"];
            };
        };
        responses: {
            /** @description Stored */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AttachmentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAttachmentContent: {
        parameters: {
            query?: {
                /**
                 * @description When the URL expires, in seconds since 1970.
                 * @example 1794902400
                 */
                expires?: string;
                signature?: string;
            };
            header?: never;
            path: {
                /** @description Attachment id */
                attachment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The image */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/png": components["schemas"]["ImageBytes"];
                    "image/jpeg": components["schemas"]["ImageBytes"];
                    "image/gif": components["schemas"]["ImageBytes"];
                    "image/webp": components["schemas"]["ImageBytes"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAgentHistory: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /**
                 * @description Id or slug of the agent. By default, with `threadId`, the default agent of the tenant.
                 * @example helper
                 */
                agentId?: string;
                /**
                 * @description A thread. By default the one that the caller has used last.
                 * @example 550e8400-e29b-41d4-a716-446655440000
                 */
                threadId?: string;
                /**
                 * @description Returns the newest day before this one, in UTC. By default the newest day.
                 * @example 2026-03-15
                 */
                before?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The messages of one day */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistorySnapshotResponse"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAgentRun: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /**
                 * @description Id or slug of the agent. By default the default agent of the tenant, or that of the automation.
                 * @example helper
                 */
                agentId?: string;
                /**
                 * @description Id or slug of the automation: required with `runtime_mode` `automation`, and only with it.
                 * @example daily-report
                 */
                automationId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAgentInput"];
            };
        };
        responses: {
            /** @description The run was accepted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskAcceptedResponse"];
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followAgentThread: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /**
                 * @description Id or slug of the agent. By default the default agent of the tenant.
                 * @example helper
                 */
                agentId?: string;
                /** @description Keep the stream open while the agent waits for an answer: the rest of the turn follows, wherever it is answered. */
                waitForAnswers?: boolean;
            };
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path: {
                /** @description The client's id of the conversation */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description AG-UI events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stopAgentThread: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /**
                 * @description Id or slug of the agent. By default the default agent of the tenant.
                 * @example helper
                 */
                agentId?: string;
                /** @description The client's id of one run. By default all. */
                runId?: string;
            };
            header?: never;
            path: {
                /** @description The client's id of the conversation */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether a turn is cancelled now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAgents: {
        parameters: {
            query: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by slug */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAgent: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAgent"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateAgent"];
            };
        };
        responses: {
            /** @description The changed agent */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    runAgentWithAgui: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAgentInput"];
            };
        };
        responses: {
            /** @description AG-UI events until the run ends */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAgentAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The AID */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentAidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putAgentAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutAgentAid"];
            };
        };
        responses: {
            /** @description The AID */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentAidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteAgentAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedAgentAidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAgentInbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The inbox */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentInboxView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putAgentInbox: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutAgentInbox"];
            };
        };
        responses: {
            /** @description The inbox */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentInboxView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAgentManifests: {
        parameters: {
            query?: {
                /** @description Only versions below this one, for the next page. */
                before?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The versions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManifestVersionsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAgentManifest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Agent id */
                agent: string;
                /** @description Number of the version, from 1 */
                version: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The version */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ManifestVersionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reserveAid: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReserveAid"];
            };
        };
        responses: {
            /** @description Reserved */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReservationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAids: {
        parameters: {
            query?: {
                /** @description The last AID of the page before. */
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, by name */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AidsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAid: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAid"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description AID */
                aid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The AID with its newest certificate */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    renewAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description AID */
                aid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The AID with its new certificate */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeAid: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description AID */
                aid: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RevokeAid"];
            };
        };
        responses: {
            /** @description The AID with its revoked certificate */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AidView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listApprovalRules: {
        parameters: {
            query: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId: string;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalRulesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeApprovalRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Rule id */
                rule: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The revoked rule */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalRuleView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listApprovals: {
        parameters: {
            query: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId: string;
                /** @description Only those of a run. */
                runId?: string;
                /** @description Only those of a session. */
                sessionId?: string;
                /** @description Only those that you may answer now. A page may then be shorter than `limit`, even empty, with more to follow. */
                answerable?: boolean;
                /** @description pending (default) or all. */
                state?: string;
                cursor?: string;
                limit?: number;
                /**
                 * @description Long poll: wait until something has changed after this `position` of an earlier list.
                 * @example 0123456789abcdef-42
                 */
                after?: string;
                /** @description How long to wait, in milliseconds; at most 30 s. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Approval id */
                approval: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The approval */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    voteOnApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Approval id */
                approval: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CastVote"];
            };
        };
        responses: {
            /** @description The approval, with its answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdrawApproval: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Approval id */
                approval: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The withdrawn approval */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listInstallationAuditEntries: {
        parameters: {
            query?: {
                /** @description Return entries after this sequence number; 0 is the beginning. */
                afterSeq?: number;
                /**
                 * @description Start this many entries before the end, to get the newest entries; 0 returns only the end position. With
                 *     `afterSeq`, the later of the two positions is used.
                 */
                fromEnd?: number;
                /** @description Maximum number of entries, up to 500. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, oldest entry first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPageView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAuditPublicKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPublicKeyView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followInstallationAudit: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of audit entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getBrowserSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrowserSessionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createBrowserSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Signed in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BrowserSessionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exchangeHandoff: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExchangeHandoff"];
            };
        };
        responses: {
            /** @description Signed in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokensView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signIn: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignIn"];
            };
        };
        responses: {
            /** @description Signed in */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokensView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    endLogins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The logins have ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedLoginsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    signOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed out */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SignedOutView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    completeOidc: {
        parameters: {
            query?: {
                state?: string;
                code?: string;
                iss?: string;
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signed in; redirect to the return address, or for a CLI to the confirmation page */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    startOidc: {
        parameters: {
            query?: {
                /**
                 * @description Redirect target after the sign-in: a path on this server.
                 * @example /
                 */
                returnTo?: string;
                /** @description An invitation, for users without an account. */
                invitation?: string;
                /**
                 * @description For sign-in from a CLI: the local port that it listens on, a dot, and its PKCE challenge (S256).
                 * @example 4321.E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM
                 */
                cli?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Redirect to the provider */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangePassword"];
            };
        };
        responses: {
            /** @description The password has changed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedLoginsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    refreshTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Refresh"];
            };
        };
        responses: {
            /** @description The new tokens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokensView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAutomations: {
        parameters: {
            query: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by slug */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutomationsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAutomation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateAutomation"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutomationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAutomation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Automation id */
                automation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The automation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutomationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateAutomation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Automation id */
                automation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateAutomation"];
            };
        };
        responses: {
            /** @description The changed automation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AutomationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    startAutomation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Automation id */
                automation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartAutomation"];
            };
        };
        responses: {
            /** @description The run was accepted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskAcceptedResponse"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listBackends: {
        parameters: {
            query?: {
                /** @description Id or slug of a tenant, to include its own profiles. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The backends and their features, by profile */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackendsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acknowledgeCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Command id */
                command: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Acknowledged */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Command id */
                command: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The command, with its new status */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setCommandStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Command id */
                command: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndStatus"];
            };
        };
        responses: {
            /** @description The command */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    connectCopilotKitAgent: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path: {
                /** @description Name or id of the agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAgentInput"];
            };
        };
        responses: {
            /** @description AG-UI events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    runCopilotKitAgent: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path: {
                /** @description Name or id of the agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunAgentInput"];
            };
        };
        responses: {
            /** @description AG-UI events until the run ends */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    stopCopilotKitThread: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path: {
                /** @description Name or id of the agent */
                agent: string;
                /** @description The client's id of the conversation */
                thread: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["StopCopilotKitRun"] | null;
            };
        };
        responses: {
            /** @description Whether a turn is cancelled now */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoppedView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCopilotKitInfo: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The agents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CopilotKitInfo"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcceptInvitation"];
            };
        };
        responses: {
            /** @description Joined */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedInvitationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listProfiles: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profiles, without their credentials */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfilesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfile: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path: {
                /** @description Profile slug */
                profile: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The profile, without its credential */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteProfile: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /** @description tenant (default) or shared. Only operators of the installation can change shared profiles. */
                scope?: string;
            };
            header?: never;
            path: {
                /** @description Profile slug */
                profile: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedProfileView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setProfileCredential: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
                /** @description tenant (default) or shared. Only operators of the installation can change shared profiles. */
                scope?: string;
            };
            header?: never;
            path: {
                /** @description Profile slug */
                profile: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutCredential"];
            };
        };
        responses: {
            /** @description The profile, without its credential */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProfileView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    validateProfile: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Profile slug */
                profile: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Validation started */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProfileValidation: {
        parameters: {
            query?: {
                /** @description Id or slug of the tenant. Optional for service keys, which belong to one tenant. */
                tenantId?: string;
            };
            header?: never;
            path: {
                /** @description Profile slug */
                profile: string;
                /** @description Validation id */
                validation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The validation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ValidationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRelations: {
        parameters: {
            query?: {
                /** @description Also those that have ended. */
                ended?: boolean;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, the oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createRelation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRelation"];
            };
        };
        responses: {
            /** @description Granted */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followRelations: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The relation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedRelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateRelation"];
            };
        };
        responses: {
            /** @description The changed relation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acknowledgeRelationNotice: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcknowledgeNotice"];
            };
        };
        responses: {
            /** @description Acknowledged */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcknowledgedNoticeView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRelationHistory: {
        parameters: {
            query?: {
                /** @description Only entries below this number, for the next page. */
                before?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The history */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationHistoryView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    planRetention: {
        parameters: {
            query?: {
                /** @description Id or slug of a tenant; otherwise all tenants that do not keep their history for good. */
                tenant?: string;
                /** @description What the tenant would keep, instead of what is set. Only with `tenant`. */
                historyDays?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What would be erased */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetentionPlanView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOwnEnrolment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The enrolment, with what may be claimed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnEnrolmentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOwnGrant: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run and the epoch of its lease */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnGrantView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claimNextRun: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimNext"];
            };
        };
        responses: {
            /** @description The claimed run, or no grant if none is waiting */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    registerRunner: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterRunner"];
            };
        };
        responses: {
            /** @description Registered */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRuns: {
        parameters: {
            query: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId: string;
                /** @description open (default) or all. */
                state?: string;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createRun: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRun"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    askQuestion: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AskQuestion"];
            };
        };
        responses: {
            /** @description The state of the question */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    confirmAnswer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Approval id */
                approval: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfirmAnswer"];
            };
        };
        responses: {
            /** @description The state of the question */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    takeAnswer: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Approval id */
                approval: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TakeAnswer"];
            };
        };
        responses: {
            /** @description The state of the question */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AnswerView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRunAttachment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Attachment id */
                attachment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The image */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "image/png": components["schemas"]["ImageBytes"];
                    "image/jpeg": components["schemas"]["ImageBytes"];
                    "image/gif": components["schemas"]["ImageBytes"];
                    "image/webp": components["schemas"]["ImageBytes"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getBundlePart: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Number of the part, from 0 */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The part */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BundlePartView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putBundlePart: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Number of the part, from 0 */
                number: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutBundlePart"];
            };
        };
        responses: {
            /** @description Stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BundleUploadView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run, with its new status */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claimRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimRun"];
            };
        };
        responses: {
            /** @description Claimed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GrantView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    closeRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The run, with its new status */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pollCommands: {
        parameters: {
            query?: {
                /** @description Return commands after this sequence number. */
                afterSeq?: number;
                /** @description The `cancelSeq` of the last response. */
                cancelSeq?: number;
                limit?: number;
                /** @description Milliseconds to wait for work, at most 30 s. They do not count against the request timeout of the server. */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The pending commands, steers and cancellations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createCommand: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateCommand"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCommand: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Command id */
                command: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The command */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCommandResult: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Command id */
                command: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRunDiff: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The changes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiffView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putRunDiff: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutDiff"];
            };
        };
        responses: {
            /** @description Stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoredDiffView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteRunDiff: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedDiffView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description Return events after this sequence number. */
                afterSeq?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, oldest event first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    appendEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AppendEvents"];
            };
        };
        responses: {
            /** @description The sequence number of each event */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppendedEventsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    eraseEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Sequence number of the event */
                seq: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Erased */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedEventView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listCommands: {
        parameters: {
            query?: {
                /** @description Only commands with a higher `seq`. */
                afterSeq?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommandsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateLease: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChangeLease"];
            };
        };
        responses: {
            /** @description Renewed or released */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LeaseChangedView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRunResult: {
        parameters: {
            query?: {
                /** @description A command of the run. Defaults to the newest. */
                commandId?: string;
            };
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The result */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRunnerJobs: {
        parameters: {
            query?: {
                /** @description Only jobs for this command. By default all. */
                commandId?: string;
            };
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerJobsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createRunnerJob: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRunnerJob"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerJobView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRunnerJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
                /** @description Runner job id */
                job: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The job, with its phase and outcome */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerJobView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setRunStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Run id */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndStatus"];
            };
        };
        responses: {
            /** @description The run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listPresetScopes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The preset scopes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PresetScopesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description default (running or unread sessions) or all. */
                state?: string;
                /** @description Name of the reader, chosen by the client. Each reader has its own read position. */
                readerId?: string;
                /** @description Id or slug of one of your tenants. By default all of them. */
                tenantId?: string;
                backendProfile?: string;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSession"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSession: {
        parameters: {
            query?: {
                readerId?: string;
            };
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    controlSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ControlSession"];
            };
        };
        responses: {
            /** @description What was cancelled */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionCancellationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSessionOutput: {
        parameters: {
            query?: {
                afterSeq?: number;
                limit?: number;
                /** @description A run of the session. Defaults to the open or last run. */
                runId?: string;
            };
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    markSessionRead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MarkRead"];
            };
        };
        responses: {
            /** @description The session, with its new read version */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSessionStorage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A summary, without contents */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StorageView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    evictSessionStorage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Evicted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StorageView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    refreshSessionStorage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RefreshStorage"];
            };
        };
        responses: {
            /** @description The updated summary */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StorageView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSessionTrace: {
        parameters: {
            query?: {
                afterSeq?: number;
                limit?: number;
                /** @description A run of the session. Defaults to the open or last run. */
                runId?: string;
            };
            header?: never;
            path: {
                /** @description Session id */
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTenants: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenants, with the caller's role in each */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createTenant: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateTenant"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTenant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The tenant */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getApprovalPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The policy */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalPolicyView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setApprovalPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetApprovalPolicy"];
            };
        };
        responses: {
            /** @description The new policy */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApprovalPolicyView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followApprovals: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAuditEntries: {
        parameters: {
            query?: {
                /** @description Return entries after this sequence number; 0 is the beginning. */
                afterSeq?: number;
                /**
                 * @description Start this many entries before the end, to get the newest entries; 0 returns only the end position. With
                 *     `afterSeq`, the later of the two positions is used.
                 */
                fromEnd?: number;
                /** @description Maximum number of entries, up to 500. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, oldest entry first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditPageView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followAudit: {
        parameters: {
            query?: never;
            header?: {
                /** @description Id of the last event received; the stream continues after it. */
                "Last-Event-ID"?: string;
                /** @description Client id, chosen by the client and shown in logs. */
                "X-Guildhall-Client-Id"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stream of audit entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTenantBounds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bounds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantBoundsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setTenantBounds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetTenantBounds"];
            };
        };
        responses: {
            /** @description The new bounds */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantBoundsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clearTenantBounds: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bounds without restrictions */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TenantBoundsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEnrolments: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The enrolment tokens, without their secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EnrolmentsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createEnrolment: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateEnrolment"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewEnrolmentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeEnrolment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Enrolment id */
                enrolment: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevocationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listGitCredentials: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The credentials */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitCredentialsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setGitCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Name of the host, without a port */
                host: string;
                /** @description token for HTTPS, ssh-key for SSH */
                kind: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutGitCredential"];
            };
        };
        responses: {
            /** @description The credential, without its value */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GitCredentialView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteGitCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Name of the host, without a port */
                host: string;
                /** @description token or ssh-key */
                kind: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedGitCredentialView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listInvitations: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Newest first, without their secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createInvitation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateInvitation"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewInvitationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Invitation id */
                invitation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevocationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys, without their secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateKey"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKeyView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Key id */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revoked */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevocationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listMembers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The members, with the role of each */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MembersView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    addMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddMember"];
            };
        };
        responses: {
            /** @description The member */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetMember"];
            };
        };
        responses: {
            /** @description Updated */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberRoleView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    removeMember: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Removed */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemberRemovalView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listProjects: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sorted by slug */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createProject: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateProject"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Id or slug of the project */
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setProjectSetup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Id or slug of the project */
                project: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetProjectSetup"];
            };
        };
        responses: {
            /** @description The project with its new setup */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clearProjectSetup: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Id or slug of the project */
                project: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The project without a setup */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRetention: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The retention */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetentionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    setRetention: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SetRetention"];
            };
        };
        responses: {
            /** @description The new retention */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetentionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    clearRetention: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The retention without a limit */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetentionView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRunners: {
        parameters: {
            query?: {
                /** @description Also runners that hold no run and have not asked for one lately. */
                all?: boolean;
            };
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runners */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnersView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRunner: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Runner id */
                runner: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runner */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerSummaryView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    drainRunner: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Runner id */
                runner: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runner */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunnerSummaryView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createSubjectToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MintSubjectToken"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubjectTokenView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhooks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhooks, without their secrets */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhooksView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createWebhook: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewWebhookView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deleted */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedWebhookView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The new secret */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedWebhookView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id or slug of the tenant */
                tenant: string;
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The event will be sent */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTestView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                /** @description Only users with exactly this name. Names from an identity provider are not unique. */
                name?: string;
                /** @description Only users whose name starts with this text, in upper or lower case. Not together with `name`. */
                namePrefix?: string;
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsersView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateUser"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    disableUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The disabled user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    enableUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The enabled user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    endUserLogins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The logins have ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedLoginsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resetPassword: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetPassword"];
            };
        };
        responses: {
            /** @description The user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    unlockUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Principal id */
                principal: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The unlocked user */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The webhook */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateWebhook"];
            };
        };
        responses: {
            /** @description The changed webhook */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    claimWebhookEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClaimEvents"];
            };
        };
        responses: {
            /** @description The events */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClaimedEventsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The `nextCursor` of the page before. */
                cursor?: string;
                /** @description Only events in this state: waiting, delivered or missed. */
                state?: string;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveriesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    reportWebhookEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ReportEvent"];
            };
        };
        responses: {
            /** @description Stored */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportedEventView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    resendWebhookEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResendEvents"];
            };
        };
        responses: {
            /** @description The events will be sent */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResentView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    triggerWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Webhook id */
                webhook: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriggerEvent"];
            };
        };
        responses: {
            /** @description The event will be sent */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookTestView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCurrentPrincipal: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The principal and its tenants */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCapabilities: {
        parameters: {
            query?: {
                /**
                 * @description Id or slug of one of your tenants.
                 * @example acme
                 */
                tenantId?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The feature tags, protocol versions and policies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CapabilitiesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLogEntryOfCertificate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Serial number in hexadecimal digits */
                serial: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entry */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogEntryView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getConsistencyProof: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Size of the older tree, at least 1 */
                first: number;
                /** @description Size of the newer tree */
                second: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The proof */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConsistencyProofView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listLogEntries: {
        parameters: {
            query?: {
                /** @description The index of the first entry. */
                start?: number;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entries */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogEntriesView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLogEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Index in the log, from 0 */
                log_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The entry */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogEntryView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getInclusionProof: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Size of the log */
                tree_size: number;
                /** @description Index of the entry */
                log_id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The proof */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InclusionProofView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTreeHead: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The signed tree head */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TreeHeadView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listH2aRelations: {
        parameters: {
            query?: {
                /** @description Also those that have ended. */
                ended?: boolean;
                /** @description `next_cursor` of the page before. */
                cursor?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One page, the oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationsView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createH2aRelation: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description Makes a retry safe: the same key with the same body returns the same object, for 24 hours. Another body gets
                 *     409 `idempotency-conflict`.
                 */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateRelation"];
            };
        };
        responses: {
            /** @description Granted */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getH2aRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The relation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteH2aRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What has ended */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EndedRelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    updateH2aRelation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Relation id */
                relation: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateRelation"];
            };
        };
        responses: {
            /** @description The changed relation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RelationView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The health, with the list of replicas */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HealthView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready or degraded */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadinessView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCertificate: {
        parameters: {
            query?: {
                /** @description SHA-256 of the certificate or of its key: 64 hexadecimal digits or the first 16, optionally after `sha256:`. */
                cert_fingerprint?: string;
            };
            header?: never;
            path: {
                /** @description AID */
                aid: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificate in PEM */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-pem-file": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCertificateChain: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificates in PEM: the issuer first, the root last */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-pem-file": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRevocationList: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The signed list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RevocationListView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCertificateStatus: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Serial number in hexadecimal digits */
                serial: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state, with a signed OCSP response */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OcspView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTrustAuthority: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificate in PEM; its P-384 key signs the list of roots */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-pem-file": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTrustedRoots: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The signed list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustListView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRootCertificate: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The certificate of the root in PEM */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-pem-file": string;
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTrustedRootsOfIssuer: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The signed list */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrustListView"];
                };
            };
            /** @description A failure */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
