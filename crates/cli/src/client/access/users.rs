//! `guildhall users`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::PrincipalId;
use guildhall_protocol::rest::access::users::UserView;
use guildhall_sdk::{Client, UserScope};
use serde_json::json;

use super::operators::explain_refusal;
use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::client::password;
use crate::error::{NotFoundError, UsageError};
use crate::output::{
    format_fields, format_optional_time, format_table, format_time, print_result, sanitize_line,
};

const EXAMPLES: &str = "Examples:
  guildhall users create ada         Prompt for the password
  guildhall users create ada --password-stdin < ada.password
  guildhall users ls --prefix ad     List users whose name starts with `ad`
  guildhall users disable ada        End all logins of a user and refuse new ones
  guildhall users end-logins ada     End all logins of a user, who can sign in again
  guildhall users reset-password ada --password-stdin < ada.password

These commands are for operators of the installation. A new user is not a member of any tenant; add them with
`guildhall members add`.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UsersArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct ListUsersArgs {
    /// Only users with exactly this name
    #[arg(long, conflicts_with = "prefix")]
    name: Option<String>,
    /// Only users whose name starts with this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,
    /// Maximum number of users
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100))]
    limit: u32,
    /// Only users created before this user (principal id)
    #[arg(long, value_name = "PRINCIPAL")]
    before: Option<PrincipalId>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args)]
struct PasswordArgs {
    /// Read the password (at least 12 characters) from standard input
    #[arg(long)]
    password_stdin: bool,
}

#[derive(Args)]
struct UserArgs {
    /// Name or principal id (prn_…) of the user
    user: String,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create a user
    Create {
        /// Name to sign in with
        name: String,
        #[command(flatten)]
        password: PasswordArgs,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// List users, newest first
    Ls(ListUsersArgs),
    /// Show a user
    Show(UserArgs),
    /// Disable a user: end their logins and streams, and refuse new sign-ins
    Disable(UserArgs),
    /// Enable a disabled user
    Enable(UserArgs),
    /// Unlock a user after too many failed sign-ins
    Unlock(UserArgs),
    /// Set a new password for another user, and end their logins
    ResetPassword {
        #[command(flatten)]
        password: PasswordArgs,
        #[command(flatten)]
        user: UserArgs,
    },
    /// End all logins of a user
    EndLogins(UserArgs),
}

pub(crate) fn run(args: &UsersArgs) -> Result<()> {
    match &args.command {
        Commands::Create { name, password, common } => block_on(create(name, password, common)),
        Commands::Ls(args) => block_on(list(args)),
        Commands::Show(args) => block_on(show(args)),
        Commands::Disable(args) => block_on(disable(args)),
        Commands::Enable(args) => block_on(enable(args)),
        Commands::Unlock(args) => block_on(unlock(args)),
        Commands::ResetPassword { password, user } => block_on(reset_password(password, user)),
        Commands::EndLogins(args) => block_on(end_logins(args)),
    }
}

async fn create(name: &str, password: &PasswordArgs, common: &CommonArgs) -> Result<()> {
    let password = password::read_new(name, password.password_stdin)?;
    let user = common.connect()?.client.create_user(name, &password).await.map_err(explain_refusal)?;
    print_user(common, &user, "created user")
}

async fn list(args: &ListUsersArgs) -> Result<()> {
    let scope = match (&args.name, &args.prefix) {
        (Some(name), _) => UserScope::Name(name),
        (None, Some(prefix)) => UserScope::NamePrefix(prefix),
        (None, None) => UserScope::All,
    };
    let listed = args.common.connect()?.client.list_users(scope, args.before, args.limit).await;
    let page = listed.map_err(explain_refusal)?;
    print_result(args.common.json, &json!(page), || {
        let rows = page.users.iter().map(|user| {
            [user.name.clone(), state(user), format_time(user.created_at), user.principal.clone()]
        });
        format_table(["NAME", "STATE", "CREATED", "PRINCIPAL"], &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older users: add --before {next}");
    }
    Ok(())
}

async fn show(args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    let user = client.get_user(user).await?;
    print_result(args.common.json, &json!(user), || {
        let sign_in = if user.has_password { "password" } else { "identity provider" };
        format_fields(&[
            ("name", user.name.clone()),
            ("principal", user.principal.clone()),
            ("state", state(&user)),
            ("operator", if user.operator { "yes" } else { "no" }.to_owned()),
            ("signs in with", sign_in.to_owned()),
            ("created", format_time(user.created_at)),
            ("disabled", format_optional_time(user.disabled_at)),
            ("locked until", format_optional_time(user.locked_until)),
        ])
    })?;
    Ok(())
}

async fn disable(args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    print_user(&args.common, &client.disable_user(user).await?, "disabled")
}

async fn enable(args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    print_user(&args.common, &client.enable_user(user).await?, "enabled")
}

async fn unlock(args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    print_user(&args.common, &client.unlock_user(user).await?, "unlocked")
}

async fn reset_password(password: &PasswordArgs, args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    let password = password::read_new(&args.user, password.password_stdin)?;
    let user = client.reset_password(user, &password).await?;
    print_user(&args.common, &user, "set the password and ended the logins of")
}

async fn end_logins(args: &UserArgs) -> Result<()> {
    let (client, user) = args.find().await?;
    let ended = client.end_user_logins(user).await?.ended_logins;
    let value = json!({ "principal": user, "endedLogins": ended });
    print_result(args.common.json, &value, || {
        format!("ended the logins of {}: {ended}", sanitize_line(&args.user))
    })?;
    Ok(())
}

fn print_user(common: &CommonArgs, user: &UserView, what: &str) -> Result<()> {
    print_result(common.json, &json!(user), || {
        format!("{what} {} ({})", sanitize_line(&user.name), user.principal)
    })?;
    Ok(())
}

fn state(user: &UserView) -> String {
    match (user.disabled_at, user.locked_until) {
        (Some(_), _) => "disabled",
        (None, Some(_)) => "locked",
        (None, None) => "active",
    }
    .to_owned()
}

impl UserArgs {
    /// Connects, and returns the id of the user that is given as an id or a name.
    async fn find(&self) -> Result<(Client, PrincipalId)> {
        let client = self.common.connect()?.client;
        let user = find_user(&client, &self.user).await?;
        Ok((client, user))
    }
}

/// Returns the id of a user that is given as an id or a name.
pub(crate) async fn find_user(client: &Client, user: &str) -> Result<PrincipalId> {
    if let Ok(id) = user.parse() {
        return Ok(id);
    }
    let found = client.list_users(UserScope::Name(user), None, 2).await.map_err(explain_refusal)?;
    let mut found = found.users.into_iter();
    let first = found.next().ok_or_else(|| NotFoundError {
        object: "user",
        name: user.to_owned(),
        next: "`guildhall users ls` lists users; it is for operators of the installation",
    })?;
    // Names from an identity provider are not unique.
    if found.next().is_some() {
        return Err(UsageError(
            "several users have this name\n  next: give the principal id that `guildhall users ls` shows",
        )
        .into());
    }
    Ok(first.principal.parse()?)
}
