//! Questions that wait for longer than an agent does: the turn ends, and the answer continues it in another turn.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::question_fixture::QuestionFixture;
use crate::support::runs::text;

const TIMEOUT: Duration = Duration::from_secs(120);

impl QuestionFixture {
    /// Takes the answer. Returns also whether the turn has waited for long enough.
    async fn take_or_park(&self, approval: &str) -> Value {
        let taken = self.take_response(approval).await;
        json!([taken["status"], taken["optionId"], taken["parked"]])
    }

    /// Moves all questions into the past.
    async fn pass_time(&self, interval: &str) {
        let shift = format!(
            "UPDATE approvals SET created_at = created_at - interval '{interval}', \
             expires_at = expires_at - interval '{interval}'"
        );
        self.cluster.db.sql().await.execute(shift).await;
    }

    /// Parks the open questions as a runner does: the turn ends, and the run is released.
    pub(crate) async fn park(&self, approval: &str) {
        self.pass_time("11 minutes").await;
        assert_eq!(self.take_or_park(approval).await, json!(["pending", null, true]));
        let message = format!("approval:{approval}");
        let body = json!({ "status": "blocked", "failureKind": "tenant-policy-denied", "message": message });
        let finished = self.cluster.first.finish(&self.claim, &self.command, body).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
        let path = format!("/api/v1/runs/{}/lease", self.claim.run);
        let release = Some(json!({ "release": true }));
        let released = self.cluster.first.request_as(Method::PATCH, &path, &self.claim.token, release).await;
        assert_eq!(released.status, 200, "{}", released.text);
    }

    /// Lets the lease of the killed runner run out, and waits until the server has taken the run back.
    pub(crate) async fn lose_runner(&self) {
        self.cluster.db.sql().await.execute("UPDATE leases SET expires_at = now() - interval '1 h'").await;
        let poll = async {
            while !self.cluster.get_run(&self.claim.run).await["lease"].is_null() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, poll).await.expect("taken back");
    }

    async fn answer(&self, approval: &str, option: &str) -> u16 {
        self.vote(approval, &self.cluster.operator, option).await.0
    }

    /// Returns the turns of the run that continue another.
    pub(crate) async fn continuing_turns(&self) -> Vec<Value> {
        let path = format!("/api/v1/runs/{}/history", self.claim.run);
        let listed = self.cluster.second.get_as(&path, &self.cluster.operator.token).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        let commands = listed.body["commands"].as_array().expect("commands").clone();
        commands.into_iter().filter(|command| command["payload"]["continues"].is_string()).collect()
    }

    /// Claims the run again, and starts its next turn.
    pub(crate) async fn continue_turn(&mut self) {
        let [turn] = &self.continuing_turns().await[..] else { panic!("one turn continues") };
        assert_eq!(turn["payload"]["continues"], self.command);
        self.command = text(turn, "commandId");
        self.claim = self.cluster.second.claim(&self.tenant, &self.claim.run).await;
        assert_eq!(self.cluster.first.ack(&self.claim, &self.command).await.status, 200);
    }
}

#[tokio::test]
async fn question_parked_for_a_night_is_answered_and_continued() {
    let mut fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    assert_eq!(fixture.take_or_park(&parked).await, json!(["pending", null, false]));
    fixture.park(&parked).await;
    fixture.pass_time("8 hours").await;
    let found = fixture.get(&parked).await;
    assert_eq!(json!([found["status"], found["parked"]]), json!(["pending", true]));
    let close = format!("/api/v1/runs/{}/close", fixture.claim.run);
    let closed = fixture.cluster.first.post_as(&close, &fixture.cluster.operator.token, json!({})).await;
    closed.assert_failure(409, "conflict");
    assert_eq!(fixture.continuing_turns().await, [] as [Value; 0]);

    assert_eq!(fixture.answer(&parked, "yes").await, 200);
    assert_eq!(fixture.get(&parked).await["status"], "void");
    assert_eq!(fixture.answer(&parked, "no").await, 409, "decided");
    fixture.continue_turn().await;
    let again = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.take_or_park(&again).await, json!(["delivering", "yes", false]));
    assert_eq!(fixture.get(&parked).await["status"], "reused");
    let third = fixture.create_question("2", "touch a").await;
    assert_eq!(fixture.get(&third).await["status"], "pending", "once");
}

