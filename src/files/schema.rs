//! The JSON schema of a scene, and the expected values that error messages quote from the schema.

use std::sync::LazyLock;

use schemars::{Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Value, json};

use super::format::Scene;

/// The JSON schema (draft 2020-12) of a scene file: editors complete and check scenes with it.
///
/// The schema describes TOML types and ranges of single values. Rules that connect several values, and the space that
/// spheres need, are checked when a scene is read and built.
///
/// ```
/// let schema: serde_json::Value = serde_json::from_str(&carom::files::scene_schema())?;
/// assert_eq!(schema["required"], serde_json::json!(["world"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn scene_schema() -> String {
    format!("{:#}", generate(false).as_value())
}

fn generate(inline: bool) -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = inline;
    settings.transforms.push(Box::new(RecursiveTransform(as_in_toml)));
    settings.into_generator().into_root_schema_for::<Scene>()
}

/// Adapts a schema to TOML, which has no null, and limits integers to the range of their type.
fn as_in_toml(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let kept = types.iter().find(|kind| *kind != "null").cloned();
        schema.insert("type".to_owned(), kept.into());
    }
    if let Some(Value::Array(options)) = schema.get("anyOf")
        && options.iter().any(|option| option["type"] == "null")
        && let Some(Value::Object(kept)) = options.iter().find(|option| option["type"] != "null").cloned()
    {
        schema.remove("anyOf");
        let outer = schema.ensure_object();
        for (key, value) in kept {
            outer.entry(key).or_insert(value);
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
    let most = match schema.remove("format") {
        Some(format) if format == "uint32" => u64::from(u32::MAX),
        Some(format) if format == "uint64" => u64::MAX,
        _ => return,
    };
    schema.insert("maximum".to_owned(), most.into());
}

/// A rule for a table: exactly one of these keys.
pub(super) fn exactly_one(keys: &[&str]) -> Value {
    json!({ "oneOf": keys.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>() })
}

/// A rule for a table: at most one of these keys.
pub(super) fn at_most_one(keys: &[&str]) -> Value {
    let pairs = keys.iter().enumerate().flat_map(|(index, a)| keys[..index].iter().map(move |b| [a, b]));
    json!({ "not": { "anyOf": pairs.map(|pair| json!({ "required": pair })).collect::<Vec<_>>() } })
}

/// The expected value at a path like `spheres[0].random.count`, as the text of a message.
pub(super) fn expected(path: &str) -> String {
    let schema = schema_of(path);
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(words) = schema["oneOf"].as_array() {
        let words: Vec<String> = words.iter().map(|word| word["const"].to_string()).collect();
        return format!("one of {}", words.join(", "));
    }
    match schema["type"].as_str() {
        Some("number") => "a number".to_owned(),
        Some("integer") => format!("a whole number from {} to {}", schema["minimum"], schema["maximum"]),
        Some("boolean") => "true or false".to_owned(),
        Some("string") => "a string".to_owned(),
        Some("array") => "a list".to_owned(),
        _ => "a table".to_owned(),
    }
}

/// An example of a valid value at a path, in TOML.
pub(super) fn example(path: &str) -> String {
    schema_of(path)["examples"][0].to_string().replace(',', ", ")
}

/// The schema of the value at a path.
fn schema_of(path: &str) -> &'static Value {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| generate(true));
    path.split(['.', '[']).fold(SCHEMA.as_value(), |schema, step| match &schema["properties"][step] {
        Value::Null if step.ends_with(']') => &schema["items"],
        Value::Null => &schema["additionalProperties"],
        property => property,
    })
}
