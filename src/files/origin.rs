//! The texts of a scene (its file and the overrides), and messages that show a line of such a text.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::parse_error::{ParseError, suggestion};
use super::tree::{self, Node};
use crate::scene::{DEFAULT_MATERIAL, origin::SourceText};

/// A text, with its name in messages.
struct Text {
    name: String,
    /// Position of the first byte.
    start: usize,
    /// `start` blanks, then the text: the parser counts the blanks, so positions in different texts differ.
    text: String,
}

impl Text {
    fn parse(&self, remedy: &str) -> Result<Node<'_>, ParseError> {
        tree::parse(&self.text).map_err(|error| ParseError::new(error.span(), error.message(), remedy))
    }
}

/// The scene file and the overrides. A place is a range of bytes, numbered consecutively through all texts.
pub(super) struct Texts(Vec<Text>);

impl Texts {
    pub(super) fn new(name: &str, text: &str, overrides: &[String]) -> Self {
        let mut texts = vec![Text { name: name.to_owned(), start: 0, text: text.to_owned() }];
        for text in overrides {
            let start = texts.last().map_or(0, |last| last.text.len()) + 1;
            let text = format!("{:start$}{text}", "");
            texts.push(Text { name: "override".to_owned(), start, text });
        }
        Self(texts)
    }

    /// The scene with the overrides applied.
    pub(super) fn tree(&self) -> Result<Node<'_>, ParseError> {
        let (scene, overrides) = self.0.split_first().expect("there is always a scene");
        let mut root = scene.parse("this is not TOML")?;
        for over in overrides {
            let over = over.parse("expected KEY=VALUE, as in world.dt=0.001")?;
            refuse_new_materials(&root, &over)?;
            tree::overlay(&mut root, over).map_err(|(key, count)| {
                let problem = format!("there is no entry {:?} in this list", key.get_ref());
                ParseError::new(Some(key.span()), problem, format!("it has {count}, counted from 0"))
            })?;
        }
        // Without a table [world] the message is that world.dt is missing.
        if let DeValue::Table(entries) = root.get_mut()
            && !entries.contains_key("world")
        {
            let world = DeValue::Table(DeTable::new());
            entries.insert(Spanned::new(0..0, "world".into()), Spanned::new(0..0, world));
        }
        Ok(root)
    }

    /// A message that shows a place:
    /// ```text
    /// world.dt is -0.1
    ///  --> gas.toml:4:6
    ///   |
    /// 4 | dt = -0.1
    ///   |      ^^^^ a step is finite and > 0
    /// ```
    pub(super) fn show(&self, place: Range<usize>, problem: &str, remedy: &str) -> String {
        let Text { name, start, text } =
            self.0.iter().rfind(|text| text.start <= place.start).expect("the scene starts at 0");
        let text = &text[*start..];
        let begin = (place.start - start).min(text.len());
        // Mark only the first of several lines.
        let line_end = text[begin..].find(['\r', '\n']).map_or(text.len(), |at| begin + at);
        let end = (place.end - start).clamp(begin, line_end);
        let caret = AnnotationKind::Primary.span(begin..end).label(remedy);
        let title = Level::ERROR.no_name().primary_title(problem);
        let snippet = Snippet::source(text).path(name.as_str()).annotation(caret);
        Renderer::plain().render(&[title.element(snippet)])
    }
}

/// Refuses overrides that add a material: a misspelt name would become a material that no sphere or wall has.
fn refuse_new_materials(root: &Node, over: &Node) -> Result<(), ParseError> {
    let entries = |node: &Node| -> Vec<(String, Range<usize>)> {
        let materials = tree::entry(node, "materials").and_then(|(_, node)| node.get_ref().as_table());
        let keys = materials.into_iter().flat_map(DeTable::keys);
        keys.map(|key| (key.get_ref().to_string(), key.span())).collect()
    };
    let present = entries(root);
    let mut known = vec![DEFAULT_MATERIAL];
    known.extend(present.iter().map(|(name, _)| name.as_str()));
    match entries(over).into_iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, place)) => Err(ParseError::new(
            Some(place),
            format!("the scene has no material `{name}`"),
            suggestion(&name, &known),
        )),
        None => Ok(()),
    }
}

impl SourceText for Texts {
    fn name(&self) -> &str {
        &self.0[0].name
    }

    fn show(&self, path: &str, problem: &str, remedy: &str) -> String {
        let place = self.tree().ok().and_then(|root| tree::locate(&root, path)).unwrap_or_default();
        Texts::show(self, place, problem, remedy)
    }
}
