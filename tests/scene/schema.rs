//! The JSON schema of scenes: every built-in scene is valid, and structures that the reader rejects are invalid.

use carom::files::{BUILTIN, scene_schema};
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::errors::{W, parse};

/// Whether a value is valid, by the keywords that the schema of scenes uses. An unknown keyword panics, so that no
/// keyword is ignored. The crate jsonschema takes minutes to build.
fn is_valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let holds = |rule: &Value| is_valid(root, rule, value);
    let each = |rules: &Value| rules.as_array().unwrap().iter().map(holds).filter(|&valid| valid).count();
    let bounds = |limit: &Value, is_within: fn(&f64, &f64) -> bool| {
        value.as_f64().is_none_or(|value| is_within(&value, &limit.as_f64().unwrap()))
    };
    let sized = |size: Option<usize>, limit: &Value, is_within: fn(&usize, &usize) -> bool| {
        size.is_none_or(|size| is_within(&size, &(limit.as_u64().unwrap() as usize)))
    };
    let (items, entries) = (value.as_array(), value.as_object());
    let (item_count, entry_count) = (items.map(Vec::len), entries.map(serde_json::Map::len));
    let Value::Object(keywords) = schema else { return schema.as_bool().unwrap() };
    keywords.iter().all(|(keyword, rule)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "examples" => true,
        "$ref" => holds(root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap()),
        "type" => match rule.as_str().unwrap() {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            other => panic!("unknown type {other}"),
        },
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "allOf" => each(rule) == rule.as_array().unwrap().len(),
        "anyOf" => each(rule) > 0,
        "oneOf" => each(rule) == 1,
        "not" => !holds(rule),
        "minimum" => bounds(rule, f64::ge),
        "maximum" => bounds(rule, f64::le),
        "exclusiveMinimum" => bounds(rule, f64::gt),
        "exclusiveMaximum" => bounds(rule, f64::lt),
        "minItems" => sized(item_count, rule, usize::ge),
        "maxItems" => sized(item_count, rule, usize::le),
        "minProperties" => sized(entry_count, rule, usize::ge),
        "items" => items.is_none_or(|items| items.iter().all(|item| is_valid(root, rule, item))),
        "prefixItems" => items.is_none_or(|items| {
            items.iter().zip(rule.as_array().unwrap()).all(|(item, rule)| is_valid(root, rule, item))
        }),
        "required" => entries.is_none_or(|entries| {
            rule.as_array().unwrap().iter().all(|key| entries.contains_key(key.as_str().unwrap()))
        }),
        "properties" => entries.is_none_or(|entries| {
            entries.iter().all(|(key, value)| rule.get(key).is_none_or(|rule| is_valid(root, rule, value)))
        }),
        "additionalProperties" => entries.is_none_or(|entries| {
            let is_known = |key: &str| schema["properties"].get(key).is_some();
            entries.iter().all(|(key, value)| is_known(key) || is_valid(root, rule, value))
        }),
        other => panic!("unknown keyword {other}"),
    })
}

fn schema() -> Value {
    serde_json::from_str(&scene_schema()).unwrap()
}

fn json(text: &str) -> Value {
    table(DeTable::parse(text).unwrap().get_ref())
}

fn table(table: &DeTable) -> Value {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), value_of(value.get_ref()))).collect()
}

fn value_of(value: &DeValue) -> Value {
    match value {
        DeValue::String(text) => text.to_string().into(),
        DeValue::Integer(integer) => integer.as_str().parse().map(Value::Number).unwrap(),
        // JSON has no infinity.
        DeValue::Float(float) => float.as_str().parse::<f64>().unwrap().clamp(f64::MIN, f64::MAX).into(),
        DeValue::Boolean(boolean) => (*boolean).into(),
        DeValue::Datetime(date) => date.to_string().into(),
        DeValue::Array(values) => values.iter().map(|value| value_of(value.get_ref())).collect(),
        DeValue::Table(entries) => table(entries),
    }
}

#[test]
fn builtin_scenes_are_valid() {
    let schema = schema();
    for scene in BUILTIN {
        assert!(is_valid(&schema, &schema, &json(scene.text)), "{}", scene.name);
    }
}

