//! An installed command: shell completions, man pages, and projects outside the checkout.

mod completions;
mod man;
mod new;

pub use completions::{CompletionArgs, print_completions};
pub use man::{ManArgs, write_pages};
pub use new::{NewArgs, create_project};
