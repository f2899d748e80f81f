//! How long files, functions and lines may be; tests are not counted.

use crate::lex;
use crate::tree::{Source, expect_clean, expect_one, sources};

const FILE_LINES_MAX: usize = 700;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_COLUMNS_MAX: usize = 110;

fn long_files(sources: &[Source]) -> Vec<String> {
    let long = sources.iter().filter(|source| source.live_lines > FILE_LINES_MAX);
    let complaint = |source: &Source| {
        let lines = source.live_lines;
        source.complain(1, format!("{lines} lines, at most {FILE_LINES_MAX}: split it by topic"))
    };
    long.map(complaint).collect()
}

fn long_functions(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for function in lex::functions(&source.live) {
            if function.lines > FUNCTION_LINES_MAX {
                let (name, lines) = (&function.name, function.lines);
                let what = format!(
                    "`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX}: \
                     keep the decisions here and move the loops and cases into functions `{name}_…`"
                );
                complaints.push(source.complain(function.line, what));
            }
        }
    }
    complaints
}

fn long_lines(sources: &[Source]) -> Vec<String> {
    let mut complaints = Vec::new();
    for source in sources {
        for (index, (code, text)) in source.live.lines().zip(source.text.lines()).enumerate() {
            let columns = text.chars().count();
            if columns > LINE_COLUMNS_MAX && !code.trim().is_empty() {
                let what = format!("{columns} columns, at most {LINE_COLUMNS_MAX}: break the line");
                complaints.push(source.complain(index + 1, what));
            }
        }
    }
    complaints
}

#[test]
fn files_are_short() {
    expect_clean(long_files(&sources()));
}

#[test]
fn a_long_file_is_found_and_its_tests_are_not_counted() {
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(FILE_LINES_MAX));
    let fits = "\n".repeat(FILE_LINES_MAX) + &tests;
    assert!(long_files(&[Source::new("crates/core/src/a.rs", &fits)]).is_empty());
    let long = "\n".repeat(FILE_LINES_MAX + 1) + &tests;
    expect_one(long_files(&[Source::new("crates/core/src/a.rs", &long)]), "701 lines");
    assert!(long_files(&[Source::new("crates/core/src/a/tests.rs", &long)]).is_empty());
}

#[test]
fn functions_are_short() {
    expect_clean(long_functions(&sources()));
}

#[test]
fn a_long_function_is_found() {
    let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2));
    assert!(long_functions(&[Source::new("crates/core/src/a.rs", &function(70))]).is_empty());
    expect_one(long_functions(&[Source::new("crates/core/src/a.rs", &function(71))]), "`f` has 71");
}

#[test]
fn lines_are_short() {
    expect_clean(long_lines(&sources()));
}

#[test]
fn a_long_line_is_found_and_a_comment_may_be_long() {
    let wide = "x".repeat(120);
    let text = format!("// {wide}\nlet a = \"{wide}\";\n");
    expect_one(long_lines(&[Source::new("crates/core/src/a.rs", &text)]), "a.rs:2: 131 columns");
}