#[tokio::test]
async fn denial_of_a_parked_question_is_told_in_the_next_turn() {
    let mut fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    fixture.park(&parked).await;
    assert_eq!(fixture.answer(&parked, "no").await, 200);
    let turns = fixture.continuing_turns().await;
    assert!(text(&turns[0]["payload"], "prompt").contains("has denied it"), "{turns:?}");
    fixture.continue_turn().await;
    let again = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.take_or_park(&again).await, json!(["delivering", "no", false]));
}

#[tokio::test]
async fn last_answer_of_several_parked_questions_continues_the_turn() {
    let mut fixture = QuestionFixture::new().await;
    let (first, second) =
        (fixture.create_question("0", "touch a").await, fixture.create_question("1", "touch b").await);
    fixture.park(&first).await;
    assert_eq!(fixture.get(&second).await["parked"], true);
    assert_eq!(fixture.answer(&first, "yes").await, 200);
    assert_eq!(fixture.continuing_turns().await, [] as [Value; 0]);
    assert_eq!(fixture.answer(&second, "no").await, 200);
    fixture.continue_turn().await;
    let (allowed, denied) =
        (fixture.create_question("2", "touch a").await, fixture.create_question("3", "touch b").await);
    assert_eq!(fixture.take_or_park(&allowed).await, json!(["delivering", "yes", false]));
    assert_eq!(fixture.take_or_park(&denied).await, json!(["delivering", "no", false]));
}

#[tokio::test]
async fn answer_continues_the_turn_when_its_other_question_expires() {
    let mut fixture = QuestionFixture::new().await;
    let (answered, expired) =
        (fixture.create_question("0", "touch a").await, fixture.create_question("1", "touch b").await);
    fixture.park(&expired).await;
    assert_eq!(fixture.answer(&answered, "yes").await, 200);
    assert_eq!(fixture.continuing_turns().await, [] as [Value; 0]);
    let found = fixture.expire(&expired, |found| found["status"] == "void").await;
    assert_eq!(json!([found["effect"], found["decidedBy"]]), json!(["deny", ["expiry"]]));
    let turns = fixture.continuing_turns().await;
    assert_eq!(turns[0]["payload"]["approvalId"], answered);
    assert!(text(&turns[0]["payload"], "prompt").contains("has allowed it now"), "{turns:?}");
    fixture.continue_turn().await;
    let (allowed, denied) =
        (fixture.create_question("2", "touch a").await, fixture.create_question("3", "touch b").await);
    assert_eq!(fixture.take_or_park(&allowed).await, json!(["delivering", "yes", false]));
    assert_eq!(fixture.take_or_park(&denied).await, json!(["delivering", "no", false]));
}

#[tokio::test]
async fn turn_stays_ended_when_all_its_parked_questions_expire() {
    let fixture = QuestionFixture::new().await;
    let questions =
        [fixture.create_question("0", "touch a").await, fixture.create_question("1", "touch b").await];
    fixture.park(&questions[0]).await;
    for question in &questions {
        fixture.expire(question, |found| found["status"] == "void").await;
    }
    assert_eq!(fixture.continuing_turns().await, [] as [Value; 0]);
}

