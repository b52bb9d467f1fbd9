//! Hashes of the tree, and the part of a tree that appending needs.

use aws_lc_rs::digest::{Context, SHA256};
use guildhall_domain::identity::{NodeId, TreeHash};

const LEAF_PREFIX: u8 = 0;
const NODE_PREFIX: u8 = 1;

/// Returns the hash of the data of a leaf.
#[must_use]
pub fn leaf_hash(data: &[u8]) -> TreeHash {
    hash(&[&[LEAF_PREFIX], data])
}

/// Returns the hash of a node.
pub(super) fn node_hash(left: TreeHash, right: TreeHash) -> TreeHash {
    hash(&[&[NODE_PREFIX], left.as_bytes(), right.as_bytes()])
}

/// Returns the root of a tree without leaves.
pub(super) fn empty_root() -> TreeHash {
    hash(&[])
}

fn hash(parts: &[&[u8]]) -> TreeHash {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(context.finish().as_ref());
    TreeHash::new(hash)
}

/// The right edge of a tree: the hashes of its largest complete subtrees, from the left. Leaves are appended to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    peaks: Vec<TreeHash>,
}

impl Frontier {
    #[must_use]
    pub const fn empty() -> Self {
        Self { size: 0, peaks: Vec::new() }
    }

    /// Opens the frontier of a tree from the hashes of [`Frontier::peaks_of`]. Returns none if their number is another.
    #[must_use]
    pub fn open(size: u64, peaks: Vec<TreeHash>) -> Option<Self> {
        (u32::try_from(peaks.len()).ok()? == size.count_ones()).then_some(Self { size, peaks })
    }

    /// Returns the complete subtrees of a tree of this size, from the left.
    #[must_use]
    pub fn peaks_of(size: u64) -> Vec<NodeId> {
        complete_subtrees(0, size)
    }

    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf, and calls a function with each node that is complete now.
    pub fn append(&mut self, leaf: TreeHash, mut complete: impl FnMut(NodeId, TreeHash)) {
        let (mut hash, mut level) = (leaf, 0);
        complete(NodeId { level, index: self.size }, hash);
        while self.size >> level & 1 == 1 {
            let Some(left) = self.peaks.pop() else { break };
            hash = node_hash(left, hash);
            level += 1;
            complete(NodeId { level, index: self.size >> level }, hash);
        }
        self.peaks.push(hash);
        self.size += 1;
    }

    /// Returns the root of the tree.
    #[must_use]
    pub fn root(&self) -> TreeHash {
        fold(&self.peaks).unwrap_or_else(empty_root)
    }
}

/// Returns the hash of a subtree from those of its complete subtrees, from the left.
pub(super) fn fold(hashes: &[TreeHash]) -> Option<TreeHash> {
    hashes.iter().rev().copied().reduce(|right, left| node_hash(left, right))
}

/// Returns the complete subtrees that together have these leaves, from the left. The range is a subtree of a tree, so it starts
/// at a multiple of its largest part.
pub(super) fn complete_subtrees(mut start: u64, end: u64) -> Vec<NodeId> {
    let mut nodes = Vec::new();
    while let Some(power) = end.saturating_sub(start).checked_ilog2() {
        // At most 63, as the logarithm of 64 bits.
        let level = u8::try_from(power).unwrap_or(u8::MAX);
        nodes.push(NodeId { level, index: start >> power });
        start += 1 << power;
    }
    nodes
}
