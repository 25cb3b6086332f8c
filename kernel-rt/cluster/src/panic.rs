//! Messages of caught panics.
#![forbid(unsafe_code)]

use std::any::Any;

/// Returns a panic's message.
pub fn words(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or_default()
        .to_owned()
}
