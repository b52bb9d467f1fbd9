//! When attachments are removed, and when not.

use std::time::Duration;

use guildhall_store::attachments::{RemovalAges, add_session, begin_removal};

use crate::support::attachments::{AttachmentFixture as Fixture, HOUR, path_of, sorted};
use crate::support::runs::text;

#[tokio::test]
async fn removal_takes_what_no_session_uses_and_nothing_else() {
    let fixture = Fixture::with(&[("attachments.collect_every", "200ms")]).await;
    let [new, old, used, broken, interrupted] = [
        fixture.upload().await,
        fixture.upload().await,
        fixture.upload().await,
        fixture.upload().await,
        fixture.upload().await,
    ];
    let session = fixture.create_session().await;
    fixture.reference(&fixture.resolved(&used).await, session).await;
    let two_days_ago = "created_at = now() - interval '2 days'";
    fixture.update(&used, two_days_ago).await;
    fixture.update(&broken, "stored_at = NULL, created_at = now() - interval '2 hours'").await;
    fixture.update(&interrupted, "removing_since = now() - interval '10 minutes'").await;
    fixture.update(&old, two_days_ago).await;
    let kept = [&new, &used].map(|attachment| text(attachment, "id"));
    fixture.wait_for_rows(&kept).await;
    assert_eq!(fixture.objects(), sorted(&kept));
    for (attachment, status) in [(&new, 200), (&used, 200), (&old, 404), (&broken, 404), (&interrupted, 404)]
    {
        assert_eq!(fixture.cluster.second.get(&path_of(attachment)).await.status, status);
    }

    // With its last session it goes at once.
    let other_session = fixture.create_session().await;
    fixture.reference(&fixture.resolved(&used).await, other_session).await;
    fixture.reference(&fixture.resolved(&used).await, other_session).await;
    fixture.update(&used, "created_at = now()").await;
    fixture.delete_session(session).await;
    let rounds = fixture.store();
    let ages = RemovalAges { unreferenced: HOUR, unfinished_upload: HOUR, unfinished_removal: HOUR };
    let claimed = begin_removal(&rounds, ages, 10).await.expect("read");
    assert_eq!(claimed, [], "the other session uses it");
    fixture.delete_session(other_session).await;
    fixture.wait_for_rows(&kept[..1]).await;
    assert_eq!(fixture.objects(), kept[..1]);
}

#[tokio::test]
async fn attachment_of_an_open_turn_is_not_removed_and_a_removed_one_not_used() {
    let fixture = Fixture::new().await;
    let (taken, removed) = (fixture.upload().await, fixture.upload().await);
    let [used, gone] = [fixture.resolved(&taken).await, fixture.resolved(&removed).await];
    let (session, store) = (fixture.create_session().await, fixture.store());
    let mut tx = store.begin().await.expect("a transaction");
    assert!(add_session(&mut tx, used.id, session).await.expect("referenced"));
    let ages =
        RemovalAges { unreferenced: Duration::ZERO, unfinished_upload: HOUR, unfinished_removal: HOUR };
    let claimed = begin_removal(&store, ages, 10).await.expect("claimed");
    assert_eq!(claimed, [(gone.owner.tenant, gone.id)], "the other one is locked by the turn");
    tx.commit().await.expect("committed");
    let claimed = begin_removal(&store, ages, 10).await.expect("claimed");
    assert_eq!(claimed, []);
    let mut tx = store.begin().await.expect("a transaction");
    assert!(!add_session(&mut tx, gone.id, session).await.expect("read"), "it is being removed");
    fixture.cluster.second.get(&path_of(&removed)).await.assert_failure(404, "not-found");
}
