//! The `guildhall` command: the server, a server for a developer's machine, and the client commands.
//!
//! This crate deliberately holds no rule: it parses, calls, and shows.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command talks to its user")]

mod client;
mod config;
mod dev;
mod doctor;
mod failure;
mod init;
mod kept;
mod output;
mod serve;
mod signals;
mod urls;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// A server makes and drops many small things at once, on all threads.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const EXAMPLES: &str = "Examples:
  guildhall dev                      a whole installation on this machine, nothing to set up
  guildhall login                    signs in to it; `guildhall tenants create acme` is a next step
  guildhall runs create 'tidy up'    gives an agent something to do
  guildhall serve --config my.toml   a server on your own PostgreSQL and NATS
  guildhall config example           every setting with its meaning and default
  guildhall doctor                   what is wrong here, and the command that repairs it

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not signed in, 4 not there or not allowed.";

/// The control plane for AI agents: find, trust, talk to, work with and run them
#[derive(Parser)]
#[command(name = "guildhall", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything on this machine: finds and starts PostgreSQL and NATS, migrates, serves
    Dev(dev::DevArgs),
    /// Runs a server on a PostgreSQL and a NATS that are there already
    Serve(serve::ServeArgs),
    /// Prepares a new installation: migrates, and makes the first user
    Init(init::InitArgs),
    /// Shows and checks the configuration
    Config(config::ConfigArgs),
    /// Finds out what is wrong, and names the command that repairs it
    Doctor(doctor::DoctorArgs),
    /// Prints the API document (OpenAPI 3.1) without a server
    Openapi,
    /// Signs in to a server and remembers it as a context
    Login(client::access::login::LoginArgs),
    /// Ends a login, everywhere, and forgets its tokens
    Logout(client::access::logout::LogoutArgs),
    /// Says whom the server takes you for
    Whoami(client::access::whoami::WhoamiArgs),
    /// Lists and chooses servers
    Context(client::context::ContextArgs),
    /// Makes and shows tenants
    Tenants(client::access::tenants::TenantsArgs),
    /// Makes users
    Users(client::access::users::UsersArgs),
    /// Shows and changes who belongs to a tenant, and as what
    Members(client::access::members::MembersArgs),
    /// Invites people into a tenant, and accepts invitations
    Invitations(client::access::invitations::InvitationsArgs),
    /// Makes, shows and revokes service keys
    Keys(client::access::keys::KeysArgs),
    /// Makes and shows projects
    Projects(client::access::projects::ProjectsArgs),
    /// Makes, shows and revokes the tokens with which runners claim
    Enrolments(client::runners::enrolments::EnrolmentsArgs),
    /// Gives provider profiles their credentials, and tries them
    Profiles(client::profiles::ProfilesArgs),
    /// Makes runs, talks to them and watches them
    Runs(client::runs::RunsArgs),
    /// Shows and reads sessions: conversations, over all their runs
    Sessions(client::sessions::SessionsArgs),
    /// Reads, exports and checks audit logs
    Audit(client::access::audit::AuditArgs),
    /// Prints a script that completes commands in your shell
    Completions(client::completions::CompletionsArgs),
}

fn main() -> ExitCode {
    // One TLS provider for the whole process; a second call would mean that somebody was here before us.
    let _already_there = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let command = Arguments::parse().command;
    match run(&command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = failure::report(&error);
            if let Command::Dev(args) = &command
                && !error.is::<failure::Usage>()
            {
                doctor::after_failed_dev(args.failed());
            }
            code
        }
    }
}

fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Dev(args) => dev::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Init(args) => init::run(args),
        Command::Config(args) => config::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Openapi => openapi(),
        Command::Login(args) => client::access::login::run(args),
        Command::Logout(args) => client::access::logout::run(args),
        Command::Whoami(args) => client::access::whoami::run(args),
        Command::Context(args) => client::context::run(args),
        Command::Tenants(args) => client::access::tenants::run(args),
        Command::Users(args) => client::access::users::run(args),
        Command::Members(args) => client::access::members::run(args),
        Command::Invitations(args) => client::access::invitations::run(args),
        Command::Keys(args) => client::access::keys::run(args),
        Command::Projects(args) => client::access::projects::run(args),
        Command::Enrolments(args) => client::runners::enrolments::run(args),
        Command::Profiles(args) => client::profiles::run(args),
        Command::Runs(args) => client::runs::run(args),
        Command::Sessions(args) => client::sessions::run(args),
        Command::Audit(args) => client::access::audit::run(args),
        Command::Completions(args) => client::completions::run(args, Arguments::command()),
    }
}

fn openapi() -> anyhow::Result<()> {
    println!("{}", guildhall_server::openapi().to_pretty_json()?);
    Ok(())
}
