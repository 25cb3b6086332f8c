//! The models.
#![forbid(unsafe_code)]

use crate::expr::SyntaxError;
use crate::model::Model;

/// Name and text of each model.
pub const MODELS: [(&str, &str); 7] = [
    ("pair", include_str!("../models/pair.model")),
    ("receives", include_str!("../models/receives.model")),
    ("turns", include_str!("../models/turns.model")),
    ("epochs", include_str!("../models/epochs.model")),
    ("epoch_order", include_str!("../models/epoch_order.model")),
    ("locks", include_str!("../models/locks.model")),
    ("ring", include_str!("../models/ring.model")),
];

/// Parses all models. An error is a mistake in a file of this crate.
pub fn all() -> Result<Vec<Model>, SyntaxError> {
    MODELS.iter().map(|(name, text)| Model::parse(name, text)).collect()
}

/// Parses the model of this name.
pub fn named(name: &str) -> Result<Model, SyntaxError> {
    let (_, text) = MODELS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| SyntaxError(format!("no model `{name}`")))?;
    Model::parse(name, text)
}
