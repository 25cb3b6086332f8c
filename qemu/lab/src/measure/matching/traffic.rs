//! Input of an engine.
#![forbid(unsafe_code)]

use midplane_device::envelope::{Envelope, MatchPattern, Rank};
use midplane_device::{Context, Tag};

/// A receive that starts or a message that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrafficStep {
    /// It matches a recorded message, or is posted.
    Receive(MatchPattern),
    /// It is matched, or recorded.
    Message(Envelope),
}

impl TrafficStep {
    /// Creates a receive from one source, or from any.
    pub fn receive(source: Option<u32>, tag: Tag, context: Context) -> TrafficStep {
        TrafficStep::Receive(MatchPattern::new(source.map(Rank::new), Some(tag), context))
    }

    /// Creates a message.
    pub fn message(source: u32, tag: Tag, context: Context) -> TrafficStep {
        TrafficStep::Message(Envelope {
            source: Rank::new(source),
            tag,
            context,
        })
    }
}

/// A queue that is filled and then emptied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueTraffic {
    /// Processes of the job.
    pub peers: u32,
    /// Open contexts.
    pub contexts: Vec<Context>,
    /// Fills the queues; may be empty.
    pub fill: Vec<TrafficStep>,
    /// Empties the queues. Each step matches, unless `fill` is empty.
    pub drain: Vec<TrafficStep>,
    /// After n steps of `drain`, the queues are those of `fill` without its last n steps: allows a sample of the steps.
    pub nested: bool,
}

impl QueueTraffic {
    /// Returns an upper bound of the messages recorded at a time.
    pub fn messages(&self) -> usize {
        let steps = self.fill.iter().chain(&self.drain);
        steps.filter(|step| matches!(step, TrafficStep::Message(_))).count()
    }

    /// Returns an upper bound of the receives posted at a time.
    pub fn receives(&self) -> usize {
        self.fill.len() + self.drain.len() - self.messages()
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> usize {
        self.fill.len() + self.drain.len()
    }
}
