//! Verification of proofs, as RFC 9162 describes it in sections 2.1.3.2 and 2.1.4.2.

use guildhall_domain::identity::TreeHash;

use super::tree::{empty_root, node_hash};

/// The proof does not prove what it claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProof {
    #[error("the proof has a wrong number of hashes")]
    Length,
    #[error("the proof leads to another root")]
    OtherRoot,
    #[error(
        "the older tree is not the beginning of the newer one: the log was rewritten, or shows different trees"
    )]
    Fork,
}

/// Verifies that a leaf is at this index of the tree of this size and root.
pub fn verify_inclusion(
    leaf: TreeHash,
    index: u64,
    size: u64,
    root: TreeHash,
    proof: &[TreeHash],
) -> Result<(), InvalidProof> {
    if index >= size {
        return Err(InvalidProof::Length);
    }
    let (mut node, mut last, mut hash) = (index, size - 1, leaf);
    for sibling in proof {
        if last == 0 {
            return Err(InvalidProof::Length);
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(*sibling, hash);
            skip_right_edge(&mut node, &mut last);
        } else {
            hash = node_hash(hash, *sibling);
        }
        node >>= 1;
        last >>= 1;
    }
    match (last, hash == root) {
        (0, true) => Ok(()),
        (0, false) => Err(InvalidProof::OtherRoot),
        _ => Err(InvalidProof::Length),
    }
}

/// Verifies that a tree of the first size and root is the beginning of the second one.
pub fn verify_consistency(
    (first, first_root): (u64, TreeHash),
    (second, second_root): (u64, TreeHash),
    proof: &[TreeHash],
) -> Result<(), InvalidProof> {
    if first > second {
        return Err(InvalidProof::Fork);
    }
    if first == 0 || first == second {
        let is_same = if first == second { first_root == second_root } else { is_empty_root(first_root) };
        return match (proof.is_empty(), is_same) {
            (true, true) => Ok(()),
            (true, false) => Err(InvalidProof::Fork),
            (false, _) => Err(InvalidProof::Length),
        };
    }
    // The root of a first tree that is a complete subtree of the second is not in the proof.
    let start = if first.is_power_of_two() { Some(first_root) } else { None };
    let mut rest = start.iter().chain(proof);
    let seed = *rest.next().ok_or(InvalidProof::Length)?;
    let (mut node, mut last) = (first - 1, second - 1);
    while node & 1 == 1 {
        node >>= 1;
        last >>= 1;
    }
    let (mut old, mut new) = (seed, seed);
    for hash in rest {
        if last == 0 {
            return Err(InvalidProof::Length);
        }
        if node & 1 == 1 || node == last {
            old = node_hash(*hash, old);
            new = node_hash(*hash, new);
            skip_right_edge(&mut node, &mut last);
        } else {
            new = node_hash(new, *hash);
        }
        node >>= 1;
        last >>= 1;
    }
    match (last, old == first_root && new == second_root) {
        (0, true) => Ok(()),
        (0, false) => Err(InvalidProof::Fork),
        _ => Err(InvalidProof::Length),
    }
}

/// A node at the right edge without a sibling is its own parent.
const fn skip_right_edge(node: &mut u64, last: &mut u64) {
    while *node & 1 == 0 && *node != 0 {
        *node >>= 1;
        *last >>= 1;
    }
}

fn is_empty_root(root: TreeHash) -> bool {
    root == empty_root()
}
