//! `guildhall invitations`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::access::role::Role;
use guildhall_domain::ids::InviteId;
use guildhall_protocol::rest::access::invitations::InvitationView;
use secrecy::ExposeSecret;
use serde_json::json;

use crate::client::password;
use crate::client::session::{Common, OfTenant, role};
use crate::client::wait;
use crate::output::{clean, second, show, table};

const EXAMPLES: &str = "Examples:
  guildhall invitations create --role developer --email ada@example.org --tenant acme
  guildhall invitations ls --tenant acme
  guildhall invitations revoke inv_01920000000070008000000000000000 --tenant acme
  guildhall invitations accept              for you, who are signed in; asks for the invitation

Whoever has the invitation becomes a member, once, within seven days. Nothing is sent: hand it over yourself. Who has
no account here takes it along: `guildhall login --oidc --invited`.";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct InvitationsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Args)]
struct CreateArgs {
    /// What whoever accepts becomes, not above your own role: owner, operator, developer or viewer
    #[arg(long, value_parser = role)]
    role: Role,
    /// For whom it is. A note for you: nothing is sent, and nothing is compared with it
    #[arg(long, value_name = "NOTE")]
    email: Option<String>,
    /// A word of yours with which the same command can be sent again without a second invitation
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    tenant: OfTenant,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Makes an invitation and shows it, this once
    Create(CreateArgs),
    /// Lists the invitations of a tenant, the newest first, without their secrets
    Ls {
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Takes an invitation back
    Revoke {
        /// The invitation's id
        #[arg(value_name = "INVITATION")]
        id: InviteId,
        #[command(flatten)]
        tenant: OfTenant,
        #[command(flatten)]
        common: Common,
    },
    /// Accepts an invitation for you; it comes from standard input, or you are asked for it
    Accept {
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &InvitationsArgs) -> Result<()> {
    match &args.verb {
        Verb::Create(args) => wait(create(args)),
        Verb::Ls { tenant, common } => wait(list(tenant, common)),
        Verb::Revoke { id, tenant, common } => wait(revoke(*id, tenant, common)),
        Verb::Accept { common } => wait(accept(common)),
    }
}

async fn create(args: &CreateArgs) -> Result<()> {
    let client = args.common.open()?.client;
    let tenant = args.tenant.find(&client).await?;
    let (email, key) = (args.email.as_deref(), args.idempotency_key.as_deref());
    let made = client.create_invitation(tenant, args.role, email, key).await?;
    let secret = made.secret.as_ref().map(ExposeSecret::expose_secret);
    show(args.common.json, &json!({ "id": made.id, "secret": secret }), || match secret {
        Some(secret) => {
            format!("made invitation {}; it is shown this once, hand it over safely:\n\n{secret}", made.id)
        }
        None => {
            format!("invitation {} was made before with this idempotency key; it was shown then", made.id)
        }
    })?;
    Ok(())
}

async fn list(tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let invitations = client.list_invitations(tenant.find(&client).await?).await?;
    show(common.json, &json!({ "invitations": invitations }), || {
        let rows = invitations.iter().map(|it| {
            let email = it.email.as_deref().map_or_else(|| "-".to_owned(), clean);
            [it.id.clone(), it.role.clone(), email, second(it.expires_at), state(it)]
        });
        table(["INVITATION", "ROLE", "FOR", "UNTIL", "STATE"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

/// Says what became of an invitation; that it has expired shows beside it.
fn state(invitation: &InvitationView) -> String {
    match (&invitation.accepted_by, invitation.revoked_at) {
        (Some(by), _) => format!("accepted by {by}"),
        (None, Some(at)) => format!("revoked {}", second(at)),
        (None, None) => "open".to_owned(),
    }
}

async fn revoke(id: InviteId, tenant: &OfTenant, common: &Common) -> Result<()> {
    let client = common.open()?.client;
    client.revoke_invitation(tenant.find(&client).await?, id).await?;
    show(common.json, &json!({ "id": id, "revoked": true }), || format!("{id} lets nobody in from now on"))?;
    Ok(())
}

async fn accept(common: &Common) -> Result<()> {
    let client = common.open()?.client;
    let joined = client.accept_invitation(&password::invitation()?).await?;
    show(common.json, &json!(joined), || format!("you are {} of {} now", joined.role, joined.tenant))?;
    Ok(())
}
