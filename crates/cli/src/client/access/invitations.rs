//! `guildhall invitations`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::InviteId;
use guildhall_protocol::rest::access::invitations::InvitationView;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, TenantArg, parse_role};
use crate::client::password;
use crate::output::{format_table, format_time, print_result, sanitize_line};

const EXAMPLES: &str = "Examples:
  guildhall invitations create --role developer --email ada@example.org --tenant acme
  guildhall invitations ls --tenant acme
  guildhall invitations revoke inv_01920000000070008000000000000000 --tenant acme
  guildhall invitations accept              Prompt for an invitation and accept it for the signed-in user

An invitation can be accepted once, within seven days, by anyone who has it. Guildhall sends no mail: hand it over
yourself. A person without an account accepts it with `guildhall login --oidc --invited`.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InvitationsArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct CreateArgs {
    /// Role of the new member, not above your own: owner, operator, developer or viewer
    #[arg(long, value_parser = parse_role)]
    role: Role,
    /// Address of the invited person; only a note, it is neither used nor checked
    #[arg(long, value_name = "NOTE")]
    email: Option<String>,
    /// Idempotency key: a repeated command with the same key does not create a second invitation
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: TenantArg,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Create an invitation and print it; it is not shown again
    Create(CreateArgs),
    /// List the invitations of a tenant, newest first, without their secrets
    Ls {
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Revoke an invitation
    Revoke {
        /// Id of the invitation
        #[arg(value_name = "INVITATION")]
        id: InviteId,
        #[command(flatten)]
        tenant: TenantArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Accept an invitation for the signed-in user; reads it from standard input or a prompt
    Accept {
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &InvitationsArgs) -> Result<()> {
    match &args.command {
        Commands::Create(args) => block_on(create(args)),
        Commands::Ls { tenant, common } => block_on(list(tenant, common)),
        Commands::Revoke { id, tenant, common } => block_on(revoke(*id, tenant, common)),
        Commands::Accept { common } => block_on(accept(common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let (client, tenant) = args.tenant.connect(&args.common).await?;
    let (email, key) = (args.email.as_deref(), args.idempotency_key.as_deref());
    let created = client.create_invitation(tenant, args.role, email, key).await?;
    let secret = created.secret.as_ref().map(ExposeSecret::expose_secret);
    print_result(args.common.json, &json!({ "id": created.id, "secret": secret }), || match secret {
        Some(secret) => {
            format!("created invitation {}; it is shown only now:\n\n{secret}", created.id)
        }
        None => {
            format!(
                "invitation {} already exists for this idempotency key; it is not shown again",
                created.id
            )
        }
    })?;
    Ok(())
}

async fn list(tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    let invitations = client.list_invitations(tenant).await?;
    print_result(common.json, &json!({ "invitations": invitations }), || {
        let rows = invitations.iter().map(|it| {
            let email = it.email.as_deref().map_or_else(|| "-".to_owned(), sanitize_line);
            [it.id.clone(), it.role.clone(), email, format_time(it.expires_at), state(it)]
        });
        format_table(["INVITATION", "ROLE", "FOR", "EXPIRES", "STATE"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

/// Returns the state of an invitation. Expiry has its own column.
fn state(invitation: &InvitationView) -> String {
    match (&invitation.accepted_by, invitation.revoked_at) {
        (Some(by), _) => format!("accepted by {by}"),
        (None, Some(at)) => format!("revoked {}", format_time(at)),
        (None, None) => "open".to_owned(),
    }
}

async fn revoke(id: InviteId, tenant: &TenantArg, common: &CommonArgs) -> Result<()> {
    let (client, tenant) = tenant.connect(common).await?;
    client.revoke_invitation(tenant, id).await?;
    print_result(common.json, &json!({ "id": id, "revoked": true }), || format!("revoked {id}"))?;
    Ok(())
}

async fn accept(common: &CommonArgs) -> Result<()> {
    let client = common.connect()?.client;
    let joined = client.accept_invitation(&password::read_invitation()?).await?;
    print_result(common.json, &json!(joined), || format!("you joined {} as {}", joined.tenant, joined.role))?;
    Ok(())
}
