//! The diff of manifests against a validator: it may be stricter than the values show, never more lenient.

use guildhall_domain::agents::diff::{Contract, ManifestDiff, Outcome};
use guildhall_protocol::manifest::{check, compile_input_schema};
use guildhall_testkit::Rounds;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::schema_generator::{GeneratedKeywords, input_schema};
use crate::schema_mutations::{mutate, widen};
use crate::value_generator::value_for;

/// Pairs in CI: some seconds.
const PAIRS: u32 = 300;

/// Values that are tried for each pair.
const VALUES: usize = 24;

/// Returns a manifest with one tool under a scope of low sensitivity: what only widens is a notice.
fn manifest_with(schema: &Value) -> String {
    json!({
        "schema_version": "1.0",
        "agent_version": "1.0.0",
        "tools": [{
            "name": "tool",
            "description_i18n_key": "tool",
            "input_schema": schema,
            "permission_scope": "notification:send",
        }],
        "permission_scopes": [{
            "id": "notification:send",
            "label_i18n_key": "label",
            "description_i18n_key": "description",
            "sensitivity": "low",
        }],
        "capability_flags": {
            "supports_streaming": true,
            "supports_artifacts": true,
            "supports_voice": false,
            "supports_group_chat": false,
        }
    })
    .to_string()
}

/// Two versions of a schema with their validators.
struct Pair {
    old: Value,
    new: Value,
    validators: [Validator; 2],
    diff: ManifestDiff,
}

/// Returns `None` if a change made a schema invalid.
fn compared(old: Value, new: Value) -> Option<Pair> {
    let (before, after) = (check(&manifest_with(&old)).ok()?, check(&manifest_with(&new)).ok()?);
    let validators = [&old, &new].map(|schema| compile_input_schema(schema).expect("a checked schema"));
    let diff = ManifestDiff::between(&before.manifest, &after.manifest);
    Some(Pair { old, new, validators, diff })
}

impl Pair {
    /// Returns a value that only the old schema allows.
    fn refused_value(&self, random: &mut Rounds) -> Option<Value> {
        (0..VALUES).find_map(|index| {
            let schema = if index % 2 == 0 { &self.old } else { &self.new };
            let value = value_for(random, schema, schema, 4);
            let [old, new] = &self.validators;
            (old.is_valid(&value) && !new.is_valid(&value)).then_some(value)
        })
    }

    fn describe(&self) -> String {
        format!("\nold {}\nnew {}\n{:#?}", self.old, self.new, self.diff.changes())
    }
}

/// Pairs that are made for each pair that is compared, at most: some changes make a schema invalid.
const ATTEMPTS: u32 = 2;

/// Full size: `cargo xtask long manifest-diff`.
#[test]
fn diff_is_never_more_lenient_than_the_values() {
    let mut random = Rounds::from_env(PAIRS);
    let size = random.size();
    let (mut compared_pairs, mut narrower, mut widened) = (0, 0, 0);
    for round in 0..size.saturating_mul(ATTEMPTS) {
        if compared_pairs < size
            && let Some(pair) = mutated_pair(&mut random)
        {
            compared_pairs += 1;
            narrower += u32::from(check_mutation(&pair, &mut random, round));
        }
        if widened < size {
            widened += u32::from(check_widening(&mut random, round));
        }
    }
    assert_eq!((compared_pairs, widened), (size, size), "too many changes make a schema invalid");
    random.report(&format!(
        "{compared_pairs} pairs of schemas with random changes: in {narrower} of them a value was found that the new schema no longer \
         allows, and the diff asked again or broke the contract each time. {widened} pairs with random widenings: none broke the \
         contract, and no value was found that the new schema does not allow.\n"
    ));
    // The test is of no use without such pairs.
    assert!(narrower * 8 > size, "{narrower}");
}

fn mutated_pair(random: &mut Rounds) -> Option<Pair> {
    let old = input_schema(random, GeneratedKeywords::All);
    let mut new = old.clone();
    for _ in 0..=random.random_index(2) {
        mutate(random, &mut new);
    }
    compared(old, new)
}

/// Returns whether a value was found that is no longer allowed.
fn check_mutation(pair: &Pair, random: &mut Rounds, round: u32) -> bool {
    let Some(value) = pair.refused_value(random) else { return false };
    let outcome = pair.diff.outcome();
    assert!(
        matches!(outcome, Outcome::ReConsent | Outcome::ContractBreak),
        "seed {}, round {round}: {outcome}, but {value} is no longer allowed{}",
        random.seed(),
        pair.describe()
    );
    true
}

/// Returns whether a widened pair was compared.
fn check_widening(random: &mut Rounds, round: u32) -> bool {
    let old = input_schema(random, GeneratedKeywords::Monotone);
    let mut new = old.clone();
    for _ in 0..=random.random_index(3) {
        widen(random, &mut new);
    }
    let Some(pair) = compared(old, new) else { return false };
    let place = format!("seed {}, round {round}", random.seed());
    assert_eq!(pair.diff.contract(), Contract::Compatible, "{place}{}", pair.describe());
    let refused = pair.refused_value(random);
    assert_eq!(refused, None, "{place}: this is no widening{}", pair.describe());
    true
}
