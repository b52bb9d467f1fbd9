//! Compatibility of server binaries and database schemas, for rolling upgrades.
//!
//! Migrations are numbered. A binary knows migrations up to some number. A database records the highest applied
//! migration and a floor: the lowest migration that a binary must know to use it. Adding a column keeps the floor, so
//! old and new replicas run side by side. Removing something that old replicas read raises it.

/// Schema version of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaState {
    /// The highest applied migration.
    pub applied: i64,
    /// The lowest migration that a binary must know.
    pub floor: i64,
}

/// Whether a binary can use a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaCompatibility {
    Compatible,
    /// The database lacks migrations of the binary.
    Behind {
        applied: i64,
        required: i64,
    },
    /// The floor of the database is above the migrations of the binary.
    TooNew {
        floor: i64,
        known: i64,
    },
}

impl SchemaState {
    /// Decides whether a binary that knows migrations up to `known` can use this database.
    #[must_use]
    pub fn compatibility(self, known: i64) -> SchemaCompatibility {
        if self.floor > known {
            SchemaCompatibility::TooNew { floor: self.floor, known }
        } else if self.applied < known {
            SchemaCompatibility::Behind { applied: self.applied, required: known }
        } else {
            SchemaCompatibility::Compatible
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn older_binary_is_compatible_until_the_floor_exceeds_it() {
        let newer = SchemaState { applied: 9, floor: 5 };
        assert_eq!(newer.compatibility(5), SchemaCompatibility::Compatible);
        assert_eq!(newer.compatibility(4), SchemaCompatibility::TooNew { floor: 5, known: 4 });
    }

    proptest! {
        #[test]
        fn binary_is_compatible_after_its_own_migrations(known in 1i64..100, floor in 0i64..100) {
            let floor = floor.min(known);
            prop_assert_eq!(SchemaState { applied: known, floor }.compatibility(known), SchemaCompatibility::Compatible);
        }

        #[test]
        fn database_that_lacks_migrations_is_behind(known in 1i64..100, applied in 0i64..100) {
            prop_assume!(applied < known);
            let compatibility = SchemaState { applied, floor: 0 }.compatibility(known);
            prop_assert_eq!(compatibility, SchemaCompatibility::Behind { applied, required: known });
        }
    }
}
