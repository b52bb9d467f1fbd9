//! The `guildhall` command: `serve`, `dev`, `doctor` and the client commands.
//!
//! This crate contains no business rules: it parses arguments, calls other crates and prints results.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints its output")]

mod async_runtime;
mod client;
mod config;
mod config_dir;
mod dev;
mod dev_state;
mod doctor;
mod engine_url;
mod error;
mod exit;
mod exit_code;
mod help_markdown;
mod init;
mod manifest;
mod openrpc;
mod output;
mod renew_issuer;
mod serve;
mod server_client;
mod signals;

use std::process;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use client::{
    access, agents, approvals, completions, context, guard, identity, messages, profiles, relations,
    retention, runners, runs, sessions, webhooks,
};
use exit::ErrorFormat;
use exit_code::ExitCode;

/// Faster than the system allocator for many small allocations on all threads, as a server makes them.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const EXAMPLES: &str = "Examples:
  guildhall dev                      Start a complete installation on this machine
  guildhall login                    Sign in to it
  guildhall run 'fix the test'       Let an agent work on a copy of this repository
  guildhall serve --config my.toml   Start a server with your own PostgreSQL and NATS
  guildhall config example           Print every setting with its meaning and default
  guildhall doctor                   Diagnose problems and show how to fix them";

/// Control plane for AI agents: run them, talk to them, and control who may do what
#[derive(Parser)]
#[command(name = "guildhall", version, after_help = format!("{EXAMPLES}\n\n{}", ExitCode::help()))]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a complete installation on this machine: PostgreSQL, NATS, server and runners
    Dev(dev::DevArgs),
    /// Start a server that uses existing PostgreSQL and NATS servers
    Serve(serve::ServeArgs),
    /// Prepare a new installation: apply migrations and create the first user
    Init(init::InitArgs),
    /// Sign the next certificate of the AUN issuer with the key of its root
    RenewIssuer(renew_issuer::RenewIssuerArgs),
    /// Show and check the configuration
    Config(config::ConfigArgs),
    /// Diagnose problems and show how to fix them
    Doctor(doctor::DoctorArgs),
    /// Print the OpenAPI 3.1 document of the API
    Openapi,
    /// Print the OpenRPC document of the socket, or its JSON Schema
    Openrpc(openrpc::OpenrpcArgs),
    /// Sign in to a server and save it as a context
    Login(access::login::LoginArgs),
    /// Sign out of a server and delete its tokens
    Logout(access::logout::LogoutArgs),
    /// Change your password
    Passwd(access::passwd::PasswdArgs),
    /// Show and change your own settings, such as the time zone
    Settings(access::settings::SettingsArgs),
    /// Show the signed-in user
    Whoami(access::whoami::WhoamiArgs),
    /// List, select and remove contexts (saved servers)
    Context(context::ContextArgs),
    /// Create and list tenants
    Tenants(access::tenants::TenantsArgs),
    /// Create, list, disable and unlock users (operators only)
    Users(access::users::UsersArgs),
    /// List, add and remove the members of a tenant
    Members(access::members::MembersArgs),
    /// Create, list, revoke and accept invitations to a tenant
    Invitations(access::invitations::InvitationsArgs),
    /// Create, list and revoke service keys
    Keys(access::keys::KeysArgs),
    /// Create and list projects
    Projects(access::projects::ProjectsArgs),
    /// Create, list, renew and revoke AIDs (names in the AUN network), and log in with them
    Aid(identity::AidArgs),
    /// Send a message to an AID
    Send(messages::send::SendMessageArgs),
    /// Show the messages of your AID
    Inbox(messages::inbox::InboxArgs),
    /// Chat with an AID on the terminal
    Chat(messages::chat::ChatArgs),
    /// Let agents call tools of this device, and ask before they run
    Guard(guard::GuardArgs),
    /// Call a method of the socket
    Rpc(identity::rpc::RpcArgs),
    /// Verify the public log of all certificates that a server has issued
    Transparency(identity::transparency::TransparencyArgs),
    /// Grant permissions to agents, show them and take them back
    Relations(relations::RelationsArgs),
    /// Create, list and change agents
    Agents(agents::AgentsArgs),
    /// Check, compare and send capability manifests of agents
    Manifest(manifest::ManifestArgs),
    /// Create, list, change and run automations (stored messages to an agent)
    Automations(agents::automations::AutomationsArgs),
    /// Create, list and revoke runner enrolment tokens
    Enrolments(runners::enrolments::EnrolmentsArgs),
    /// List and drain runners
    Runners(runners::registrations::RunnersArgs),
    /// Manage provider profiles and their credentials
    Profiles(profiles::ProfilesArgs),
    /// Set, list and delete the credentials of git hosts, for repositories on other machines
    GitCredentials(profiles::git_credentials::GitCredentialsArgs),
    /// Let an agent work on a private copy of this Git repository, and apply its changes
    Run(runs::run_in_copy::RunInCopyArgs),
    /// Create, list, follow and cancel runs
    Runs(runs::RunsArgs),
    /// List and answer the questions of agents
    Approvals(approvals::ApprovalsArgs),
    /// Create, list, test and delete webhooks, which tell about questions of agents and messages to them
    Webhooks(webhooks::WebhooksArgs),
    /// Forward the messages to an agent to a webhook receiver on this machine
    Listen(webhooks::listen::ListenArgs),
    /// Send a sample event to a webhook or a listener
    Trigger(webhooks::trigger::TriggerArgs),
    /// List, read and cancel sessions (conversations over several runs)
    Sessions(sessions::SessionsArgs),
    /// Show, export and verify audit logs
    Audit(access::audit::AuditArgs),
    /// Set how long tenants keep their history, and show what would be erased (operators only)
    Retention(retention::RetentionArgs),
    /// Print a shell completion script
    Completions(completions::CompletionsArgs),
    /// Print the reference of all commands in Markdown
    #[command(hide = true)]
    HelpMarkdown,
}

