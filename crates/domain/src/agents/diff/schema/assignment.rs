//! Pairs the branches of two lists so that all pairs together are as close as possible.

use std::collections::BTreeMap;

/// How far two schemas are from each other, the most important difference first: incomparable, breaking, narrower, changes.
pub(super) type Distance = [usize; 4];

/// Returns a row and a column for each pair. The shorter side is used up. At most 8 columns: all sets of them are tried.
pub(super) fn closest_pairs(distances: &[Vec<Distance>]) -> Vec<(usize, usize)> {
    let columns = distances.first().map_or(0, Vec::len);
    if columns < distances.len() {
        let transposed: Vec<Vec<Distance>> =
            (0..columns).map(|column| distances.iter().map(|row| row[column]).collect()).collect();
        return closest_pairs(&transposed).into_iter().map(|(row, column)| (column, row)).collect();
    }
    // The best choice of columns for the rows so far, by the set of columns.
    let mut best: BTreeMap<u32, (Distance, Vec<usize>)> = BTreeMap::from([(0, ([0; 4], Vec::new()))]);
    for row in distances {
        let mut next: BTreeMap<u32, (Distance, Vec<usize>)> = BTreeMap::new();
        for (used, (sum, chosen)) in &best {
            for (column, distance) in row.iter().enumerate().filter(|(column, _)| used & (1 << column) == 0) {
                let sum: Distance = std::array::from_fn(|index| sum[index] + distance[index]);
                let candidate = (sum, [chosen.as_slice(), &[column]].concat());
                let entry = next.entry(used | (1 << column)).or_insert_with(|| candidate.clone());
                if candidate < *entry {
                    *entry = candidate;
                }
            }
        }
        best = next;
    }
    let chosen = best.into_values().min().map(|(_, chosen)| chosen).unwrap_or_default();
    chosen.into_iter().enumerate().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_of_distances_is_smallest() {
        let distance = |breaks: usize, changes: usize| [0, breaks, 0, changes];
        let square = vec![vec![distance(0, 1), distance(0, 1)], vec![distance(0, 1), distance(1, 1)]];
        assert_eq!(closest_pairs(&square), [(0, 1), (1, 0)]);
        let tall = vec![vec![distance(0, 3)], vec![distance(0, 2)], vec![distance(0, 4)]];
        assert_eq!(closest_pairs(&tall), [(1, 0)]);
        assert_eq!(closest_pairs(&[]), []);
    }
}
