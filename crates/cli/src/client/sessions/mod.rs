//! `guildhall sessions`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_protocol::rest::sessions::SessionView;
use guildhall_runtime::Clock;
use guildhall_sdk::{Client, ClientError, RunEventPage, SessionEventsAsk, SessionScope, SessionsAsk};
use serde_json::json;

use crate::client::runs::{Screen, sentence};
use crate::client::session::{Common, named_tenant};
use crate::client::wait;
use crate::output::{age, fields, line, piece, second, second_or_dash, show, table};

const EXAMPLES: &str = "Examples:
  guildhall sessions ls                what runs, and what is new to you
  guildhall sessions output SES        what was said in its open or last run
  guildhall sessions read SES          takes it off that list until something new happens
  guildhall runs create --session SES 'go on'

A session is a conversation: its runs share a workspace and what was said.";

/// Events that are asked for at once.
const PAGE: u32 = 500;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    verb: Verb,
}

/// As whom to look.
#[derive(Args)]
struct Reader {
    /// The name that you read under; each has a place of its own in every session
    #[arg(long, default_value = "cli", value_name = "NAME")]
    reader: String,
}

#[derive(Args)]
struct LsArgs {
    /// Lists all, also what has ended and was read
    #[arg(long)]
    all: bool,
    /// Those with this backend profile
    #[arg(long)]
    profile: Option<String>,
    /// How many
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Those that were made before this one
    #[arg(long, value_name = "SESSION")]
    before: Option<SessionId>,
    /// The tenant: its slug or its id; without it that of the context, or all that you belong to
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    reader: Reader,
    #[command(flatten)]
    common: Common,
}

/// Events of one of a session's runs.
#[derive(Args)]
struct EventsArgs {
    /// The session's id
    session: SessionId,
    /// One of its runs; the open or last one without it
    #[arg(long)]
    run: Option<RunId>,
    /// Begins after the event with this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    after: i64,
    #[command(flatten)]
    common: Common,
}

#[derive(Subcommand)]
enum Verb {
    /// Lists the sessions in which something runs or is new to you
    Ls(LsArgs),
    /// Shows a session
    Show {
        /// The session's id
        session: SessionId,
        #[command(flatten)]
        reader: Reader,
        #[command(flatten)]
        common: Common,
    },
    /// Shows the events of a session's run, an event a line
    Trace(EventsArgs),
    /// Shows what was said in a session's run
    Output(EventsArgs),
    /// Says that you have read a session
    Read {
        /// The session's id
        session: SessionId,
        /// The version that you have seen; all of it without
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
        #[command(flatten)]
        reader: Reader,
        #[command(flatten)]
        common: Common,
    },
    /// Shows what is known of where a session's agent keeps its thread
    Storage {
        /// The session's id
        session: SessionId,
        #[command(flatten)]
        common: Common,
    },
    /// Gives that up: nobody goes on with the session from then on; its workspace stays
    Evict {
        /// The session's id
        session: SessionId,
        #[command(flatten)]
        common: Common,
    },
    /// Cancels what is at work in a session: the command that runs, or else the open run
    Cancel {
        /// The session's id
        session: SessionId,
        #[command(flatten)]
        common: Common,
    },
}

pub(crate) fn run(args: &SessionsArgs) -> Result<()> {
    match &args.verb {
        Verb::Ls(args) => wait(list(args)),
        Verb::Show { session, reader, common } => wait(show_one(*session, reader, common)),
        Verb::Trace(args) => wait(trace(args)),
        Verb::Output(args) => wait(output(args)),
        Verb::Read { session, version, reader, common } => wait(read(*session, *version, reader, common)),
        Verb::Storage { session, common } => wait(storage(*session, common)),
        Verb::Evict { session, common } => wait(evict(*session, common)),
        Verb::Cancel { session, common } => wait(cancel(*session, common)),
    }
}

async fn storage(id: SessionId, common: &Common) -> Result<()> {
    let storage = common.open()?.client.session_storage(id).await?;
    show(common.json, &json!(storage), || {
        let number = |number: Option<i64>| number.map_or_else(dash, |number| number.to_string());
        fields(&[
            ("name", storage.name.clone()),
            ("kind", storage.storage_kind.clone()),
            ("phase", storage.phase.clone()),
            ("bytes", number(storage.size_bytes)),
            ("files", number(storage.files_count)),
            ("sha256", storage.sha256.clone().unwrap_or_else(dash)),
            ("seen", second_or_dash(storage.updated_at)),
            ("given up", second_or_dash(storage.evicted_at)),
        ])
    })?;
    Ok(())
}

async fn evict(id: SessionId, common: &Common) -> Result<()> {
    let storage = common.open()?.client.evict_session_storage(id).await?;
    show(common.json, &json!(storage), || {
        format!("nobody goes on with {id} from now on; its workspace stays")
    })?;
    Ok(())
}

