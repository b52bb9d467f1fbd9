//! `guildhall sessions`.

use anyhow::Result;
use clap::{Args, Subcommand};
use guildhall_domain::ids::{RunId, SessionId};
use guildhall_protocol::rest::sessions::SessionView;
use guildhall_runtime::Clock;
use guildhall_sdk::{
    Client, ClientError, RunEventPage, SessionEventsRequest, SessionListRequest, SessionScope,
};
use serde_json::json;

use crate::async_runtime::block_on;
use crate::client::connection::{CommonArgs, resolve_optional_tenant};
use crate::client::runs::{EventRenderer, format_event};
use crate::output::{
    format_age, format_fields, format_optional_time, format_table, format_time, print_chunk, print_json,
    print_line, print_result,
};

const EXAMPLES: &str = "Examples:
  guildhall sessions ls                List sessions that are running or unread
  guildhall sessions output SES        Show the output of the open or last run
  guildhall sessions read SES          Mark a session as read
  guildhall runs create --session SES 'go on'

A session is a conversation: its runs share a workspace and the message history.";

/// Events per request.
const PAGE_SIZE: u32 = 500;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: Commands,
}

/// The reader whose read position counts.
#[derive(Args)]
struct ReaderArg {
    /// Reader name; each reader has its own read position in every session
    #[arg(long, default_value = "cli", value_name = "NAME")]
    reader: String,
}

#[derive(Args)]
struct ListSessionsArgs {
    /// Also list sessions that have ended and are read
    #[arg(long)]
    all: bool,
    /// Only sessions with this backend profile
    #[arg(long)]
    profile: Option<String>,
    /// Maximum number of sessions
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
    /// Only sessions created before this session id
    #[arg(long, value_name = "SESSION")]
    before: Option<SessionId>,
    /// Slug or id of the tenant; without it the tenant of the context, or all your tenants
    #[arg(long)]
    tenant: Option<String>,
    #[command(flatten)]
    reader: ReaderArg,
    #[command(flatten)]
    common: CommonArgs,
}