// Each change makes a valid scene invalid, and the reader rejects the scene too.
#[test]
fn bad_scenes_are_not_valid() {
    let schema = schema();
    let good = "[bounds]\nmax = [20, 20, 20]\n\
        [materials.steel]\nrestitution = 0.9\nfriction = 0.1\n\
        [[pairs]]\nbetween = [\"steel\", \"default\"]\nrestitution = 0.5\n\
        [[spheres]]\nrandom = { count = 10, min = [0, 0, 0], max = [9, 9, 9], diameters = [[1, 1.0]] }\ntemperature = 1\n\
        [[walls]]\nplane = { point = [0, 0, -1], normal = [0, 0, 1] }\n\
        [[sinks]]\nmin = [0, 0, -9]\nmax = [9, 9, -8]\nevery = 2\n";
    let is_valid = |text: &str| is_valid(&schema, &schema, &json(text));
    let good = format!("{W}{good}");
    assert!(is_valid(&good));
    assert_eq!(parse(&good, &[]).map(drop), Ok(()));
    for (from, to) in [
        ("dt = 0.1", ""),
        ("dt = 0.1", "dt = 0"),
        ("dt = 0.1", "dt = \"fast\""),
        ("dt = 0.1", "dt = 0.1\ndimensions = 4"),
        ("dt = 0.1", "dt = 0.1\nseed = -1"),
        ("dt = 0.1", "dt = 0.1\nsteps = 1.5"),
        ("dt = 0.1", "dt = 0.1\ngravity = [1]"),
        ("dt = 0.1", "dt = 0.1\ngravity = [1, 2, 3, 4]"),
        ("dt = 0.1", "dt = 0.1\ngravity = 9.81"),
        ("dt = 0.1", "dt = 0.1\ndtt = 1"),
        ("[bounds]", "[solver]\nsubsteps = 4294967296\n[bounds]"),
        ("[bounds]", "[solver]\nmax_initial_overlap = 1\n[bounds]"),
        ("[bounds]", "[bounds]\nx = \"perodic\""),
        ("restitution = 0.9", "restitution = 1.1"),
        ("friction = 0.1", "friction = -0.1"),
        ("friction = 0.1", "density = 0"),
        ("friction = 0.1", "fricton = 0.1"),
        ("restitution = 0.5", ""),
        ("[\"steel\", \"default\"]", "[\"steel\"]"),
        ("[[spheres]]", "[spheres]"),
        ("random = {", "lattice = {"),
        ("temperature = 1", "temperature = 1\nat = []"),
        ("temperature = 1", "temperature = 1\nvelocity = [0, 0, 0]"),
        ("count = 10", "diameter = 1.0, count = 10"),
        ("count = 10", "count = 18446744073709551616"),
        ("count = 10,", ""),
        ("[[1, 1.0]]", "[1, 1.0]"),
        ("point = [0, 0, -1],", ""),
        ("[[walls]]", "[[walls]]\nname = 5"),
        ("[[walls]]", "[[walls]]\nmesh = { file = \"a.stl\" }"),
        ("plane = {", "cone = {"),
        ("every = 2", "every = 0"),
        ("every = 2", "[compression]\nfraction = 0.5"),
        ("every = 2", "[view]\nfov = \"wide\""),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        assert!(!is_valid(&bad), "{to} should not be valid");
        assert!(parse(&bad, &[]).is_err(), "{to} should be refused");
    }
}

// Editors show the description of a key: every key has one.
#[test]
fn every_key_has_a_description() {
    fn check(schema: &Value, path: &str, count: &mut usize) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{path}.{key}");
            *count += 1;
        }
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            check(definition, name, count);
        }
    }
    let schema = schema();
    assert!(!scene_schema().contains("\"null\""), "TOML has no null");
    let mut count = 0;
    check(&schema, "scene", &mut count);
    assert!(count > 80, "{count} keys");
}

#[test]
fn defaults_are_those_of_scenes_in_code() {
    let schema = schema();
    let default = |name: &str, key: &str| schema["$defs"][name]["properties"][key]["default"].clone();
    assert_eq!(default("World", "steps"), 600);
    assert_eq!(default("World", "dimensions"), 3);
    assert_eq!(default("World", "gravity"), serde_json::json!([0.0, 0.0, 0.0]));
    assert_eq!(default("Solver", "sleeping"), true);
    assert_eq!(default("Material", "density"), 6.0 / std::f64::consts::PI);
    assert_eq!(default("Bounds", "x"), "open");
    assert_eq!(default("Wall", "material"), "default");
    assert_eq!(default("Sphere", "radius"), 0.5);
    assert_eq!(default("Pair", "restitution"), Value::Null);
}
