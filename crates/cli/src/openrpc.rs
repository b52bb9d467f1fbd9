//! `guildhall openrpc`: what the socket understands.

use anyhow::Result;
use clap::{Args, ValueEnum};
use guildhall_protocol::rpc::document;

#[derive(Args)]
pub(crate) struct OpenrpcArgs {
    /// Format of the document
    #[arg(long, value_enum, default_value_t = Format::Openrpc)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// OpenRPC 1.3
    Openrpc,
    /// JSON Schema with the parameters and the result of every method
    JsonSchema,
    /// The reference page in Markdown
    Markdown,
}

pub(crate) fn run(args: &OpenrpcArgs) -> Result<()> {
    let document = match args.format {
        Format::Openrpc => document::openrpc(env!("CARGO_PKG_VERSION")),
        Format::JsonSchema => document::json_schema(),
        Format::Markdown => {
            println!("{}", document::markdown().trim());
            return Ok(());
        }
    };
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(())
}
