//! `guildhall aid logins`, `aid use` and `aid logout`.

use anyhow::Result;
use clap::Args;
use guildhall_domain::identity::Aid;
use serde_json::json;

use crate::config_dir::{AidLogins, AidNotLoggedIn, ConfigDir};
use crate::output::{format_table, print_result};

#[derive(Args)]
pub(super) struct UseArgs {
    /// AID that is logged in
    aid: Aid,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
pub(super) struct AidLogoutArgs {
    /// AID; without it the current one
    aid: Option<Aid>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn list(json: bool) -> Result<()> {
    let logins = AidLogins::load(&ConfigDir::find()?)?;
    let is_current = |aid: &String| logins.current.as_ref() == Some(aid);
    let rows: Vec<_> = logins.logins.iter().map(|(aid, login)| (aid, &login.settings)).collect();
    let values: Vec<_> = rows
        .iter()
        .map(|(aid, settings)| {
            json!({
                "aid": aid, "url": settings.url, "keyFile": settings.key_file, "current": is_current(aid),
            })
        })
        .collect();
    print_result(json, &json!({ "logins": values }), || {
        if rows.is_empty() {
            return "no AID is logged in; `guildhall aid login` logs one in".to_owned();
        }
        let rows = rows.iter().map(|(aid, settings)| {
            let mark = if is_current(aid) { "*" } else { "" };
            [mark.to_owned(), (*aid).clone(), settings.url.clone(), settings.key_file.display().to_string()]
        });
        format_table(["", "AID", "SERVER", "KEY"], &rows.collect::<Vec<_>>())
    })?;
    Ok(())
}

pub(super) async fn select(args: &UseArgs) -> Result<()> {
    let dir = ConfigDir::find()?;
    let lock = dir.lock().await?;
    let mut logins = AidLogins::load(&dir)?;
    let (aid, _) = logins.find(Some(&args.aid))?;
    logins.current = Some(aid.to_string());
    logins.save(&dir, &lock)?;
    print_result(args.json, &json!({ "aid": aid.to_string(), "current": true }), || {
        format!("{aid} is the current AID")
    })?;
    Ok(())
}

pub(super) async fn log_out(args: &AidLogoutArgs) -> Result<()> {
    let dir = ConfigDir::find()?;
    let lock = dir.lock().await?;
    let mut logins = AidLogins::load(&dir)?;
    let (aid, _) = logins.find(args.aid.as_ref())?;
    if !logins.remove(&aid) {
        return Err(AidNotLoggedIn::Other(aid.to_string()).into());
    }
    logins.save(&dir, &lock)?;
    let value = json!({ "aid": aid.to_string(), "loggedIn": false, "current": logins.current });
    print_result(args.json, &value, || {
        format!("logged out {aid}: its tokens are deleted, its key is where it was")
    })?;
    Ok(())
}