/// Selects events of one run of a session.
#[derive(Args)]
struct EventsArgs {
    /// Id of the session
    session: SessionId,
    /// Id of a run of the session; without it the open or last run
    #[arg(long)]
    run: Option<RunId>,
    /// Start after the event with this sequence number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
    after: i64,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// List sessions that are running or unread
    Ls(ListSessionsArgs),
    /// Show a session
    Show {
        /// Id of the session
        session: SessionId,
        #[command(flatten)]
        reader: ReaderArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show the events of a run of a session, one per line
    Trace(EventsArgs),
    /// Show the output of a run of a session
    Output(EventsArgs),
    /// Mark a session as read
    Read {
        /// Id of the session
        session: SessionId,
        /// Version up to which it is read; without it the latest
        #[arg(long, value_name = "NUMBER")]
        version: Option<i64>,
        #[command(flatten)]
        reader: ReaderArg,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Show the storage of the agent thread of a session
    Storage {
        /// Id of the session
        session: SessionId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Evict the storage of a session: it cannot be continued; its workspace stays
    Evict {
        /// Id of the session
        session: SessionId,
        #[command(flatten)]
        common: CommonArgs,
    },
    /// Cancel the running command of a session, or else its open run
    Cancel {
        /// Id of the session
        session: SessionId,
        #[command(flatten)]
        common: CommonArgs,
    },
}

pub(crate) fn run(args: &SessionsArgs) -> Result<()> {
    match &args.command {
        Commands::Ls(args) => block_on(list(args)),
        Commands::Show { session, reader, common } => block_on(show_one(*session, reader, common)),
        Commands::Trace(args) => block_on(trace(args)),
        Commands::Output(args) => block_on(output(args)),
        Commands::Read { session, version, reader, common } => {
            block_on(read(*session, *version, reader, common))
        }
        Commands::Storage { session, common } => block_on(storage(*session, common)),
        Commands::Evict { session, common } => block_on(evict(*session, common)),
        Commands::Cancel { session, common } => block_on(cancel(*session, common)),
    }
}

async fn storage(id: SessionId, common: &CommonArgs) -> Result<()> {
    let storage = common.connect()?.client.session_storage(id).await?;
    print_result(common.json, &json!(storage), || {
        let number = |number: Option<i64>| number.map_or_else(dash, |number| number.to_string());
        format_fields(&[
            ("name", storage.name.clone()),
            ("kind", storage.storage_kind.clone()),
            ("phase", storage.phase.clone()),
            ("bytes", number(storage.size_bytes)),
            ("files", number(storage.files_count)),
            ("sha256", storage.sha256.clone().unwrap_or_else(dash)),
            ("updated", format_optional_time(storage.updated_at)),
            ("evicted", format_optional_time(storage.evicted_at)),
        ])
    })?;
    Ok(())
}

async fn evict(id: SessionId, common: &CommonArgs) -> Result<()> {
    let storage = common.connect()?.client.evict_session_storage(id).await?;
    print_result(common.json, &json!(storage), || {
        format!("evicted the storage of {id}: it cannot be continued; its workspace stays")
    })?;
    Ok(())
}

async fn list(args: &ListSessionsArgs) -> Result<()> {
    let connection = args.common.connect()?;
    let request = SessionListRequest {
        scope: if args.all { SessionScope::All } else { SessionScope::RunningOrUnread },
        reader: &args.reader.reader,
        tenant: resolve_optional_tenant(args.tenant.as_ref(), &connection).await?,
        backend_profile: args.profile.as_deref(),
        before: args.before,
        limit: args.limit,
    };
    let page = connection.client.list_sessions(request).await?;
    let now = Clock::system().now();
    print_result(args.common.json, &json!(page), || {
        if page.sessions.is_empty() && !args.all {
            return "no running or unread sessions; `guildhall sessions ls --all` lists all sessions"
                .to_owned();
        }
        let rows = page.sessions.iter().map(|it| {
            let unread = if it.unread { "unread" } else { "-" }.to_owned();
            let run = it.active_run_id.clone().or_else(|| it.last_run_id.clone()).unwrap_or_else(dash);
            let (state, age) = (it.execution_state.clone(), format_age(it.updated_at, now));
            [
                it.session_id.clone(),
                state,
                unread,
                it.backend_profile.clone(),
                it.project_id.clone(),
                age,
                run,
                it.title.clone().unwrap_or_default(),
            ]
        });
        let headings = ["SESSION", "STATE", "UNREAD", "PROFILE", "PROJECT", "UPDATED", "RUN", "TITLE"];
        format_table(headings, &rows.collect::<Vec<_>>())
    })?;
    if let Some(next) = page.next_cursor.filter(|_| !args.common.json) {
        eprintln!("there may be older sessions: add --before {next}");
    }
    Ok(())
}

async fn show_one(session: SessionId, reader: &ReaderArg, common: &CommonArgs) -> Result<()> {
    let session = common.connect()?.client.get_session(session, &reader.reader).await?;
    print_result(common.json, &json!(session), || format_session(&session))?;
    Ok(())
}

fn format_session(session: &SessionView) -> String {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(dash);
    let unread = if session.unread { "yes" } else { "no" };
    let liveness = session.run.as_ref().map(|run| format!("{}: {}", run.status, run.liveness.sentence));
    format_fields(&[
        ("session", session.session_id.clone()),
        ("state", session.execution_state.clone()),
        ("unread", format!("{unread} (version {}, read {})", session.version, session.read_version)),
        ("tenant", session.tenant_id.clone()),
        ("project", session.project_id.clone()),
        ("profile", session.backend_profile.clone()),
        ("thread", or_dash(&session.thread_id)),
        ("created", format!("{} by {}", format_time(session.created_at), session.created_by)),
        ("updated", format_time(session.updated_at)),
        ("runs", session.run_count.to_string()),
        ("open run", or_dash(&session.active_run_id)),
        ("command", or_dash(&session.active_command_id)),
        ("last run", or_dash(&session.last_run_id)),
        ("now", or_dash(&liveness)),
    ])
}

fn dash() -> String {
    "-".to_owned()
}

async fn trace(args: &EventsArgs) -> Result<()> {
    let client = args.common.connect()?.client;
    for_each_page(
        args,
        async |request| client.session_trace(args.session, request).await,
        |page| {
            for event in &page.events {
                if args.common.json {
                    print_json(event.text())?
                } else {
                    print_line(&format_event(&event.view))?
                }
            }
            Ok(())
        },
    )
    .await
}

async fn output(args: &EventsArgs) -> Result<()> {
    let client: Client = args.common.connect()?.client;
    let mut renderer = EventRenderer::default();
    for_each_page(
        args,
        async |request| client.session_output(args.session, request).await,
        |page| {
            for event in &page.events {
                if args.common.json {
                    print_json(event.text())?
                } else {
                    print_chunk(&renderer.render(&event.view))?
                }
            }
            Ok(())
        },
    )
    .await?;
    if !args.common.json {
        print_chunk(renderer.end_line())?;
    }
    Ok(())
}

/// Fetches all pages of one run. A run that starts meanwhile is not included.
async fn for_each_page(
    args: &EventsArgs,
    fetch: impl AsyncFn(SessionEventsRequest) -> Result<RunEventPage, ClientError>,
    mut print: impl FnMut(&RunEventPage) -> std::io::Result<()>,
) -> Result<()> {
    let mut request = SessionEventsRequest { run: args.run, after_seq: args.after, limit: PAGE_SIZE };
    loop {
        let page = fetch(request).await?;
        print(&page)?;
        if !page.has_more || page.next_after_seq <= request.after_seq {
            return Ok(());
        }
        request = SessionEventsRequest { run: page.run, after_seq: page.next_after_seq, limit: PAGE_SIZE };
    }
}

async fn read(
    session: SessionId,
    version: Option<i64>,
    reader: &ReaderArg,
    common: &CommonArgs,
) -> Result<()> {
    let session = common.connect()?.client.mark_session_read(session, &reader.reader, version).await?;
    print_result(common.json, &json!(session), || {
        format!("{} is read up to version {}", session.session_id, session.read_version)
    })?;
    Ok(())
}

async fn cancel(session: SessionId, common: &CommonArgs) -> Result<()> {
    let cancelled = common.connect()?.client.cancel_session(session).await?;
    print_result(common.json, &json!(cancelled), || {
        let id = cancelled.command_id.as_ref().or(cancelled.run_id.as_ref());
        match (id, &cancelled.status) {
            (Some(id), Some(status)) => format!("{id} is {status}"),
            _ => "nothing to cancel in this session".to_owned(),
        }
    })?;
    Ok(())
}
