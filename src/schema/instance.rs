//! A document as the schema library sees it: our tree itself, so that no second copy of it is made to be checked.
//!
//! Each value counts as [`Node::to_json`] would write it: a whole number with a fraction of zero is whole, an infinity or
//! not-a-number is null.

use std::borrow::Cow;
use std::slice;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node as Instance, NodeIdentity, Object, cmp, unique};
use serde_json::{Map, Number, Value as JsonValue};

use crate::diag::{Entry, Node, Place, Value};

/// The representation: documents of `diag/`.
#[derive(Debug)]
pub(super) struct Tree;

impl Json for Tree {
    type Node<'a> = &'a Node;
    type PreparedKey = String;
    type StringBuffer = Option<Node>;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Option<Node>, string: &str, f: impl FnOnce(&Node) -> T) -> T {
        f(buffer.insert(Node { span: Place::START.one(), value: Value::Str(string.to_owned()) }))
    }
}

impl<'a> Instance<'a, Tree> for &'a Node {
    type Object = &'a [Entry];
    type Array = &'a [Node];
    type Number = Number;

    fn as_object(&self) -> Option<&'a [Entry]> {
        if let Value::Map(entries) = &self.value { Some(entries) } else { None }
    }

    fn as_array(&self) -> Option<&'a [Node]> {
        if let Value::Seq(items) = &self.value { Some(items) } else { None }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        self.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<Number> {
        match self.json_type() {
            JsonType::Number => match Node::to_json(self) {
                JsonValue::Number(number) => Some(number),
                _ => None,
            },
            _ => None,
        }
    }

    fn as_boolean(&self) -> Option<bool> {
        if let Value::Bool(value) = self.value { Some(value) } else { None }
    }

    fn is_null(&self) -> bool {
        self.json_type() == JsonType::Null
    }

    fn is_number(&self) -> bool {
        self.json_type() == JsonType::Number
    }

    fn json_type(&self) -> JsonType {
        match &self.value {
            Value::Null => JsonType::Null,
            Value::Float(value) if !value.is_finite() => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Int(_) | Value::Float(_) => JsonType::Number,
            Value::Str(_) => JsonType::String,
            Value::Seq(_) => JsonType::Array,
            Value::Map(_) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &JsonValue) -> bool {
        match (&self.value, expected) {
            (Value::Str(text), expected) => expected.as_str() == Some(text),
            (Value::Bool(value), expected) => expected.as_bool() == Some(*value),
            (Value::Null, expected) => expected.is_null(),
            (_, expected) => cmp::equal(&Node::to_json(self), expected),
        }
    }

    /// For an error to carry; empty where it would be large. A document with a hundred thousand wrong places would be
    /// copied as often, and what stands at a place is looked up in the tree.
    fn to_value(&self) -> Cow<'a, JsonValue> {
        Cow::Owned(match &self.value {
            Value::Str(_) => JsonValue::String(String::new()),
            Value::Seq(_) => JsonValue::Array(Vec::new()),
            Value::Map(_) => JsonValue::Object(Map::new()),
            _ => Node::to_json(self),
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Node>(self).addr()))
    }
}

impl<'a> Object<'a, Tree> for &'a [Entry] {
    type Node = &'a Node;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        <[Entry]>::len(self)
    }

    fn get(&self, key: &String) -> Option<&'a Node> {
        self.iter().find(|entry| entry.key == *key).map(|entry| &entry.value)
    }

    fn members(&self) -> Members<'a> {
        Members(self.iter())
    }
}

/// The keys and values of a mapping, in the order of the document.
pub(super) struct Members<'a>(slice::Iter<'a, Entry>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|entry| (entry.key.as_str(), &entry.value))
    }
}

impl<'a> Array<'a, Tree> for &'a [Node] {
    type Node = &'a Node;
    type ElementsIter = slice::Iter<'a, Node>;

    fn len(&self) -> usize {
        <[Node]>::len(self)
    }

    fn elements(&self) -> slice::Iter<'a, Node> {
        (*self).iter()
    }

    fn is_unique(&self) -> bool {
        unique::is_unique(&self.iter().map(Node::to_json).collect::<Vec<_>>())
    }
}
