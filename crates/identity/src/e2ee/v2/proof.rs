//! Proofs that a row belongs to the rows that the sender signed.

use super::super::bounds::MAX_RECIPIENTS;
use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::{Members, array};
use super::digest::{leaf_hash, node_hash, parents};
use super::row::RecipientRow;

/// Layers of a tree with the largest number of rows.
const MAX_STEPS: usize = MAX_RECIPIENTS.next_power_of_two().ilog2() as usize;

/// On which side a sibling is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Left,
    Right,
}

/// A node on the way from a row to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProofStep {
    pub sibling: [u8; 32],
    pub position: Position,
}

impl ProofStep {
    fn parse(json: ExactJson) -> Result<Self, EnvelopeError> {
        let mut members = Members::of(json, "merkle_proof")?;
        let position = match members.text("position")?.as_str() {
            "L" => Position::Left,
            "R" => Position::Right,
            _ => return Err(EnvelopeError::Member("merkle_proof")),
        };
        Ok(Self {
            sibling: hash(&members.text("sibling")?).ok_or(EnvelopeError::Member("merkle_proof"))?,
            position,
        })
    }

    pub(super) fn parse_all(json: ExactJson) -> Result<Vec<Self>, EnvelopeError> {
        let steps = array(json).filter(|steps| steps.len() <= MAX_STEPS);
        steps.ok_or(EnvelopeError::Member("merkle_proof"))?.into_iter().map(Self::parse).collect()
    }

    pub(super) fn to_json(self) -> ExactJson {
        let position = match self.position {
            Position::Left => "L",
            Position::Right => "R",
        };
        let sibling = ExactJson::String(hex::encode(self.sibling));
        ExactJson::Object(JsonObject::from([
            ("sibling".to_owned(), sibling),
            ("position".to_owned(), position.into()),
        ]))
    }
}

/// Reads a hash of 64 lower-case digits.
pub(super) fn hash(digits: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    hex::decode_to_slice(digits, &mut hash).ok()?;
    (hex::encode(hash) == digits).then_some(hash)
}

/// Returns the proof of one of the rows.
#[must_use]
pub fn proof_of(rows: &[RecipientRow], index: usize) -> Option<Vec<ProofStep>> {
    rows.get(index)?;
    let mut layer: Vec<[u8; 32]> = rows.iter().map(leaf_hash).collect();
    let (mut index, mut steps) = (index, Vec::new());
    while layer.len() > 1 {
        let position = if index % 2 == 0 { Position::Right } else { Position::Left };
        // The last node of an odd layer is its own sibling.
        let sibling = *layer.get(index ^ 1).or_else(|| layer.last())?;
        steps.push(ProofStep { sibling, position });
        layer = parents(&layer);
        index /= 2;
    }
    Some(steps)
}

/// Checks a proof against the root that the sender signed.
pub fn verify_proof(row: &RecipientRow, proof: &[ProofStep], root: &[u8; 32]) -> Result<(), EnvelopeError> {
    let computed = proof.iter().fold(leaf_hash(row), |node, step| match step.position {
        Position::Left => node_hash(&step.sibling, &node),
        Position::Right => node_hash(&node, &step.sibling),
    });
    if computed == *root { Ok(()) } else { Err(EnvelopeError::Digest) }
}
