//! The Merkle tree over the rows of a message.

use aws_lc_rs::digest::{Context, SHA256};

use super::row::RecipientRow;

const LEAF: &[u8] = b"AUN-V2-RCPT-LEAF-v1";
const NODE: &[u8] = b"AUN-V2-RCPT-NODE-v1";

/// Returns the hash of a row.
#[must_use]
pub fn leaf_hash(row: &RecipientRow) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    context.update(LEAF);
    let texts = [
        row.aid.as_str(),
        &row.device_id,
        row.role.as_str(),
        row.key_source.as_str(),
        &row.fingerprint,
        &row.spk_id,
    ];
    for text in texts {
        context.update(text.as_bytes());
        context.update(&[0]);
    }
    context.update(&row.wrap_nonce);
    context.update(&row.wrapped_key);
    finish(context)
}

/// Returns the root of the tree over rows, which are sorted. There is none without rows.
#[must_use]
pub fn recipients_digest(rows: &[RecipientRow]) -> Option<[u8; 32]> {
    let mut layer: Vec<[u8; 32]> = rows.iter().map(leaf_hash).collect();
    while layer.len() > 1 {
        layer = parents(&layer);
    }
    layer.pop()
}

/// Returns the layer above. The last node of an odd layer is its own sibling.
pub(super) fn parents(layer: &[[u8; 32]]) -> Vec<[u8; 32]> {
    let parent = |pair: &[[u8; 32]]| match pair {
        [left, right] => node_hash(left, right),
        [last, ..] => node_hash(last, last),
        [] => [0; 32],
    };
    layer.chunks(2).map(parent).collect()
}

pub(super) fn node_hash(left: &[u8; 32], right: &[u8; 32]) -> [u8; 32] {
    let mut context = Context::new(&SHA256);
    for part in [NODE, left, right] {
        context.update(part);
    }
    finish(context)
}

fn finish(context: Context) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    hash
}
