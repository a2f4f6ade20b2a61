//! Source texts of a scene, for messages that show the line of an invalid field.

use std::{fmt, sync::Arc};

/// Texts that can show the line of a field.
pub(crate) trait SourceText: Send + Sync {
    /// Name of the first text.
    fn name(&self) -> &str;

    /// A message with the line of the field at `path`.
    fn show(&self, path: &str, problem: &str, remedy: &str) -> String;
}

/// The texts of a scene; none for a scene written in code. Scenes that differ only in their origin are equal.
#[derive(Clone, Default)]
pub(crate) struct Origin(Option<Arc<dyn SourceText>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut tuple = f.debug_tuple("Origin");
        if let Some(texts) = &self.0 {
            tuple.field(&texts.name());
        }
        tuple.finish()
    }
}

impl Origin {
    pub(crate) fn new(texts: impl SourceText + 'static) -> Self {
        Self(Some(Arc::new(texts)))
    }

    /// A message with the line at a path; `None` for a scene without a text.
    pub(crate) fn show(&self, path: &str, problem: &str, remedy: &str) -> Option<String> {
        self.0.as_ref().map(|texts| texts.show(path, problem, remedy))
    }
}
