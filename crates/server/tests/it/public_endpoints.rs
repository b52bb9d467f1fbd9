use guildhall_testkit::TestDb;

use crate::support::Setup;

#[tokio::test]
async fn served_openapi_document_matches_the_committed_one() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    let served = server.get("/openapi.json").await;
    let committed = include_str!("../../../../schemas/openapi.json");
    let committed: serde_json::Value = serde_json::from_str(committed).expect("JSON");
    assert_eq!(served.body, committed, "run `cargo xtask schemas`");
}

#[tokio::test]
async fn api_docs_page_loads_nothing_from_other_hosts() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    let page = server.get("/docs/").await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains("swagger-ui"), "{}", page.text);
    assert!(!page.text.contains("https://"), "the page loads from another host: {}", page.text);
}

#[tokio::test]
async fn metrics_label_requests_by_route_and_not_by_raw_path() {
    let db = TestDb::new().await;
    let server = Setup::new(&db).start().await;
    server.get("/health/live").await;
    server.get("/invented/by-a-caller").await;
    let metrics = server.get("/metrics").await;
    assert!(metrics.header("content-type").starts_with("text/plain"));
    assert!(
        metrics
            .text
            .contains(r#"guildhall_http_requests_total{method="GET",route="/health/live",status="200"}"#)
    );
    assert!(!metrics.text.contains("invented"), "{}", metrics.text);
}