async fn list(args: &LsArgs) -> Result<()> {
    let session = args.common.open()?;
    let ask = SessionsAsk {
        scope: if args.all { SessionScope::All } else { SessionScope::News },
        reader: &args.reader.reader,
        tenant: named_tenant(args.tenant.as_ref(), &session).await?,
        backend_profile: args.profile.as_deref(),
        before: args.before,
        limit: args.limit,
    };
    let page = session.client.list_sessions(ask).await?;
    let now = Clock::system().now();
    show(args.common.json, &json!(page), || {
        if page.sessions.is_empty() && !args.all {
            return "nothing runs and nothing is new; `guildhall sessions ls --all` shows the rest"
                .to_owned();
        }
        let rows = page.sessions.iter().map(|it| {
            let new = if it.unread { "new" } else { "-" }.to_owned();
            let run = it.active_run_id.clone().or_else(|| it.last_run_id.clone()).unwrap_or_else(dash);
            let (state, age) = (it.execution_state.clone(), age(it.updated_at, now));
            [it.session_id.clone(), state, new, it.backend_profile.clone(), it.project_id.clone(), age, run]
        });
        let headings = ["SESSION", "STATE", "NEW", "PROFILE", "PROJECT", "CHANGED", "RUN"];
        table(headings, &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older ones: add --before {next}");
    }
    Ok(())
}

async fn show_one(session: SessionId, reader: &Reader, common: &Common) -> Result<()> {
    let session = common.open()?.client.show_session(session, &reader.reader).await?;
    show(common.json, &json!(session), || facts(&session))?;
    Ok(())
}

fn facts(session: &SessionView) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(dash);
    let new = if session.unread { "yes" } else { "no" };
    let sentence = session.run.as_ref().map(|run| format!("{}: {}", run.status, run.liveness.sentence));
    fields(&[
        ("session", session.session_id.clone()),
        ("state", session.execution_state.clone()),
        ("new to you", format!("{new} (version {}, read {})", session.version, session.read_version)),
        ("tenant", session.tenant_id.clone()),
        ("project", session.project_id.clone()),
        ("profile", session.backend_profile.clone()),
        ("thread", or_dash(&session.thread_id)),
        ("made", format!("{} by {}", second(session.created_at), session.created_by)),
        ("changed", second(session.updated_at)),
        ("runs", session.run_count.to_string()),
        ("open run", or_dash(&session.active_run_id)),
        ("command", or_dash(&session.active_command_id)),
        ("last run", or_dash(&session.last_run_id)),
        ("now", or_dash(&sentence)),
    ])
}

fn dash() -> String {
    "-".to_owned()
}

async fn trace(args: &EventsArgs) -> Result<()> {
    let client = args.common.open()?.client;
    each_page(
        args,
        async |ask| client.session_trace(args.session, ask).await,
        |page| {
            for event in &page.events {
                if args.common.json { line(event.text())? } else { line(&sentence(&event.view))? }
            }
            Ok(())
        },
    )
    .await
}

async fn output(args: &EventsArgs) -> Result<()> {
    let client: Client = args.common.open()?.client;
    let mut screen = Screen::default();
    each_page(
        args,
        async |ask| client.session_output(args.session, ask).await,
        |page| {
            for event in &page.events {
                if args.common.json { line(event.text())? } else { piece(&screen.show(&event.view))? }
            }
            Ok(())
        },
    )
    .await?;
    if !args.common.json {
        piece(screen.close())?;
    }
    Ok(())
}

/// Goes through all pages of one run: a run that began meanwhile does not continue the one that was begun with.
async fn each_page(
    args: &EventsArgs,
    read: impl AsyncFn(SessionEventsAsk) -> Result<RunEventPage, ClientError>,
    mut show: impl FnMut(&RunEventPage) -> std::io::Result<()>,
) -> Result<()> {
    let mut ask = SessionEventsAsk { run: args.run, after_seq: args.after, limit: PAGE };
    loop {
        let page = read(ask).await?;
        show(&page)?;
        if !page.has_more || page.next_after_seq <= ask.after_seq {
            return Ok(());
        }
        ask = SessionEventsAsk { run: page.run, after_seq: page.next_after_seq, limit: PAGE };
    }
}

async fn read(session: SessionId, version: Option<i64>, reader: &Reader, common: &Common) -> Result<()> {
    let session = common.open()?.client.read_session(session, &reader.reader, version).await?;
    show(common.json, &json!(session), || {
        format!("{} is read up to version {}", session.session_id, session.read_version)
    })?;
    Ok(())
}

async fn cancel(session: SessionId, common: &Common) -> Result<()> {
    let cancelled = common.open()?.client.cancel_session(session).await?;
    show(common.json, &json!(cancelled), || {
        let id = cancelled.command_id.as_ref().or(cancelled.run_id.as_ref());
        match (id, &cancelled.status) {
            (Some(id), Some(status)) => format!("{id} is {status}"),
            _ => "nothing is at work in this session".to_owned(),
        }
    })?;
    Ok(())
}
