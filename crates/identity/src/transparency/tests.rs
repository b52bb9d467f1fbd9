//! The log against an implementation that is not ours.

use std::collections::HashMap;

use ct_merkle::{ConsistencyProof, InclusionProof, RootHash};
use guildhall_domain::agents::manifest::document::ManifestHash;
use guildhall_domain::identity::{
    LogContent, LogEntry, LoggedManifest, NodeId, SignedTreeHead, TreeHash, TreeHead,
};
use guildhall_domain::ids::AgentId;
use proptest::prelude::*;
use sha2::Sha256;

use super::*;
use crate::pki::{Curve, EcKey, InvalidSignature};

/// A log in memory, built by the code that the server uses.
struct MemoryLog {
    frontier: Frontier,
    nodes: HashMap<NodeId, TreeHash>,
    /// The root at each size.
    roots: Vec<TreeHash>,
}

fn leaf(index: u64) -> Vec<u8> {
    format!("certificate {index}").into_bytes()
}

impl MemoryLog {
    fn new(size: u64) -> Self {
        let (mut frontier, mut nodes) = (Frontier::empty(), HashMap::new());
        let mut roots = vec![frontier.root()];
        for index in 0..size {
            frontier.append(leaf_hash(&leaf(index)), |id, hash| {
                assert_eq!(nodes.insert(id, hash), None, "a node is complete once");
            });
            roots.push(frontier.root());
        }
        Self { frontier, nodes, roots }
    }

    fn size(&self) -> u64 {
        self.frontier.size()
    }

    fn root(&self, size: u64) -> TreeHash {
        self.roots[usize::try_from(size).expect("a size")]
    }

    fn prove(&self, plan: Option<ProofPlan>) -> Vec<TreeHash> {
        plan.expect("a plan").resolve(&self.nodes).expect("all nodes")
    }
}

