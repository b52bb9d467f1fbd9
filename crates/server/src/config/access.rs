use super::section::section;

section! {
    /// Who may reach the server at all.
    Access = "access" {
        /// Closes every route but liveness, sign-in and the public keys to those without a token.
        require_auth: bool = "false";
        /// Host names under which clients reach this server, besides the address it listens on and loopback; in the
        /// environment divided by commas.
        /// A request for another is refused: it may come from a web page that made its name point here.
        #[serde(deserialize_with = "super::list::list")]
        allow_hosts: Vec<String> = "[]";
        /// Web pages of these origins (such as `https://console.example.org`) may call the API; others may not.
        #[serde(deserialize_with = "super::list::list")]
        allow_origins: Vec<String> = "[]";
    }
}
