//! The texts a scene was read from, and how a message shows a place in them.

use std::{fmt, fmt::Write as _, sync::Arc};

use super::tree::{Node, Span};

/// A text and what messages call it.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub name: String,
    pub text: String,
}

/// The texts and the tree of a scene; none for a scene written in code. Two scenes are equal whatever their origin.
#[derive(Clone, Default)]
pub(crate) struct Origin(Option<Arc<(Vec<Text>, Node)>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(origin) => write!(f, "Origin({:?})", origin.0[0].name),
            None => f.write_str("Origin"),
        }
    }
}

impl Origin {
    pub(crate) fn new(texts: Vec<Text>, tree: Node) -> Self {
        Self(Some(Arc::new((texts, tree))))
    }

    /// A message with the line where a path stands; `None` for a scene without a text.
    pub(crate) fn show(&self, path: &str, problem: &str, remedy: &str) -> Option<String> {
        let (texts, tree) = &**self.0.as_ref()?;
        let span = tree.locate(path).unwrap_or_default();
        Some(show(texts, &span, problem, remedy))
    }
}

/// A message that shows where:
/// ```text
/// world.dt is -0.1
///  --> gas.toml:4:6
///   |
/// 4 | dt = -0.1
///   |      ^^^^ a step is finite and > 0
/// ```
pub(crate) fn show(texts: &[Text], span: &Span, problem: &str, remedy: &str) -> String {
    let Text { name, text } = &texts[span.text];
    let start = span.bytes.start.min(text.len());
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let number = text[..begin].matches('\n').count() + 1;
    let line = text[begin..end].trim_end_matches('\r');
    let column = text[begin..start].chars().count();
    let stop = span.bytes.end.clamp(start, end);
    let width = text[start..stop].chars().count().max(1);
    let gutter = " ".repeat(number.to_string().len());
    // Tabs stay tabs, so that the caret stands where it should.
    let indent: String = line.chars().take(column).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let mut message = String::new();
    let _ = writeln!(message, "{problem}");
    let _ = writeln!(message, "{gutter}--> {name}:{number}:{}", column + 1);
    let _ = writeln!(message, "{gutter} |");
    let _ = writeln!(message, "{number} | {line}");
    let _ = write!(message, "{gutter} | {indent}{} {remedy}", "^".repeat(width));
    message
}