fn bytes(proof: &[TreeHash]) -> Vec<u8> {
    proof.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

fn other_root(root: TreeHash, size: u64) -> RootHash<Sha256> {
    RootHash::new((*root.as_bytes()).into(), size)
}

/// Returns the proof after ct-merkle has accepted it.
fn prove_inclusion(log: &MemoryLog, index: u64, size: u64) -> Vec<TreeHash> {
    let proof = log.prove(ProofPlan::inclusion(index, size));
    let theirs = InclusionProof::<Sha256>::try_from_bytes(bytes(&proof)).expect("a proof");
    let root = other_root(log.root(size), size);
    root.verify_inclusion(&leaf(index), index, &theirs).expect("accepted");
    proof
}

/// Returns the proof after ct-merkle has accepted it.
fn prove_consistency(log: &MemoryLog, first: u64, second: u64) -> Vec<TreeHash> {
    let proof = log.prove(ProofPlan::consistency(first, second));
    let theirs = ConsistencyProof::<Sha256>::try_from_bytes(bytes(&proof)).expect("a proof");
    let (old, new) = (other_root(log.root(first), first), other_root(log.root(second), second));
    new.verify_consistency(&old, &theirs).expect("accepted");
    proof
}

// covers: A13
#[test]
fn every_proof_of_small_logs_is_accepted_by_ct_merkle() {
    let log = MemoryLog::new(66);
    for size in 1..=log.size() {
        let root = log.root(size);
        for index in 0..size {
            let (leaf, proof) = (leaf_hash(&leaf(index)), prove_inclusion(&log, index, size));
            assert_eq!(verify_inclusion(leaf, index, size, root, &proof), Ok(()));
            let (first, proof) = (index + 1, prove_consistency(&log, index + 1, size));
            assert_eq!(verify_consistency((first, log.root(first)), (size, root), &proof), Ok(()));
        }
    }
}

// covers: A13
#[test]
fn every_proof_of_100_000_entries_is_accepted_by_ct_merkle() {
    const SIZE: u64 = 100_000;
    let log = MemoryLog::new(SIZE);
    for index in 0..SIZE {
        prove_inclusion(&log, index, SIZE);
        prove_consistency(&log, index + 1, SIZE);
    }
    let longest =
        (0..SIZE).filter_map(|index| ProofPlan::inclusion(index, SIZE)).map(|plan| plan.nodes().len());
    assert!(longest.max().expect("some") <= 2 * 17, "reads of a proof grow with the logarithm");
}

#[test]
fn roots_are_those_of_ct_merkle() {
    let mut theirs = ct_merkle::mem_backed_tree::MemoryBackedTree::<Sha256, Vec<u8>>::new();
    let log = MemoryLog::new(300);
    for size in 0..=log.size() {
        assert_eq!(theirs.root().as_bytes().as_slice(), log.root(size).as_bytes());
        assert_eq!(theirs.root().num_leaves(), size);
        theirs.push(leaf(size));
    }
}

#[test]
fn frontier_continues_from_stored_nodes() {
    let (log, mut frontier) = (MemoryLog::new(200), Frontier::empty());
    for size in 0..log.size() {
        let peaks = Frontier::peaks_of(size).iter().map(|id| log.nodes[id]).collect();
        let opened = Frontier::open(size, peaks).expect("as many peaks");
        assert_eq!((&opened, opened.root()), (&frontier, log.root(size)));
        frontier.append(leaf_hash(&leaf(size)), |_, _| {});
    }
    assert_eq!(Frontier::open(3, vec![log.root(1)]), None);
}

#[test]
fn proofs_of_missing_leaves_are_not_made() {
    let log = MemoryLog::new(7);
    assert_eq!(ProofPlan::inclusion(7, 7), None);
    assert_eq!(ProofPlan::consistency(0, 7), None);
    assert_eq!(ProofPlan::consistency(8, 7), None);
    let plan = ProofPlan::inclusion(3, 8).expect("a plan");
    assert_eq!(plan.resolve(&log.nodes), Err(MissingNode(NodeId { level: 2, index: 1 })));
    let huge = ProofPlan::inclusion(u64::MAX / 3, u64::MAX).expect("a plan");
    assert!(huge.nodes().len() < 130);
}

proptest! {
    /// A bit that flips in a leaf, a root or a proof, or another index, is found.
    #[test]
    fn one_flipped_bit_breaks_every_proof(size in 1..200_u64, seed in any::<u64>(), bit in 0..256_usize, at in any::<prop::sample::Index>()) {
        let (log, index) = (MemoryLog::new(size), seed % size);
        let flip = |hash: TreeHash| {
            let mut bytes = *hash.as_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            TreeHash::new(bytes)
        };
        let (leaf, root) = (leaf_hash(&leaf(index)), log.root(size));
        let proof = log.prove(ProofPlan::inclusion(index, size));
        prop_assert_eq!(verify_inclusion(leaf, index, size, root, &proof), Ok(()));
        prop_assert!(verify_inclusion(flip(leaf), index, size, root, &proof).is_err());
        prop_assert!(verify_inclusion(leaf, index, size, flip(root), &proof).is_err());
        prop_assert!(verify_inclusion(leaf, (index + 1) % size, size, root, &proof).is_err() || size == 1);
        let first = index + 1;
        let growth = log.prove(ProofPlan::consistency(first, size));
        prop_assert!(verify_consistency((first, flip(log.root(first))), (size, root), &growth).is_err());
        prop_assert!(verify_consistency((first, log.root(first)), (size, flip(root)), &growth).is_err());
        for (proof, is_inclusion) in [(proof, true), (growth, false)] {
            if proof.is_empty() {
                continue;
            }
            let (mut changed, position) = (proof.clone(), at.index(proof.len()));
            changed[position] = flip(changed[position]);
            for wrong in [&changed, &proof[1..].to_vec(), &[proof.as_slice(), &[root]].concat()] {
                let accepted = if is_inclusion {
                    verify_inclusion(leaf, index, size, root, wrong).is_ok()
                } else {
                    verify_consistency((first, log.root(first)), (size, root), wrong).is_ok()
                };
                prop_assert!(!accepted);
            }
        }
    }
}

#[test]
fn head_belongs_to_one_key_and_one_content() {
    let (key, other) =
        (EcKey::generate(Curve::P256).expect("a key"), EcKey::generate(Curve::P256).expect("a key"));
    let at = "2026-11-18T20:00:00.123Z".parse().expect("a time");
    let head = TreeHead { size: 3, root: MemoryLog::new(3).root(3), at };
    let signed = sign_head(head, &key).expect("signed");
    let public = LogKey::of(&key).expect("a key");
    assert_eq!(LogKey::from_base64(&public.to_base64()), Ok(public.clone()));
    assert_eq!(public.verify(&signed), Ok(()));
    assert_eq!(LogKey::of(&other).expect("a key").verify(&signed), Err(InvalidSignature));
    for changed in [
        TreeHead { size: 4, ..head },
        TreeHead { root: MemoryLog::new(4).root(4), ..head },
        TreeHead { at: "2026-11-18T20:00:00.124Z".parse().expect("a time"), ..head },
    ] {
        let forged = SignedTreeHead { head: changed, signature: signed.signature.clone() };
        assert_eq!(public.verify(&forged), Err(InvalidSignature));
    }
}

/// The bytes of RFC 6962, section 3.4, written out.
#[test]
fn leaf_of_a_certificate_is_the_one_of_rfc_6962() {
    let at = "1970-01-01T00:00:01.002Z".parse().expect("a time");
    let leaf = [0, 0, 0, 0, 0, 0, 0, 0, 3, 234, 0, 0, 0, 0, 2, 0xab, 0xcd, 0, 0];
    assert_eq!(certificate_leaf(at, &[0xab, 0xcd]), leaf_hash(&leaf));
}

#[test]
fn leaf_of_a_manifest_is_json_with_its_hash() {
    let (agent, hash) = (AgentId::from_uuid(uuid::Uuid::from_u128(7)), ManifestHash::new([0xab; 32]));
    let logged_at = "1970-01-01T00:00:01.002Z".parse().expect("a time");
    let digits = "ab".repeat(32);
    let json = format!(
        r#"{{"agent_id":"agt_00000000000000000000000000000007","manifest_hash":"{digits}","manifest_version":3}}"#
    );
    let length = u8::try_from(json.len()).expect("short");
    let head = [0, 0, 0, 0, 0, 0, 0, 0, 3, 234, 0x80, 0, 0, 0, length];
    let leaf = [&head, json.as_bytes(), &[0, 0]].concat();
    let manifest = LoggedManifest { agent, version: 3, hash };
    let entry = LogEntry { index: 0, logged_at, content: LogContent::Manifest(manifest) };
    assert_eq!(entry_leaf(&entry), leaf_hash(&leaf));
}
