//! Attack: a server that may be called sends us to one that may not.

use guildhall_egress::Request;

use crate::support::{Answer, Server, dev_options, egress};

#[tokio::test]
async fn a_redirect_inside_comes_back_and_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let server =
            Server::start(Answer::Redirect(status, "http://169.254.169.254/latest/".to_owned())).await;
        let request = Request::post(&server.url("/hook"), "body").expect("a URL");
        let response = egress(&dev_options()).send(request).await.expect("answered");
        assert_eq!(response.status.as_u16(), status);
        assert_eq!(response.headers["location"], "http://169.254.169.254/latest/");
        assert_eq!(response.body, b"elsewhere");
        assert_eq!(server.connections().await, 1);
    }
}

/// Even where the rules would let the call through: a redirect is the caller's to judge.
#[tokio::test]
async fn a_redirect_to_an_allowed_address_is_not_followed_either() {
    let target = Server::start(Answer::Text("secret")).await;
    let server = Server::start(Answer::Redirect(302, target.url("/"))).await;
    let request = Request::get(&server.url("/")).expect("a URL");
    assert_eq!(egress(&dev_options()).send(request).await.expect("answered").status.as_u16(), 302);
    assert_eq!(target.connections().await, 0);
}