#[tokio::test]
async fn answer_before_the_parked_turn_has_ended_is_not_lost() {
    let mut fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    fixture.pass_time("11 minutes").await;
    assert_eq!(fixture.take_or_park(&parked).await, json!(["pending", null, true]));
    assert_eq!(fixture.answer(&parked, "yes").await, 200);
    assert_eq!(fixture.get(&parked).await["status"], "decided");
    // Its runner interrupts the turn.
    let body = json!({ "status": "cancelled" });
    assert_eq!(fixture.cluster.first.finish(&fixture.claim, &fixture.command, body).await.status, 200);
    assert_eq!(fixture.get(&parked).await["status"], "void");
    let [turn] = &fixture.continuing_turns().await[..] else { panic!("one turn continues") };
    fixture.command = text(turn, "commandId");
    assert_eq!(fixture.cluster.first.ack(&fixture.claim, &fixture.command).await.status, 200);
    let again = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.take_or_park(&again).await, json!(["delivering", "yes", false]));
}

#[tokio::test]
async fn cancelled_run_withdraws_its_parked_questions() {
    let fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    fixture.park(&parked).await;
    let cancel = format!("/api/v1/runs/{}/cancel", fixture.claim.run);
    let cancelled = fixture.cluster.first.post_as(&cancel, &fixture.cluster.operator.token, json!({})).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let found = fixture.get(&parked).await;
    assert_eq!(json!([found["status"], found["endReason"]]), json!(["withdrawn", "cancelled"]));
    assert_eq!(fixture.answer(&parked, "yes").await, 409);
}

#[tokio::test]
async fn parked_question_survives_the_loss_of_its_runner() {
    let mut fixture = QuestionFixture::new().await;
    let parked = fixture.create_question("0", "touch a").await;
    fixture.pass_time("11 minutes").await;
    assert_eq!(fixture.take_or_park(&parked).await, json!(["pending", null, true]));
    fixture.lose_runner().await;
    let found = fixture.get(&parked).await;
    assert_eq!(json!([found["status"], found["parked"]]), json!(["pending", true]));
    assert_eq!(fixture.answer(&parked, "yes").await, 200);
    fixture.continue_turn().await;
    let again = fixture.create_question("1", "touch a").await;
    assert_eq!(fixture.take_or_park(&again).await, json!(["delivering", "yes", false]));
}

/// The process has waited for as long as it may, and the answer comes while the server parks the question.
#[tokio::test]
async fn answer_that_is_decided_while_the_question_is_parked_is_delivered() {
    let fixture = QuestionFixture::new().await;
    let asked = fixture.create_question("0", "touch a").await;
    fixture.pass_time("11 minutes").await;
    let mut sql = fixture.cluster.db.sql().await;
    let run = fixture.claim.run.trim_start_matches("run_");
    sql.execute("BEGIN").await;
    sql.execute(format!("SELECT 1 FROM journal_heads WHERE owner = '{run}' FOR UPDATE")).await;
    let decide = async {
        let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        let mut other = fixture.cluster.db.sql().await;
        while other.number(waiting).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        sql.execute(
            "UPDATE approvals SET status = 'decided', option_id = 'yes', effect = 'allow', decided_by_kind = 'people', \
             decided_by = ARRAY(SELECT id FROM principals WHERE is_operator), decided_at = now()",
        )
        .await;
        sql.execute("COMMIT").await;
    };
    let taken = async { tokio::join!(fixture.take_or_park(&asked), decide).0 };
    let taken = tokio::time::timeout(TIMEOUT, taken).await.expect("taken");
    assert_eq!(taken, json!(["delivering", "yes", false]));
}

#[tokio::test]
async fn idle_limit_of_a_run_does_not_end_it_while_its_question_is_parked() {
    let fixture = QuestionFixture::new().await;
    let asked = fixture.create_question("0", "touch a").await;
    fixture.park(&asked).await;
    let idle = fixture.cluster.create_run(&fixture.tenant).await;
    let mut sql = fixture.cluster.db.sql().await;
    sql.execute("UPDATE runs SET waiting_since = waiting_since - interval '8 days'").await;
    let poll = async {
        while fixture.cluster.get_run(&idle).await["terminalStatus"].is_null() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, poll).await.expect("the idle run ends");
    assert_eq!(fixture.get(&asked).await["status"], "pending");
    assert_eq!(fixture.answer(&asked, "yes").await, 200);
    assert_eq!(fixture.continuing_turns().await.len(), 1);
}
