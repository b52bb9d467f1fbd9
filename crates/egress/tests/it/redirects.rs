//! Redirects from an allowed server to a blocked one.

use guildhall_egress::Request;

use crate::support::{ScriptedResponse, Server, dev_options, egress};

#[tokio::test]
async fn redirect_to_an_internal_address_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let server =
            Server::start(ScriptedResponse::Redirect(status, "http://169.254.169.254/latest/".to_owned()))
                .await;
        let request = Request::post(&server.url("/hook"), "body").expect("a URL");
        let response = egress(&dev_options()).send(request).await.expect("a response");
        assert_eq!(response.status.as_u16(), status);
        assert_eq!(response.headers["location"], "http://169.254.169.254/latest/");
        assert_eq!(response.body, b"elsewhere");
        assert_eq!(server.connections().await, 1);
    }
}

/// Redirects are never followed: the caller decides.
#[tokio::test]
async fn redirect_to_an_allowed_address_is_not_followed() {
    let target = Server::start(ScriptedResponse::Text("secret")).await;
    let server = Server::start(ScriptedResponse::Redirect(302, target.url("/"))).await;
    let request = Request::get(&server.url("/")).expect("a URL");
    assert_eq!(egress(&dev_options()).send(request).await.expect("a response").status.as_u16(), 302);
    assert_eq!(target.connections().await, 0);
}
