//! The images of a turn, as files that Codex reads.
//!
//! They are in its home directory, which is private to the session, and only while the turn runs: Codex copies them into its
//! record of the thread.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tracing::warn;

use crate::backend::{BackendConfig, Prompt};
use crate::sandbox::AgentDir;

/// Below the home directory of Codex.
const DIR: &str = "guildhall-images";

/// Removes the images of earlier turns.
pub(super) fn remove_images(home: &AgentDir) -> io::Result<()> {
    home.remove(Path::new(DIR))
}

/// Returns the input of a turn. Writes its images to files.
pub(super) fn turn_input(config: &BackendConfig, prompt: &Prompt) -> io::Result<Value> {
    let mut input = Vec::new();
    if !prompt.images.is_empty() {
        let home = AgentDir::open(&codex_home(config), config.user)?;
        remove_images(&home)?;
        for image in &prompt.images {
            let file = Path::new(DIR).join(image.file_name());
            home.write(&file, &image.content)?;
            input.push(json!({ "type": "localImage", "path": home.path().join(file) }));
        }
    }
    if !prompt.text.is_empty() || input.is_empty() {
        input.push(json!({ "type": "text", "text": prompt.text }));
    }
    Ok(Value::Array(input))
}

/// Removes the images of a turn that has ended. What stays, stays until the next turn with images or the next start.
pub(super) fn remove_after_turn(config: &BackendConfig) {
    let removed = AgentDir::open(&codex_home(config), config.user).and_then(|home| remove_images(&home));
    if let Err(error) = removed {
        warn!("cannot remove the images of a turn: {}", error.kind());
    }
}

/// Returns the home directory of Codex.
pub(super) fn codex_home(config: &BackendConfig) -> PathBuf {
    config.state.join("codex")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use guildhall_domain::front::attachment::ImageType;
    use guildhall_domain::ids::AttachmentId;
    use uuid::Uuid;

    use super::*;
    use crate::backend::PromptImage;
    use crate::backend::test_config::test_config;

    #[test]
    fn images_are_private_files_and_planted_links_are_not_followed() {
        let root = tempfile::tempdir().expect("temporary directory");
        let config = test_config(root.path(), "SECRET");
        let (home, outside) = (codex_home(&config), root.path().join("outside"));
        fs::create_dir_all(&home).expect("create directory");
        fs::create_dir(&outside).expect("create directory");
        symlink(&outside, home.join(DIR)).expect("create symlink");
        let image = |number, content: &[u8]| {
            let id = AttachmentId::from_uuid(Uuid::from_u128(number));
            PromptImage { id, image_type: ImageType::Png, content: content.to_vec() }
        };
        let prompt = Prompt { text: "look".to_owned(), images: vec![image(1, b"a"), image(2, b"b")] };
        let path = |number: u128| home.join(DIR).join(format!("att_{number:032x}.png"));
        let expected = json!([
            { "type": "localImage", "path": path(1) }, { "type": "localImage", "path": path(2) },
            { "type": "text", "text": "look" },
        ]);
        assert_eq!(turn_input(&config, &prompt).expect("written"), expected);
        assert_eq!(
            (fs::read(path(1)).expect("read"), fs::read(path(2)).expect("read")),
            (b"a".into(), b"b".into())
        );
        assert_eq!(fs::read_dir(&outside).expect("read directory").count(), 0, "nothing outside");

        let next = Prompt { text: String::new(), images: vec![image(3, b"c")] };
        assert_eq!(
            turn_input(&config, &next).expect("written"),
            json!([{ "type": "localImage", "path": path(3) }])
        );
        assert!(!path(1).exists(), "those of the turn before are removed");
        assert_eq!(
            turn_input(&config, &"hi".into()).expect("text"),
            json!([{ "type": "text", "text": "hi" }])
        );
    }
}