fn main() -> process::ExitCode {
    // One TLS provider for the process. Fails only if one is installed already.
    let _already_installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match parse_arguments() {
        Ok((command, format)) => execute(&command, format).into(),
        Err(error) if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") => {
            exit::report_usage_as_json(&error).into()
        }
        Err(error) => error.exit(),
    }
}

/// Returns the command, and how to print its error.
fn parse_arguments() -> Result<(Command, ErrorFormat), clap::Error> {
    let mut parser = Arguments::command();
    let matches = parser.try_get_matches_from_mut(std::env::args_os())?;
    let format = if has_json_flag(&matches) { ErrorFormat::Json } else { ErrorFormat::Text };
    let arguments = Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut parser))?;
    Ok((arguments.command, format))
}

/// Returns whether `--json` is given to the innermost subcommand.
fn has_json_flag(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, matches)) => has_json_flag(matches),
        None => matches.try_get_one("json").is_ok_and(|flag| flag == Some(&true)),
    }
}

fn execute(command: &Command, format: ErrorFormat) -> ExitCode {
    let Err(error) = run(command) else { return ExitCode::Success };
    let code = exit::report(&error, format);
    if let Command::Dev(args) = command
        && format == ErrorFormat::Text
        && !error.is::<error::UsageError>()
    {
        doctor::diagnose_failed_dev(args.target());
    }
    code
}

fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Dev(args) => dev::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Init(args) => init::run(args),
        Command::RenewIssuer(args) => renew_issuer::run(args),
        Command::Config(args) => config::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Openapi => print_openapi(),
        Command::Openrpc(args) => openrpc::run(args),
        Command::Login(args) => access::login::run(args),
        Command::Logout(args) => access::logout::run(args),
        Command::Passwd(args) => access::passwd::run(args),
        Command::Settings(args) => access::settings::run(args),
        Command::Whoami(args) => access::whoami::run(args),
        Command::Context(args) => context::run(args),
        Command::Tenants(args) => access::tenants::run(args),
        Command::Users(args) => access::users::run(args),
        Command::Members(args) => access::members::run(args),
        Command::Invitations(args) => access::invitations::run(args),
        Command::Keys(args) => access::keys::run(args),
        Command::Projects(args) => access::projects::run(args),
        Command::Aid(args) => identity::run(args),
        Command::Send(args) => messages::send::run(args),
        Command::Inbox(args) => messages::inbox::run(args),
        Command::Chat(args) => messages::chat::run(args),
        Command::Guard(args) => guard::run(args),
        Command::Rpc(args) => identity::rpc::run(args),
        Command::Transparency(args) => identity::transparency::run(args),
        Command::Relations(args) => relations::run(args),
        Command::Agents(args) => agents::run(args),
        Command::Manifest(args) => manifest::run(args),
        Command::Automations(args) => agents::automations::run(args),
        Command::Enrolments(args) => runners::enrolments::run(args),
        Command::Runners(args) => runners::registrations::run(args),
        Command::Profiles(args) => profiles::run(args),
        Command::GitCredentials(args) => profiles::git_credentials::run(args),
        Command::Run(args) => runs::run_in_copy::run(args),
        Command::Runs(args) => runs::run(args),
        Command::Approvals(args) => approvals::run(args),
        Command::Webhooks(args) => webhooks::run(args),
        Command::Listen(args) => webhooks::listen::run(args),
        Command::Trigger(args) => webhooks::trigger::run(args),
        Command::Retention(args) => retention::run(args),
        Command::Sessions(args) => sessions::run(args),
        Command::Audit(args) => access::audit::run(args),
        Command::Completions(args) => completions::run(args, Arguments::command()),
        Command::HelpMarkdown => help_markdown::run(Arguments::command()),
    }
}

fn print_openapi() -> anyhow::Result<()> {
    println!("{}", guildhall_server::openapi().to_pretty_json()?);
    Ok(())
}
