//! Migrations run while older replicas serve: a statement that locks a big table for long, or reads all of it, is
//! refused. Indexes of existing tables are in `crates/store/deferred_indexes.sql`.

use std::collections::BTreeSet;
use std::path::Path;

/// The last migration before these rules.
const BEFORE_THE_RULES: u32 = 37;

/// What a statement may not do to a table that existed before its migration, and what to do instead.
const RULES: [(&str, &str); 8] = [
    ("CREATE INDEX", "add the index to crates/store/deferred_indexes.sql"),
    ("CREATE UNIQUE INDEX", "build it concurrently after readiness"),
    ("PARTITION OF", "create the table with LIKE, then attach it"),
    ("SET NOT NULL", "add a CHECK constraint with NOT VALID, and validate it later"),
    ("ALTER COLUMN TYPE", "add a column and move the values in code"),
    ("FOREIGN KEY", "add the constraint with NOT VALID"),
    ("UNIQUE (", "build a unique index concurrently after readiness"),
    ("LOCK TABLE", "do not"),
];

/// Returns the refused statements of a migration.
fn check(sql: &str) -> Vec<String> {
    let mut created = BTreeSet::new();
    let mut refused = Vec::new();
    for statement in statements(sql) {
        let words: Vec<&str> = statement.split_whitespace().collect();
        let target = match words[..] {
            ["CREATE", "TABLE", "IF", "NOT", "EXISTS", name, ..]
            | ["CREATE", "UNLOGGED", "TABLE", name, ..]
            | ["CREATE", "TABLE", name, ..] => {
                created.insert(name.to_owned());
                Some(name)
            }
            ["ALTER", "TABLE", name, ..] => Some(name),
            ["CREATE", ..] => words.iter().skip_while(|word| **word != "ON").nth(1).copied(),
            _ => None,
        };
        if target.is_some_and(|target| created.contains(target)) && !words.contains(&"PARTITION") {
            continue;
        }
        let text = words.join(" ");
        let is_type_change = text.contains("ALTER COLUMN") && text.contains(" TYPE ");
        for (pattern, advice) in RULES {
            let is_found = text.contains(pattern) && !text.contains("NOT VALID");
            if is_found || (pattern == "ALTER COLUMN TYPE" && is_type_change) {
                refused.push(format!("{text}: {advice}"));
            }
        }
    }
    refused
}

/// Splits a migration at its semicolons, without comments and bodies of functions.
fn statements(sql: &str) -> Vec<String> {
    let code: String =
        sql.lines().map(|line| line.split("--").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let outside: Vec<&str> = code.split("$$").step_by(2).collect();
    outside.join(" ").split(';').map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

#[test]
fn migrations_lock_no_big_table_for_long() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations");
    let mut checked = 0;
    for file in std::fs::read_dir(folder).expect("crates/store/migrations") {
        let path = file.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let Some(number) = name.split('_').next().and_then(|number| number.parse::<u32>().ok()) else {
            continue;
        };
        if number <= BEFORE_THE_RULES {
            continue;
        }
        checked += 1;
        let refused = check(&std::fs::read_to_string(&path).expect("readable"));
        assert_eq!(refused, Vec::<String>::new(), "{name}");
    }
    assert!(checked > 0, "no migration was checked");
}

#[test]
fn locking_statements_are_refused_on_old_tables_only() {
    let refused = [
        "CREATE INDEX a ON runs (b);",
        "CREATE TABLE t PARTITION OF journal_entries FOR VALUES IN (9);",
        "ALTER TABLE runs ALTER COLUMN b SET NOT NULL;",
        "ALTER TABLE runs ALTER COLUMN b TYPE bigint;",
        "ALTER TABLE runs ADD FOREIGN KEY (b) REFERENCES c (d);",
        "CREATE TABLE t (b uuid); ALTER TABLE runs ADD CONSTRAINT c FOREIGN KEY (b) REFERENCES t (b);",
        "ALTER TABLE runs ADD CONSTRAINT c UNIQUE (b);",
        "-- A comment.\nLOCK TABLE runs;",
    ];
    for sql in refused {
        assert_eq!(check(sql).len(), 1, "{sql}");
    }
    let accepted = [
        "CREATE TABLE t (b uuid NOT NULL); CREATE INDEX a ON t (b);",
        "ALTER TABLE runs ADD COLUMN b bigint NOT NULL DEFAULT 0;",
        "ALTER TABLE runs ADD FOREIGN KEY (b) REFERENCES c (d) NOT VALID;",
        "CREATE FUNCTION f() RETURNS void AS $$ CREATE INDEX a ON runs (b); $$ LANGUAGE sql;",
    ];
    for sql in accepted {
        assert_eq!(check(sql), Vec::<String>::new(), "{sql}");
    }
}
