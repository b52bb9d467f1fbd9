use super::*;

const README: &str = "README.md";

/// Returns what the checks report about lines added to a copy of the README.
fn problems_of_readme_with(lines: &str) -> Vec<String> {
    let root = root();
    let mut documents = read_documents(&root).unwrap();
    let text = fs::read_to_string(root.join(README)).unwrap();
    let first = text.lines().count() + 1;
    let copy = Document::parse(README.to_owned(), &format!("{text}{lines}"));
    let readme = documents.iter_mut().find(|document| document.path == README).unwrap();
    *readme = copy;
    let problems = check_texts(&root, &documents).unwrap();
    let planted = problems.iter().filter_map(|problem| {
        let (line, message) = problem.strip_prefix("README.md:")?.split_once(": ")?;
        let line: usize = line.parse().ok()?;
        line.checked_sub(first).map(|line| format!("{}: {message}", line + 1))
    });
    planted.collect()
}

#[test]
fn planted_errors_in_a_copy_of_the_readme_are_reported() {
    let lines = "[x](docs/none.md)\n[x](docs/concepts.md#none)\n`guildhall runs ls --nope`\n`--nope`\n\
                 `htpp.listen`\n`http.listens`\n`[htpp]`\n`GUILDHALL_HTTP_PORT`\n`guildhall_none_total`\n\
                 `GET /ct/none`\n`crates/none.rs`\n";
    let mut found = problems_of_readme_with(lines);
    found.sort_by_key(|problem| problem.split(':').next().and_then(|line| line.parse::<usize>().ok()));
    assert_eq!(
        found,
        [
            "1: the link `docs/none.md` leads to no file",
            "2: the link `docs/concepts.md#none` names no heading of its target",
            "3: `guildhall runs ls --nope` is not a valid command: unexpected argument '--nope' found",
            "4: no program of ours has the flag `--nope`",
            "5: there is no configuration key `htpp.listen`",
            "6: there is no configuration key `http.listens`",
            "7: there is no configuration section `htpp`",
            "8: there is no environment variable `GUILDHALL_HTTP_PORT`",
            "9: there is no metric `guildhall_none_total`",
            "10: there is no route `GET /ct/none`",
            "11: there is no file `crates/none.rs`",
        ]
    );
}

#[test]
fn readmes_of_packages_are_read() {
    let documents = read_documents(&root()).unwrap();
    for path in ["sdks/python/README.md", "examples/chat-web/README.md", "interop/aun/README.md"] {
        assert!(documents.iter().any(|document| document.path == path), "{path}");
    }
    assert!(documents.iter().all(|document| !document.path.contains("node_modules")));
}

#[test]
fn wrong_output_and_failing_command_of_a_console_block_are_reported() {
    let text = "```console\n$ echo right\nright\n$ echo right\nwrong\n$ guildhall runs lst\n```\n";
    let document = Document::parse("x.md".to_owned(), text);
    let problems = session::check(&[&document]).unwrap();
    let first_lines: Vec<&str> = problems.iter().filter_map(|problem| problem.lines().next()).collect();
    assert_eq!(
        first_lines,
        ["x.md:4: the output of `echo right` differs", "x.md:6: `guildhall runs lst` fails with code 2:"]
    );
}
