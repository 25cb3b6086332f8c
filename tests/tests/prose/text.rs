//! Paragraphs and sentences of Markdown and of Rust comments, without code, tables and figures.

/// Source of a paragraph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A page.
    Markdown,
    /// A doc comment.
    Doc,
    /// Another comment.
    Line,
}

/// Checks for a character of a word.
pub fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '\'' || c == '-'
}

/// Returns the number of words of a text.
pub fn count_words(text: &str) -> usize {
    text.split(|c: char| !is_word(c))
        .filter(|word| !word.is_empty())
        .count()
}

/// Returns the text without inline code, links' targets, and emphasis.
fn clean(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '[', ']', '*', '_', '<']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let taken = match tail.as_bytes()[0] {
            b'`' => tail[1..].find('`').map(|end| {
                out.push_str("CODE");
                end + 2
            }),
            b']' if tail.starts_with("](") => tail.find(')').map(|end| end + 1),
            b'<' => tail.find('>').filter(|end| *end > 1).map(|end| end + 1),
            _ => None,
        };
        rest = &tail[taken.unwrap_or(1)..];
    }
    out.push_str(rest);
    out
}

/// Checks for a line of a table, a heading, or an indented figure.
fn is_layout(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with('\t') || line.trim_start().starts_with(['|', '#'])
}

/// Returns the paragraphs of a file with this suffix.
pub fn paragraphs(suffix: &str, text: &str) -> impl Iterator<Item = (Kind, String)> {
    let blocks = if suffix == "md" {
        vec![(Kind::Markdown, without_fences(text.lines()))]
    } else {
        comments(text)
    };
    let cut = |(kind, text): (Kind, String)| {
        let parts: Vec<_> = text.split("\n\n").map(|part| (kind, clean(part))).collect();
        parts
    };
    blocks
        .into_iter()
        .flat_map(cut)
        .filter(|(_, text)| !text.trim().is_empty())
}

/// Joins lines, with items of lists as paragraphs, and without fenced code and layout.
fn without_fences<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let (mut out, mut is_fenced) = (String::new(), false);
    for line in lines {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_fenced = !is_fenced;
        } else if !is_fenced && !is_layout(line) {
            let item = start
                .strip_prefix("- ")
                .or(start.strip_prefix("* "))
                .or_else(|| numbered(start));
            if let Some(item) = item {
                out.push_str("\n\n");
                out.push_str(item);
            } else {
                out.push_str(line);
            }
        }
        out.push('\n');
    }
    out
}

fn numbered(line: &str) -> Option<&str> {
    let (number, item) = line.split_once(". ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(item)
}

/// Returns the comments of a source: runs of lines of one kind.
fn comments(text: &str) -> Vec<(Kind, String)> {
    let mut blocks: Vec<(Kind, Vec<&str>)> = Vec::new();
    let mut last = None;
    for line in text.lines() {
        let line = line.trim_start();
        let found = if let Some(rest) = line.strip_prefix("//!").or(line.strip_prefix("///")) {
            Some((Kind::Doc, rest))
        } else {
            line.strip_prefix("//").map(|rest| (Kind::Line, rest))
        };
        if let Some((kind, rest)) = found {
            if last != Some(kind) {
                blocks.push((kind, Vec::new()));
            }
            let (_, lines) = blocks.last_mut().expect("just added");
            lines.push(rest.strip_prefix(' ').unwrap_or(rest));
        }
        last = found.map(|(kind, _)| kind);
    }
    let join = |(kind, lines): (Kind, Vec<&str>)| (kind, without_fences(lines.into_iter()));
    blocks.into_iter().map(join).collect()
}

/// The sentences of a paragraph that have at least three words.
pub struct Sentences {
    rest: std::vec::IntoIter<String>,
}

impl Sentences {
    /// Divides at a full stop, a colon or a semicolon before a capital letter.
    pub fn new(paragraph: &str) -> Sentences {
        let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let (mut found, mut start) = (Vec::new(), 0);
        for (at, c) in text.char_indices().filter(|(_, c)| ".!?:;".contains(*c)) {
            let next = at + c.len_utf8();
            let after = text[next..].strip_prefix(' ').and_then(|rest| rest.chars().next());
            if after.is_some_and(|c| c.is_uppercase() || "(\"'`".contains(c)) {
                found.push(text[start..next].trim().to_string());
                start = next;
            }
        }
        found.push(text[start..].trim().to_string());
        found.retain(|sentence| count_words(sentence) >= 3);
        Sentences {
            rest: found.into_iter(),
        }
    }
}

impl Iterator for Sentences {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.rest.next()
    }
}
