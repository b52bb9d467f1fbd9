//! Images that applications upload: who can read them, and what is refused.

use std::time::Duration;

use guildhall_domain::front::attachment::{Attachment, AttachmentOwner, ImageType};
use guildhall_domain::front::attachment_link::AttachmentLink;
use guildhall_domain::ids::{AttachmentId, TenantId};
use guildhall_identity::attachment_key::AttachmentKey;
use guildhall_identity::seal::Kek;
use guildhall_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::attachments::{
    AttachmentFixture as Fixture, HOUR, PNG, PUBLIC_URL, UPLOADS, key, path_of, upload,
};
use crate::support::cluster::Cluster;
use crate::support::runs::text;
use crate::support::{TestResponse, TestServer, read_response};

/// Returns what a caller sees of a refusal.
fn refusal(response: &TestResponse) -> Value {
    let mut body = response.body.clone();
    body["traceId"] = json!("");
    body
}

#[tokio::test]
async fn image_uploaded_on_one_replica_is_read_on_the_other_without_a_token() {
    let fixture = Fixture::new().await;
    let uploaded = fixture.upload().await;
    let (id, path) = (text(&uploaded, "id"), path_of(&uploaded));
    let expected = json!({
        "id": id, "mimeType": "image/png", "size": PNG.len(),
        "url": format!("{PUBLIC_URL}{path}"), "expiresAt": uploaded["expiresAt"],
    });
    assert_eq!(uploaded, expected);
    let expires_at: Timestamp = text(&uploaded, "expiresAt").parse().expect("a time");
    let left = expires_at.duration_since(Clock::system().now());
    assert!(left > SignedDuration::from_mins(55) && left <= SignedDuration::from_mins(60), "{left}");

    let second = &fixture.cluster.second;
    let response = second.client.get(second.url(&path)).send().await.expect("a response");
    let headers = response.headers().clone();
    let header = |name: &str| headers.get(name).map_or("", |value| value.to_str().expect("text")).to_owned();
    assert_eq!((response.status().as_u16(), header("content-type")), (200, "image/png".to_owned()));
    assert_eq!(header("content-length"), PNG.len().to_string());
    assert_eq!(header("content-disposition"), format!("attachment; filename=\"{id}.png\""));
    assert_eq!(header("content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(header("x-content-type-options"), "nosniff");
    assert_eq!(header("referrer-policy"), "no-referrer");
    let age = header("cache-control").strip_prefix("private, max-age=").map(str::parse::<i64>);
    let age = age.expect("a private cache").expect("seconds");
    assert!((3300..=3600).contains(&age), "{age}");
    assert_eq!(response.bytes().await.expect("a body"), PNG);
    assert_eq!(fixture.objects(), [id], "the internal path is the tenant and the id");
}

#[tokio::test]
async fn forged_expired_and_foreign_urls_look_like_a_missing_attachment() {
    let fixture = Fixture::new().await;
    let uploaded = fixture.upload().await;
    let other = fixture.cluster.create_user("other").await;
    let id: AttachmentId = text(&uploaded, "id").parse().expect("an id");
    let (now, mine) = (Clock::system().now(), fixture.owner(&fixture.cluster.operator));
    let missing = AttachmentId::generate();
    let valid = key().sign(mine, id, now, HOUR);
    assert_eq!(fixture.cluster.second.get(&valid.to_string()).await.status, 200, "a valid one is found");
    let wrong_key = AttachmentKey::new(&Kek::from_hex(&SecretString::from("a".repeat(64))).expect("a key"));
    let other_tenant = AttachmentOwner { tenant: TenantId::generate(), ..mine };
    let with_id = |link: AttachmentLink, id| link.to_string().replace(&link.claims.id.to_string(), id);
    let second_upload = text(&fixture.upload().await, "id");
    let links = [
        key().sign(mine, missing, now, HOUR).to_string(),
        key().sign(mine, id, now - SignedDuration::from_hours(2), HOUR).to_string(),
        key().sign(mine, id, now - SignedDuration::from_hours(1), HOUR).to_string(),
        key().sign(fixture.owner(&other), id, now, HOUR).to_string(),
        key().sign(other_tenant, id, now, HOUR).to_string(),
        wrong_key.sign(mine, id, now, HOUR).to_string(),
        with_id(valid, &second_upload),
        valid.to_string().replace("expires=1", "expires=2"),
        valid.to_string().split_once("&signature").expect("a signature").0.to_owned(),
        format!("{UPLOADS}/{id}/content"),
        format!("{UPLOADS}/nonsense/content"),
        with_id(valid, &format!("..%2f{}%2f{id}", fixture.tenant)),
        with_id(valid, "..%2f..%2f..%2f..%2fetc%2fpasswd"),
        with_id(valid, &format!("{id}%00.png")),
    ];
    let mut refusals = Vec::new();
    for link in &links {
        let response = fixture.cluster.second.get(link).await;
        response.assert_failure(404, "not-found");
        refusals.push(refusal(&response));
    }
    assert!(refusals.iter().all(|body| *body == refusals[0]), "{refusals:?}");
}

#[tokio::test]
async fn body_that_is_not_the_declared_image_is_refused_and_nothing_is_stored() {
    let fixture = Fixture::new().await;
    let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"/>";
    let refused = [
        ("image/jpeg", PNG),
        ("image/png", svg.as_slice()),
        ("image/svg+xml", svg),
        ("text/html", b"<script>alert(1)</script>"),
        ("image/png", b"<script>alert(1)</script>"),
        ("image/png", b"\x89PN"),
        ("image/png", b""),
        ("application/octet-stream", PNG),
        ("", PNG),
    ];
    for (content_type, body) in refused {
        let token = &fixture.cluster.operator.token;
        upload(&fixture.cluster.first, token, content_type, body).await.assert_failure(422, "invalid-input");
    }
    assert_eq!(fixture.cluster.db.sql().await.number("SELECT count(*) FROM attachments").await, 0);
    assert_eq!(fixture.objects(), Vec::<String>::new());
}

/// Sends the head of an upload and the beginning of its body, and returns the response.
async fn send_raw(server: &TestServer, token: &str, head: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("connected");
    let head = format!(
        "POST {UPLOADS}?tenantId=acme HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: image/png\r\n\
         connection: close\r\n{head}\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(body).await.expect("sent");
    let mut response = Vec::new();
    let reading = stream.read_to_end(&mut response);
    let _reset = tokio::time::timeout(Duration::from_secs(60), reading).await.expect("a response in time");
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test]
async fn body_that_is_too_large_or_no_image_is_refused_before_it_has_arrived() {
    let fixture = Fixture::with(&[("attachments.max_bytes", "1000")]).await;
    let (server, token) = (&fixture.cluster.first, &fixture.cluster.operator.token);
    // The rest of the bodies is never sent.
    let declared = send_raw(server, token, "content-length: 1001", b"").await;
    assert!(declared.starts_with("HTTP/1.1 413") && declared.contains("payload-too-large"), "{declared}");
    let chunk = [PNG, &[0; 2000]].concat();
    let chunked = [format!("{:x}\r\n", chunk.len()).as_bytes(), &chunk, b"\r\n"].concat();
    let counted = send_raw(server, token, "transfer-encoding: chunked", &chunked).await;
    assert!(counted.starts_with("HTTP/1.1 413") && counted.contains("more than 1000 bytes"), "{counted}");
    let script = send_raw(server, token, "content-length: 900", b"<script>alert(1)</script>").await;
    assert!(script.starts_with("HTTP/1.1 422") && script.contains("invalid-input"), "{script}");
    let other = send_raw(server, "invalid", "content-length: 900", b"").await;
    assert!(other.starts_with("HTTP/1.1 401"), "nothing is read for strangers: {other}");
    let largest = [PNG, &vec![0; 1000 - PNG.len()]].concat();
    assert_eq!(upload(server, token, "image/png", &largest).await.status, 201, "the limit itself is allowed");
}

#[tokio::test]
async fn upload_may_be_larger_than_other_bodies() {
    let fixture = Fixture::with(&[("http.max_body_bytes", "1000")]).await;
    let image = [PNG, &vec![7; 3 << 20]].concat();
    let uploaded = upload(&fixture.cluster.first, &fixture.cluster.operator.token, "image/png", &image).await;
    assert_eq!(uploaded.status, 201, "{}", uploaded.text);
    let second = &fixture.cluster.second;
    let read = second.client.get(second.url(&path_of(&uploaded.body))).send().await.expect("a response");
    assert!(read.bytes().await.expect("a body") == image);
    let token = &fixture.cluster.operator.token;
    let other = second.post_as("/api/v1/tenants", token, json!({ "name": "x".repeat(1000) })).await;
    other.assert_failure(413, "payload-too-large");
}

#[tokio::test]
async fn upload_needs_the_right_to_run_agents_in_a_tenant() {
    let fixture = Fixture::new().await;
    let viewer = fixture.cluster.create_user("viewer").await;
    upload(&fixture.cluster.first, &viewer.token, "image/png", PNG).await.assert_failure(404, "not-found");
    fixture.cluster.set_role(&fixture.tenant, &viewer, "viewer").await;
    upload(&fixture.cluster.first, &viewer.token, "image/png", PNG).await.assert_failure(403, "forbidden");
    let without_tenant = async |token: &str| {
        let request = fixture.cluster.second.client.post(fixture.cluster.second.url(UPLOADS));
        let request = request.bearer_auth(token).header("content-type", "image/png").body(PNG);
        read_response(request.send().await.expect("a response")).await
    };
    let operator = without_tenant(&fixture.cluster.operator.token).await;
    operator.assert_failure(403, "tenant-policy-denied");
    let (_, key) = fixture.cluster.create_key(&fixture.tenant, "developer").await;
    let uploaded = without_tenant(&key).await;
    assert_eq!(uploaded.status, 201, "a service key has its tenant: {}", uploaded.text);
}

#[tokio::test]
async fn server_without_a_storage_says_what_to_configure() {
    let cluster = Cluster::new().await;
    cluster.create_tenant("acme").await;
    let refused = upload(&cluster.first, &cluster.operator.token, "image/png", PNG).await;
    refused.assert_failure(409, "conflict");
    assert!(text(&refused.body, "message").contains("attachments.folder"), "{}", refused.text);
}

#[tokio::test]
async fn unused_attachments_of_one_user_have_a_quota() {
    // A small one counts for 4096 bytes.
    let fixture = Fixture::with(&[("attachments.max_unreferenced_bytes", "8192")]).await;
    let token = &fixture.cluster.operator.token;
    let first = fixture.upload().await;
    let (one, other) = tokio::join!(
        upload(&fixture.cluster.first, token, "image/png", PNG),
        upload(&fixture.cluster.second, token, "image/png", PNG),
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 403], "the second place is given once: {} {}", one.text, other.text);
    let refused = upload(&fixture.cluster.first, token, "image/png", PNG).await;
    refused.assert_failure(403, "tenant-policy-denied");
    assert_eq!(fixture.objects().len(), 2);

    let user = fixture.cluster.create_user("person").await;
    fixture.cluster.set_role(&fixture.tenant, &user, "developer").await;
    let theirs = upload(&fixture.cluster.first, &user.token, "image/png", PNG).await;
    assert_eq!(theirs.status, 201, "others have their own: {}", theirs.text);
    let attachment = fixture.resolved(&first).await;
    fixture.reference(&attachment, fixture.create_session().await).await;
    fixture.upload().await;
}

#[tokio::test]
async fn url_in_a_run_is_resolved_for_its_owner_in_its_tenant_alone() {
    let fixture = Fixture::new().await;
    let uploaded = fixture.upload().await;
    let owner = fixture.owner(&fixture.cluster.operator);
    let id: AttachmentId = text(&uploaded, "id").parse().expect("an id");
    let size_bytes = u64::try_from(PNG.len()).expect("small");
    let expected = Attachment { id, owner, image_type: ImageType::Png, size_bytes };
    assert_eq!(fixture.resolved(&uploaded).await, expected);
    assert_eq!(expected.object_key(), format!("{}/{id}", fixture.tenant));

    let (service, now) = (fixture.service(), Clock::system().now());
    let signed_again = service.sign(owner, id).url;
    let mine = fixture.caller(&fixture.cluster.operator, owner.tenant);
    assert_eq!(service.resolve(&mine, &signed_again).await.expect("resolved"), expected);
    let other = fixture.cluster.create_user("other").await;
    let url = text(&uploaded, "url");
    let signed = |owner, at| format!("{PUBLIC_URL}{}", key().sign(owner, id, at, HOUR));
    let expired = signed(owner, now - SignedDuration::from_hours(2));
    let for_other = signed(fixture.owner(&other), now);
    let forged = url.replace("signature=", "signature=0").split_at(url.len()).0.to_owned();
    let attempts = [
        (fixture.caller(&other, owner.tenant), url.clone()),
        (fixture.caller(&other, owner.tenant), for_other),
        (fixture.caller(&fixture.cluster.operator, TenantId::generate()), url.clone()),
        (fixture.caller(&fixture.cluster.operator, owner.tenant), expired),
        (fixture.caller(&fixture.cluster.operator, owner.tenant), forged),
        (fixture.caller(&fixture.cluster.operator, owner.tenant), "https://x.example/a.png?s=1".to_owned()),
    ];
    for (caller, url) in attempts {
        let error = service.resolve(&caller, &url).await.expect_err("refused");
        let message = "binary content url: must be a signed URL of your own, from POST /api/v1/agent/attachments, \
                       that has not expired";
        assert_eq!(error.failure().message, message, "{url}");
    }
}

#[tokio::test]
async fn unavailable_storage_returns_503_and_stores_nothing() {
    let fixture = Fixture::new().await;
    let before = fixture.upload().await;
    let objects = fixture.folder.path().join("objects");
    let away = fixture.folder.path().join("away");
    std::fs::rename(&objects, &away).expect("moved");
    std::fs::write(&objects, "not a folder").expect("written");
    let token = &fixture.cluster.operator.token;
    let refused = upload(&fixture.cluster.first, token, "image/png", PNG).await;
    refused.assert_failure(503, "infra-failed");
    assert_eq!(refused.body["message"], "the storage of attachments is unavailable; try again later");
    fixture.cluster.second.get(&path_of(&before)).await.assert_failure(503, "infra-failed");
    let stored = "SELECT count(*) FROM attachments WHERE stored_at IS NOT NULL";
    assert_eq!(fixture.cluster.db.sql().await.number(stored).await, 1, "the failed one is never found");
    std::fs::remove_file(&objects).expect("removed");
    std::fs::rename(&away, &objects).expect("moved back");
    assert_eq!(fixture.cluster.second.get(&path_of(&before)).await.status, 200);
    fixture.upload().await;
    assert_eq!(fixture.objects().len(), 2);
}
