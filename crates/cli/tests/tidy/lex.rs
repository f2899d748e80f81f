//! Just enough of Rust's lexical grammar to ask questions of source text: comments and literals are
//! blanked in place, so that offsets and line numbers stay true, and the rest is searched as code.
//! Deviation from a real parser: macros are read as if they were ordinary code.

use std::ops::Range;

/// A function with a body.
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// A declared name: `fn name`, `struct Name`, `mod name` and the like.
pub struct Declared {
    pub name: String,
    pub line: usize,
    pub at: usize,
}

/// A path in code that starts at `crate`, `self`, `super` or at one of our crates, its use-trees
/// flattened: `crate::{a::b, c}` is two paths.
pub struct CodePath {
    pub segments: Vec<String>,
    pub line: usize,
    pub at: usize,
}

/// The text with comments and the insides of literals replaced by spaces; newlines stay.
pub fn mask(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at + 1),
            b'\'' => match char_end(text, at) {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            c if is_word(c) => {
                let end = word_end(bytes, at);
                match raw_string_end(bytes, at, end) {
                    Some(raw_end) => raw_end,
                    None => {
                        at = end;
                        continue;
                    }
                }
            }
            _ => {
                at += 1;
                continue;
            }
        };
        blank(&mut out, at..end);
        at = end;
    }
    String::from_utf8(out).expect("only whole literals and comments are blanked")
}

/// The code with everything behind `#[cfg(test)]` replaced by spaces.
pub fn without(code: &str, ranges: &[Range<usize>]) -> String {
    let mut out = code.as_bytes().to_vec();
    for range in ranges {
        blank(&mut out, range.clone());
    }
    String::from_utf8(out).expect("items are blanked whole")
}

/// Where the items behind `#[cfg(test)]` stand, attribute included.
pub fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for marker in ["#[cfg(test)]", "#[cfg(all(test"] {
        for (start, _) in code.match_indices(marker) {
            if let Some(end) = item_end(code.as_bytes(), start) {
                found.push(start..end);
            }
        }
    }
    found
}

/// Every function that has a body.
pub fn functions(code: &str) -> Vec<Function> {
    let bytes = code.as_bytes();
    let bodies = declared(code, &["fn"]).into_iter().filter_map(|declared| {
        let end = item_end(bytes, declared.at)?;
        (bytes[end - 1] == b'}').then(|| Function {
            lines: line_of(code, end - 1) - declared.line + 1,
            line: declared.line,
            name: declared.name,
        })
    });
    bodies.collect()
}

/// Every name declared by one of the keywords.
pub fn declared(code: &str, keywords: &[&str]) -> Vec<Declared> {
    let mut found = Vec::new();
    for (at, word) in words(code) {
        let after = at + word.len();
        let name_at = after + spaces(&code[after..]);
        if keywords.contains(&word) && name_at > after {
            let name = &code[name_at..word_end(code.as_bytes(), name_at)];
            if !name.is_empty() {
                let name = name.to_owned();
                found.push(Declared { name, line: line_of(code, at), at });
            }
        }
    }
    found
}

/// The `mod name;` declarations, and where the bodies of the `mod name { … }` stand.
pub fn modules(code: &str) -> (Vec<Declared>, Vec<Range<usize>>) {
    let mut files = Vec::new();
    let mut inline = Vec::new();
    for module in declared(code, &["mod"]) {
        match item_end(code.as_bytes(), module.at) {
            Some(end) if code.as_bytes()[end - 1] == b'}' => inline.push(module.at..end),
            _ => files.push(module),
        }
    }
    (files, inline)
}

/// Every path from a root this project owns.
pub fn paths(code: &str) -> Vec<CodePath> {
    let mut found = Vec::new();
    let mut read_to = 0;
    for (at, word) in words(code) {
        let root = matches!(word, "crate" | "self" | "super") || word.starts_with("trunkline_");
        if at < read_to || !root {
            continue;
        }
        let mut flat = Vec::new();
        read_to = use_tree(code, at, &[], &mut flat);
        let line = line_of(code, at);
        found.extend(flat.into_iter().map(|segments| CodePath { segments, line, at }));
    }
    found
}

/// Whether the pattern stands in the text, and where; its ends do not cut a word in two.
pub fn find<'a>(text: &'a str, pattern: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let open_start = pattern.bytes().next().is_some_and(is_word);
    let open_end = pattern.bytes().next_back().is_some_and(is_word);
    text.match_indices(pattern).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let after = bytes.get(at + pattern.len()).copied();
        !(open_start && before.is_some_and(is_word) || open_end && after.is_some_and(is_word))
    })
}

