//! `anyOf`, `oneOf`, `not` and `if`.

use super::assignment::closest_pairs;
use super::conjunction::{Node, Part, SchemaAt, elements};
use super::{Comparison, Context, Effect, Position, Step};
use crate::agents::diff::change::ChangeKind;

/// Most branches of each side that are compared with all of the other side.
const MAX_PROBED: usize = 8;

impl<'a> Comparison<'a, '_> {
    pub(super) fn compare_alternatives(&mut self, step: &Step<'_, 'a>) {
        self.compare_lists(step, "anyOf", step.context);
        // A value that matches a second branch is no longer allowed.
        self.compare_lists(step, "oneOf", step.context.not_monotone());
        let (old, new) = (step.old.keyword("not"), step.new.keyword("not"));
        for pair in 0..old.len().max(new.len()) {
            self.compare_condition(step, "not", old.get(pair), new.get(pair));
        }
        self.compare_conditionals(step);
    }

    /// Compares the lists of a keyword, in the order in which they are written.
    fn compare_lists(&mut self, step: &Step<'_, 'a>, keyword: &'static str, context: Context) {
        let (old, new) = (step.old.keyword(keyword), step.new.keyword(keyword));
        for pair in 0..old.len().max(new.len()) {
            match (old.get(pair), new.get(pair)) {
                (Some(old), Some(new)) => self.compare_branches(old, new, keyword, context),
                (None, Some(new)) => self.add_alternatives(step, keyword, new, context),
                (Some(old), None) => {
                    let Some(place) = self.place_of(None, Some(old)) else { continue };
                    let change = place.change(ChangeKind::ConstraintLoosened, keyword);
                    self.add(step.context, change, Effect::Widens);
                }
                (None, None) => {}
            }
        }
    }

    /// A schema became one of several: that widens it if a branch allows all that it allowed.
    fn add_alternatives(
        &mut self,
        step: &Step<'_, 'a>,
        keyword: &'static str,
        new: &SchemaAt<'a>,
        context: Context,
    ) {
        let old = step.old.node();
        let branches = elements(new);
        let mut is_wider = false;
        for branch in branches.iter().take(MAX_PROBED) {
            is_wider = is_wider || !self.probe(&old, &vec![branch.clone()], context).is_narrower;
        }
        let Some(place) = self.place_of(Some(new), None) else { return };
        let (kind, effect) = if is_wider {
            (ChangeKind::AlternativeAdded, Effect::Widens)
        } else {
            (ChangeKind::ConstraintTightened, Effect::Narrows)
        };
        self.add(context, place.change(kind, keyword), effect);
    }

    fn compare_branches(
        &mut self,
        old: &SchemaAt<'a>,
        new: &SchemaAt<'a>,
        keyword: &'static str,
        context: Context,
    ) {
        let (mut old, mut new) = (elements(old), elements(new));
        for (old, new) in self.pair_branches(&mut old, &mut new, context) {
            self.compare(&[old], &[new], context, Position::Schema);
        }
        for branch in &new {
            if let Some(place) = self.place_of(Some(branch), None) {
                self.add(context, place.change(ChangeKind::AlternativeAdded, keyword), Effect::Widens);
            }
        }
        for branch in &old {
            if let Some(place) = self.place_of(None, Some(branch)) {
                self.add(context, place.change(ChangeKind::AlternativeRemoved, keyword), Effect::Narrows);
            }
        }
    }

    /// Takes the branches that belong together out of both lists: first equal ones, then the closest.
    fn pair_branches(
        &mut self,
        old: &mut Node<'a>,
        new: &mut Node<'a>,
        context: Context,
    ) -> Vec<(SchemaAt<'a>, SchemaAt<'a>)> {
        let mut pairs = Vec::new();
        old.retain(|branch| {
            let Some(index) = new.iter().position(|other| other.value == branch.value) else { return true };
            pairs.push((branch.clone(), new.remove(index)));
            false
        });
        if old.len() <= MAX_PROBED && new.len() <= MAX_PROBED && old.len().max(new.len()) > 1 {
            pairs.extend(self.closest_branches(old, new, context));
        }
        while !old.is_empty() && !new.is_empty() {
            pairs.push((old.remove(0), new.remove(0)));
        }
        pairs
    }

    fn closest_branches(
        &mut self,
        old: &mut Node<'a>,
        new: &mut Node<'a>,
        context: Context,
    ) -> Vec<(SchemaAt<'a>, SchemaAt<'a>)> {
        let mut distances = Vec::new();
        for old in &*old {
            let mut row = Vec::new();
            for new in &*new {
                row.push(self.probe(&vec![old.clone()], &vec![new.clone()], context).distance);
            }
            distances.push(row);
        }
        let pairs = closest_pairs(&distances);
        let found = pairs.iter().map(|(before, after)| (old[*before].clone(), new[*after].clone())).collect();
        let rest = |list: &Node<'a>, used: Vec<usize>| -> Node<'a> {
            let rest = list.iter().enumerate().filter(|(index, _)| !used.contains(index));
            rest.map(|(_, branch)| branch.clone()).collect()
        };
        *old = rest(old, pairs.iter().map(|(before, _)| *before).collect());
        *new = rest(new, pairs.iter().map(|(_, after)| *after).collect());
        found
    }

    /// Compares schemas that a value must not match, or that decide which others it must match.
    fn compare_condition(
        &mut self,
        step: &Step<'_, 'a>,
        keyword: &'static str,
        old: Option<&SchemaAt<'a>>,
        new: Option<&SchemaAt<'a>>,
    ) {
        let (kind, effect) = match (old, new) {
            (Some(old), Some(new)) => {
                let (old, new) = ([old.clone()], [new.clone()]);
                return self.compare(&old, &new, Context::INVERTED, Position::Schema);
            }
            (None, Some(_)) => (ChangeKind::ConstraintTightened, Effect::Narrows),
            (Some(_), None) => (ChangeKind::ConstraintLoosened, Effect::Widens),
            (None, None) => return,
        };
        if let Some(place) = self.place_of(new, old) {
            self.add(step.context, place.change(kind, keyword), effect);
        }
    }

    fn compare_conditionals(&mut self, step: &Step<'_, 'a>) {
        let conditionals = |parts: &[Part<'a>]| {
            let found = parts.iter().filter(|part| part.schema.contains_key("if"));
            found.cloned().collect::<Vec<_>>()
        };
        let (old, new) = (conditionals(&step.old.parts), conditionals(&step.new.parts));
        for pair in 0..old.len().max(new.len()) {
            let branch = |parts: &[Part<'a>], keyword: &str| -> Node<'a> {
                parts.get(pair).map(|part| part.own_keyword(keyword)).unwrap_or_default()
            };
            let (before, after) = (branch(&old, "if"), branch(&new, "if"));
            self.compare_condition(step, "if", before.first(), after.first());
            if pair < old.len() && pair < new.len() {
                for keyword in ["then", "else"] {
                    let (before, after) = (branch(&old, keyword), branch(&new, keyword));
                    self.compare(&before, &after, step.context, Position::Schema);
                }
            }
        }
    }
}
