//! Attachments in a bucket of a real server with the S3 protocol.

use std::time::Duration;

use guildhall_service::front::object_storage::{BucketCredentials, BucketOptions, ObjectStorage};
use guildhall_testkit::{S3_ACCESS_KEY, S3_BUCKET, S3_SECRET_KEY, S3Server, Stopwatch, TestDb};
use secrecy::SecretString;

use crate::support::Setup;
use crate::support::attachments::{PNG, path_of, upload};
use crate::support::cluster::Cluster;
use crate::support::runs::text;

fn with_bucket(setup: Setup, s3: &S3Server, secret: &str) -> Setup {
    setup
        .with("attachments.bucket", S3_BUCKET)
        .with("attachments.endpoint", s3.url())
        .with("attachments.access_key_id", S3_ACCESS_KEY)
        .with("attachments.secret_access_key", secret)
}

fn bucket(s3: &S3Server) -> ObjectStorage {
    let credentials = BucketCredentials {
        access_key_id: S3_ACCESS_KEY.to_owned(),
        secret_access_key: SecretString::from(S3_SECRET_KEY),
    };
    let options = BucketOptions {
        bucket: S3_BUCKET.to_owned(),
        region: "us-east-1".to_owned(),
        endpoint: Some(s3.url()),
        credentials: Some(credentials),
    };
    ObjectStorage::in_bucket(&options).expect("a bucket")
}

#[tokio::test]
async fn image_in_a_bucket_is_read_on_the_other_replica_and_removed_when_unused() {
    let (s3, db) = (S3Server::start(), TestDb::new().await);
    let setup = with_bucket(Setup::new(&db), &s3, S3_SECRET_KEY).with("attachments.collect_every", "200ms");
    let cluster = Cluster::with_setup(setup, db).await;
    let tenant = cluster.create_tenant("acme").await;
    let image = [PNG, &vec![7; 9 << 20]].concat();
    let uploaded = upload(&cluster.first, &cluster.operator.token, "image/png", &image).await;
    assert_eq!(uploaded.status, 201, "{}", uploaded.text);
    let path = path_of(&uploaded.body);
    let read = cluster.second.client.get(cluster.second.url(&path)).send().await.expect("a response");
    assert_eq!(read.status(), 200);
    assert!(read.bytes().await.expect("a body") == image);

    let (bucket, key) = (bucket(&s3), format!("{tenant}/{}", text(&uploaded.body, "id")));
    let found = bucket.get(&key).await.expect("read").expect("an object");
    assert_eq!(found.size_bytes, u64::try_from(image.len()).expect("small"));
    cluster.db.sql().await.execute("UPDATE attachments SET created_at = now() - interval '2 days'").await;
    let began = Stopwatch::start();
    while cluster.db.sql().await.number("SELECT count(*) FROM attachments").await > 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the attachment is not removed");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(bucket.get(&key).await.expect("read").is_none(), "the object went before the row");
}

#[tokio::test]
async fn bucket_with_a_wrong_key_or_without_a_server_is_a_503_with_words() {
    let (mut s3, db) = (S3Server::start(), TestDb::new().await);
    let good = with_bucket(Setup::new(&db), &s3, S3_SECRET_KEY);
    let wrong = with_bucket(Setup::new(&db), &s3, "another-secret");
    let cluster = Cluster::with_setups(good, wrong, db).await;
    cluster.create_tenant("acme").await;
    let token = &cluster.operator.token;
    let uploaded = upload(&cluster.first, token, "image/png", PNG).await;
    assert_eq!(uploaded.status, 201, "{}", uploaded.text);
    let path = path_of(&uploaded.body);
    let down = "the storage of attachments is unavailable; try again later";
    let expect_down = |response: &crate::support::TestResponse| {
        response.assert_failure(503, "infra-failed");
        assert_eq!(response.body["message"], down);
    };
    expect_down(&upload(&cluster.second, token, "image/png", PNG).await);
    expect_down(&cluster.second.get(&path).await);
    s3.kill();
    expect_down(&upload(&cluster.first, token, "image/png", PNG).await);
    expect_down(&cluster.first.get(&path).await);
    let stored = "SELECT count(*) FROM attachments WHERE stored_at IS NOT NULL";
    assert_eq!(cluster.db.sql().await.number(stored).await, 1);
}
