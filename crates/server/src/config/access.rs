use super::section::section;

section! {
    /// Access checks that apply to every request.
    Access = "access" {
        /// Require a token on every route, except liveness, the readiness status, sign-in and the public keys.
        require_auth: bool = "false";
        /// Host names that clients may use for this server, besides loopback and the listen address. In the
        /// environment, separate them with commas. Requests with another Host header are rejected, against DNS
        /// rebinding.
        #[serde(deserialize_with = "super::list::list")]
        allow_hosts: Vec<String> = "[]";
        /// Origins of web pages that may call the API, such as `https://console.example.org`.
        #[serde(deserialize_with = "super::list::list")]
        allow_origins: Vec<String> = "[]";
    }
}