/// The line, counted from 1, of an offset.
pub fn line_of(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count()
}

fn use_tree(code: &str, at: usize, prefix: &[String], out: &mut Vec<Vec<String>>) -> usize {
    let bytes = code.as_bytes();
    let mut at = at + spaces(&code[at..]);
    if bytes.get(at) == Some(&b'{') {
        at += 1;
        loop {
            at += spaces(&code[at..]);
            match bytes.get(at) {
                Some(b'}') => return at + 1,
                Some(b',') => at += 1,
                Some(&c) if is_word(c) || c == b'*' => at = use_tree(code, at, prefix, out),
                _ => return at,
            }
        }
    }
    let end = match bytes.get(at) {
        Some(b'*') => at + 1,
        _ => word_end(bytes, at),
    };
    if end == at {
        out.push(prefix.to_vec());
        return at;
    }
    let mut path = prefix.to_vec();
    path.push(code[at..end].to_owned());
    let separator = end + spaces(&code[end..]);
    if code[separator..].starts_with("::") {
        return use_tree(code, separator + 2, &path, out);
    }
    out.push(path);
    let renamed = code[separator..].strip_prefix("as ");
    renamed.map_or(end, |name| separator + 3 + word_end(name.as_bytes(), 0))
}

fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = code.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        at = word_end(bytes, at);
        (at > start).then(|| (start, &code[start..at]))
    })
}

/// One past the `;` or the matching `}` that ends the item starting here.
fn item_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, &byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn blank(bytes: &mut [u8], range: Range<usize>) {
    for byte in &mut bytes[range] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn string_end(bytes: &[u8], inside: usize) -> usize {
    let mut at = inside;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// `r"…"`, `br#"…"#`, `cr"…"`, when the word before the quote is a raw prefix.
fn raw_string_end(bytes: &[u8], start: usize, word_end: usize) -> Option<usize> {
    if !matches!(&bytes[start..word_end], b"r" | b"br" | b"cr") {
        return None;
    }
    let hashes = bytes[word_end..].iter().take_while(|&&byte| byte == b'#').count();
    let inside = word_end + hashes + 1;
    if bytes.get(inside - 1) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(1 + hashes, b'#');
    let rest = bytes[inside..].windows(closing.len());
    let length = rest.into_iter().position(|window| window == closing);
    Some(length.map_or(bytes.len(), |length| inside + length + closing.len()))
}

/// The end of a character literal; `None` for a lifetime.
fn char_end(text: &str, quote: usize) -> Option<usize> {
    let mut rest = text[quote + 1..].char_indices();
    match rest.next()?.1 {
        '\\' => {
            rest.next()?;
            rest.find(|&(_, c)| c == '\'').map(|(length, _)| quote + 1 + length + 1)
        }
        _ => {
            let (length, next) = rest.next()?;
            (next == '\'').then_some(quote + 1 + length + 1)
        }
    }
}

fn spaces(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|&byte| !is_word(byte)).map_or(bytes.len(), |length| at + length)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[test]
fn literals_and_comments_are_blank_and_lifetimes_are_not() {
    let text =
        "a /* x /* y */ z */ \"q\\\"{\" 'b' '\\'' b'\\n' &'static r#\"{\"}\"# // end é\nnext";
    let code = mask(text);
    assert_eq!(code.len(), text.len());
    assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "&'static", "next"]);
}

#[test]
fn functions_are_measured_from_name_to_brace() {
    let code =
        "fn a();\nfn b(x: [u8; 2]) -> u8 {\n    { 1 }\n}\n#[cfg(test)]\nmod t { fn c() {} }\n";
    let live = without(code, &test_items(code));
    let found: Vec<_> = functions(&live).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
    assert_eq!(found, [("b".to_owned(), 2, 3)]);
}

#[test]
fn use_trees_are_flattened() {
    let code = "use crate::{a::{self, B as C}, d};\nlet x = super::e::f::<u8>(trunkline_core::g);";
    let found: Vec<_> = paths(code).into_iter().map(|path| path.segments.join("::")).collect();
    let expected =
        ["crate::a::self", "crate::a::B", "crate::d", "super::e::f", "trunkline_core::g"];
    assert_eq!(found, expected);
}
