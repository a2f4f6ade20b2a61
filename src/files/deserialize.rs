//! Deserialises serde types from a TOML tree. Errors carry the path of the value and its position in the text.

use std::{fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected, Visitor,
        value::BorrowedStrDeserializer,
    },
    forward_to_deserialize_any,
};
use toml::de::{DeInteger, DeValue};

use super::parse_error::{ParseError, Problem};
use super::tree::Node;

/// Reads a type from a tree.
pub(crate) fn deserialize<'t, T: Deserialize<'t>>(root: &'t Node<'t>) -> Result<T, ParseError> {
    T::deserialize(NodeDeserializer(root))
}

struct NodeDeserializer<'t>(&'t Node<'t>);

impl<'de> Deserializer<'de> for NodeDeserializer<'de> {
    type Error = ParseError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParseError> {
        match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_borrowed_str(text),
            DeValue::Integer(integer) => {
                let value = exact(integer);
                if let Some(value) = value.and_then(|value| u64::try_from(value).ok()) {
                    visitor.visit_u64(value)
                } else if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
                    visitor.visit_i64(value)
                } else {
                    Err(ParseError::custom(format_args!("is {integer}")))
                }
            }
            DeValue::Float(float) => visitor.visit_f64(float.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(boolean) => visitor.visit_bool(*boolean),
            DeValue::Datetime(_) => Err(ParseError::custom("is a date")),
            DeValue::Array(nodes) => {
                let mut elements = Elements(nodes.iter().enumerate());
                let value = visitor.visit_seq(&mut elements)?;
                // A pair takes two elements and does not look for a third.
                if elements.0.next().is_some() { Err(ParseError::custom("is an array")) } else { Ok(value) }
            }
            DeValue::Table(entries) => visitor.visit_map(Entries { entries: entries.iter(), value: None }),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParseError> {
        match self.0.get_ref() {
            DeValue::Integer(integer) => {
                visitor.visit_f64(exact(integer).map_or(f64::INFINITY, |value| value as f64))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    /// Refuses arrays, which derived types would take as their fields in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParseError> {
        match self.0.get_ref() {
            DeValue::Array(_) => Err(ParseError::custom("is an array")),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ParseError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ParseError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ParseError> {
        match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_enum(text.as_ref().into_deserializer()),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The value, if it has at most 127 bits.
fn exact(integer: &DeInteger) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

struct Elements<'t>(std::iter::Enumerate<std::slice::Iter<'t, Node<'t>>>);

impl<'t> SeqAccess<'t> for Elements<'t> {
    type Error = ParseError;

    fn next_element_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, ParseError> {
        let Some((index, node)) = self.0.next() else { return Ok(None) };
        let element = seed.deserialize(NodeDeserializer(node));
        element.map(Some).map_err(|error| error.inside(&format!("[{index}]"), node.span()))
    }
}

struct Entries<'t> {
    entries: toml::map::Iter<'t, toml::Spanned<std::borrow::Cow<'t, str>>, Node<'t>>,
    /// The value of the key read last.
    value: Option<(&'t str, &'t Node<'t>)>,
}

impl<'t> MapAccess<'t> for Entries<'t> {
    type Error = ParseError;

    fn next_key_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<Option<S::Value>, ParseError> {
        let Some((key, node)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key.get_ref(), node));
        let name = seed.deserialize(BorrowedStrDeserializer::new(key.get_ref()));
        name.map(Some).map_err(|error: ParseError| error.at(key.span()))
    }

    fn next_value_seed<S: DeserializeSeed<'t>>(&mut self, seed: S) -> Result<S::Value, ParseError> {
        let (key, node) = self.value.take().expect("serde reads a value after its key");
        seed.deserialize(NodeDeserializer(node)).map_err(|error| error.inside(key, node.span()))
    }
}

impl Error for ParseError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Problem::Unexpected(text.to_string()).into()
    }

    fn invalid_type(found: Unexpected, _: &dyn Expected) -> Self {
        Self::custom(match found {
            Unexpected::Bool(_) => "is a boolean",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) => "is an integer",
            Unexpected::Float(_) => "is a float",
            Unexpected::Str(_) => "is a string",
            Unexpected::Map => "is a table",
            _ => "is an array",
        })
    }

    fn invalid_value(found: Unexpected, _: &dyn Expected) -> Self {
        match found {
            Unexpected::Unsigned(value) => Self::custom(format_args!("is {value}")),
            Unexpected::Signed(value) => Self::custom(format_args!("is {value}")),
            _ => Self::custom(format_args!("is {found}")),
        }
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Self {
        Self::custom("is an array")
    }

    fn unknown_variant(found: &str, _: &'static [&'static str]) -> Self {
        Self::custom(format_args!("is {found:?}"))
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        Problem::UnknownField { found: found.to_owned(), known }.into()
    }

    fn missing_field(field: &'static str) -> Self {
        Problem::MissingField(field).into()
    }
}

impl ParseError {
    /// Gives the error a place, unless it has a narrower one.
    fn at(mut self, place: Range<usize>) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// Puts the error inside an entry or element of the value above.
    fn inside(mut self, step: &str, place: Range<usize>) -> Self {
        let joint = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{joint}{}", self.path);
        self.at(place)
    }
}
