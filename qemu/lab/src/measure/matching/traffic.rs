//! What an engine is given.
#![forbid(unsafe_code)]

use midplane_device::envelope::{Envelope, Pattern, Rank};
use midplane_device::{Context, Tag};

/// A receive that starts or a message that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It takes a recorded message, or is posted.
    Receive(Pattern),
    /// It is matched, or recorded.
    Message(Envelope),
}

impl Step {
    /// A receive from one source, or from any.
    pub fn receive(source: Option<u32>, tag: Tag, context: Context) -> Step {
        Step::Receive(Pattern::new(source.map(Rank::new), Some(tag), context))
    }

    /// A message.
    pub fn message(source: u32, tag: Tag, context: Context) -> Step {
        Step::Message(Envelope {
            source: Rank::new(source),
            tag,
            context,
        })
    }
}

/// A queue that is filled and then emptied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Traffic {
    /// Processes of the job.
    pub peers: u32,
    /// Contexts that are open.
    pub contexts: Vec<Context>,
    /// Fills the queues; may be nothing.
    pub fill: Vec<Step>,
    /// Each step matches, unless there is no `fill`. Leaves the queues empty.
    pub drain: Vec<Step>,
    /// When so many steps of `drain` are done, the queues hold what `fill` without its last so many steps leaves: a
    /// sample of the steps can be measured.
    pub nested: bool,
}

impl Traffic {
    /// Messages at most that are recorded at once.
    pub fn messages(&self) -> usize {
        let steps = self.fill.iter().chain(&self.drain);
        steps
            .filter(|step| matches!(step, Step::Message(_)))
            .count()
    }

    /// Receives at most that are posted at once.
    pub fn receives(&self) -> usize {
        self.fill.len() + self.drain.len() - self.messages()
    }

    /// Steps.
    pub fn steps(&self) -> usize {
        self.fill.len() + self.drain.len()
    }
}
