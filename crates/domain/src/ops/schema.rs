//! Which binary may work with which database: the rule that lets upgrades roll.
//!
//! Migrations are numbered. A binary knows them up to some number. A database has them applied up to some
//! number and states a floor: the lowest number a binary must know to work with it. Adding a column leaves the
//! floor alone, so old replicas go on beside new ones; removing what old replicas read raises it.

/// What a database says of its schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaState {
    /// The highest migration applied.
    pub applied: i64,
    /// The lowest migration number that a binary must know.
    pub floor: i64,
}

/// Whether a binary may serve on a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaVerdict {
    Fits,
    /// The database lacks migrations that the binary needs.
    Behind {
        applied: i64,
        wanted: i64,
    },
    /// The database has moved on past what the binary can read.
    TooNew {
        floor: i64,
        known: i64,
    },
}

impl SchemaState {
    /// Decides whether a binary that knows migrations up to `known` may serve here.
    #[must_use]
    pub fn verdict(self, known: i64) -> SchemaVerdict {
        if self.floor > known {
            SchemaVerdict::TooNew { floor: self.floor, known }
        } else if self.applied < known {
            SchemaVerdict::Behind { applied: self.applied, wanted: known }
        } else {
            SchemaVerdict::Fits
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_older_binary_serves_a_newer_database_until_the_floor_passes_it() {
        let moved_on = SchemaState { applied: 9, floor: 5 };
        assert_eq!(moved_on.verdict(5), SchemaVerdict::Fits);
        assert_eq!(moved_on.verdict(4), SchemaVerdict::TooNew { floor: 5, known: 4 });
    }

    proptest! {
        #[test]
        fn after_its_own_migrations_a_binary_always_fits(known in 1i64..100, floor in 0i64..100) {
            let floor = floor.min(known);
            prop_assert_eq!(SchemaState { applied: known, floor }.verdict(known), SchemaVerdict::Fits);
        }

        #[test]
        fn a_database_that_lacks_migrations_never_fits(known in 1i64..100, applied in 0i64..100) {
            prop_assume!(applied < known);
            let verdict = SchemaState { applied, floor: 0 }.verdict(known);
            prop_assert_eq!(verdict, SchemaVerdict::Behind { applied, wanted: known });
        }
    }
}
