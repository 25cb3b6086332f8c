//! Input of the page.

use super::facts::JobFacts;
use crate::job::JobTrace;
use crate::messages::Messages;
use crate::operations::{JobOperations, OperationId};
use crate::perfetto::CallLocation;

/// Input of the page.
#[derive(Clone, Copy)]
pub struct PageInput<'p> {
    /// Facts that the trace does not contain.
    pub facts: &'p JobFacts,
    /// Calls of the ranks.
    pub job: &'p JobTrace,
    /// Their operations.
    pub operations: &'p JobOperations,
    /// Their messages.
    pub messages: &'p Messages,
    /// Source line of a return address in a rank's program.
    pub locate: CallLocation<'p>,
}

impl PageInput<'_> {
    /// Returns the bytes of a received message; 0 for a receive that is not complete.
    #[must_use]
    pub fn received_bytes(&self, receive: OperationId) -> u64 {
        let operation = self.operations.get(receive);
        operation.status.map_or(0, |status| status.bytes)
    }
}
