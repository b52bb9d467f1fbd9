//! Which stored nodes a proof needs: `O(log n)` of them.

use std::collections::HashMap;

use guildhall_domain::identity::{NodeId, TreeHash};

use super::tree::{Frontier, complete_subtrees, empty_root, fold};

/// A node of a proof is not stored: the log is not as long as the proof claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("node {} of level {} is missing", .0.index, .0.level)]
pub struct MissingNode(pub NodeId);

/// The hashes of a proof, each made of stored nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProofPlan {
    hashes: Vec<Vec<NodeId>>,
}

impl ProofPlan {
    /// Plans the proof that a leaf is in a tree of this size. Returns none if the tree is not that long.
    #[must_use]
    pub fn inclusion(index: u64, size: u64) -> Option<Self> {
        if index >= size {
            return None;
        }
        let (mut start, mut end, mut hashes) = (0, size, Vec::new());
        while end - start > 1 {
            let middle = start + left_size(end - start);
            if index < middle {
                hashes.push(complete_subtrees(middle, end));
                end = middle;
            } else {
                hashes.push(complete_subtrees(start, middle));
                start = middle;
            }
        }
        hashes.reverse();
        Some(Self { hashes })
    }

    /// Plans the proof that a tree has grown from one size to another. Returns none if the first is 0 or larger.
    #[must_use]
    pub fn consistency(first: u64, second: u64) -> Option<Self> {
        if first == 0 || first > second {
            return None;
        }
        let (mut start, mut end, mut hashes) = (0, second, Vec::new());
        // Until the range is the last complete subtree of the first tree.
        while end != first {
            let middle = start + left_size(end - start);
            if first <= middle {
                hashes.push(complete_subtrees(middle, end));
                end = middle;
            } else {
                hashes.push(complete_subtrees(start, middle));
                start = middle;
            }
        }
        // A verifier knows the root of the first tree.
        if start > 0 {
            hashes.push(complete_subtrees(start, end));
        }
        hashes.reverse();
        Some(Self { hashes })
    }

    /// Plans the root of a tree. Returns none for a tree without leaves.
    #[must_use]
    pub fn root(size: u64) -> Option<Self> {
        (size > 0).then(|| Self { hashes: vec![Frontier::peaks_of(size)] })
    }

    /// Returns the nodes to read.
    #[must_use]
    pub fn nodes(&self) -> Vec<NodeId> {
        self.hashes.iter().flatten().copied().collect()
    }

    /// Returns the hashes of the proof, from the leaves to the root.
    pub fn resolve(&self, nodes: &HashMap<NodeId, TreeHash>) -> Result<Vec<TreeHash>, MissingNode> {
        let find = |id: &NodeId| nodes.get(id).copied().ok_or(MissingNode(*id));
        let hash = |parts: &Vec<NodeId>| {
            let parts = parts.iter().map(find).collect::<Result<Vec<_>, _>>()?;
            Ok(fold(&parts).unwrap_or_else(empty_root))
        };
        self.hashes.iter().map(hash).collect()
    }
}

/// Returns the number of leaves on the left side: the largest power of two below the size, which is at least 2.
const fn left_size(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}
