//! Documents of others, against a schema of others that lies beside them.

use jsonschema::Validator;
use serde_json::Value;

/// A schema that was read at run time.
#[derive(Debug)]
pub struct Foreign {
    validator: Validator,
}

impl Foreign {
    /// Compiles a schema. It is taken as it stands: nothing that it refers to elsewhere is fetched.
    ///
    /// # Errors
    /// Why it is no schema.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let validator = jsonschema::options().build(schema).map_err(|error| error.to_string())?;
        Ok(Self { validator })
    }

    /// The first thing that is wrong with a document, and where.
    #[must_use]
    pub fn wrong(&self, document: &Value) -> Option<String> {
        let error = self.validator.iter_errors(document).next()?;
        Some(format!("{}: {error}", error.instance_path()))
    }
}
