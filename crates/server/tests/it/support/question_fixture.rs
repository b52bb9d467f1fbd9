//! A tenant with one run, whose agent asks questions.

use guildhall_testkit::TestDb;
use serde_json::{Value, json};

use crate::support::Setup;
use crate::support::cluster::{Cluster, SignedInUser};
use crate::support::runs::{RunClaim, TestTenant, command_question, text};

/// Test files add the steps that only they need.
pub(crate) struct QuestionFixture {
    pub(crate) cluster: Cluster,
    /// The operator owns it, and creates its runs.
    pub(crate) tenant: TestTenant,
    pub(crate) claim: RunClaim,
    /// The turn that asks.
    pub(crate) command: String,
    /// Members who may answer.
    pub(crate) ada: SignedInUser,
    pub(crate) ben: SignedInUser,
}

impl QuestionFixture {
    pub(crate) async fn new() -> Self {
        let db = TestDb::new().await;
        Self::with_setup(Setup::new(&db), db).await
    }

    pub(crate) async fn with_setup(setup: Setup, db: TestDb) -> Self {
        let cluster = Cluster::with_setup(setup, db).await;
        let tenant = cluster.create_test_tenant("acme").await;
        let (ada, ben) = (cluster.create_user("ada").await, cluster.create_user("ben").await);
        for user in [&ada, &ben] {
            cluster.set_role(&tenant.id, user, "operator").await;
        }
        let (claim, command) = cluster.start_command(&tenant).await;
        Self { cluster, tenant, claim, command, ada, ben }
    }

    /// Asks whether a command may be executed. Returns the id of the question.
    pub(crate) async fn create_question(&self, request: &str, command: &str) -> String {
        self.cluster.first.ask(&self.claim, &self.command, request, command_question(command)).await
    }

    pub(crate) async fn get(&self, approval: &str) -> Value {
        let path = format!("/api/v1/approvals/{approval}");
        self.cluster.second.get_as(&path, &self.cluster.operator.token).await.body
    }

    pub(crate) async fn status(&self, approval: &str) -> String {
        text(&self.get(approval).await, "status")
    }

    /// Answers a question. Returns the status of the response, and that of the question.
    pub(crate) async fn vote(&self, approval: &str, user: &SignedInUser, option: &str) -> (u16, String) {
        let voted = self.cluster.second.vote(approval, &user.token, option).await;
        (voted.status.as_u16(), voted.body["status"].as_str().unwrap_or_default().to_owned())
    }

    /// Takes the answer for the process that asked. Returns the status of the question and the chosen option.
    pub(crate) async fn take(&self, approval: &str) -> Value {
        let taken = self.take_response(approval).await;
        json!([taken["status"], taken["optionId"]])
    }

    pub(crate) async fn take_response(&self, approval: &str) -> Value {
        let taken = self.cluster.first.take_answer(&self.claim, approval, "p").await;
        assert_eq!(taken.status, 200, "{}", taken.text);
        taken.body
    }
}
