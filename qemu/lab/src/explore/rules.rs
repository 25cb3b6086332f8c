//! The protocol's rules as values, so that each can be broken.

use midplane_device::ids::{Horizon, REQUEST_GENERATION_BITS};
use midplane_device::protocol::{self, Age};

/// Enabled rules of the protocol ([`protocol::ProtocolRules`]), and the widths of its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExploredRules {
    /// Rule (a).
    pub goes_on: bool,
    /// Rule (b).
    pub waits: bool,
    /// Rule (c).
    pub matched_releases: bool,
    /// Rule (d).
    pub records_in_order: bool,
    /// Rule (e).
    pub guards_posts: bool,
    /// Rule (f).
    pub holds_cancelled: bool,
    /// A self-send does not overtake messages in the process's pending send queue.
    pub guards_own_queue: bool,
    /// Width of the age in bits.
    pub age_bits: u32,
    /// Width of a restart's horizon (cut-off sequence number) in bits.
    pub horizon_bits: u32,
    /// Maximum number of generation bits in IDs.
    pub name_bits: u32,
    /// Short messages may use bcopy (buffered copy) sends.
    pub bcopy: bool,
}

impl ExploredRules {
    /// All rules enabled, all numbers at their full width.
    pub const SOUND: ExploredRules = ExploredRules {
        goes_on: true,
        waits: true,
        matched_releases: true,
        records_in_order: true,
        guards_posts: true,
        holds_cancelled: true,
        guards_own_queue: true,
        age_bits: Age::BITS,
        horizon_bits: Horizon::BITS,
        name_bits: REQUEST_GENERATION_BITS,
        bcopy: true,
    };
}

impl protocol::ProtocolRules for ExploredRules {
    fn repeats_stale(self) -> bool {
        self.goes_on
    }
    fn awaits_replies(self) -> bool {
        self.waits
    }
    fn matched_releases(self) -> bool {
        self.matched_releases
    }
    fn records_in_order(self) -> bool {
        self.records_in_order
    }
    fn guards_posts(self) -> bool {
        self.guards_posts
    }
    fn holds_cancelled(self) -> bool {
        self.holds_cancelled
    }
    fn guards_own_queue(self) -> bool {
        self.guards_own_queue
    }
    fn age_bits(self) -> u32 {
        self.age_bits
    }
    fn horizon_bits(self) -> u32 {
        self.horizon_bits
    }
    fn id_bits(self) -> u32 {
        self.name_bits
    }
    fn bcopy(self) -> bool {
        self.bcopy
    }
}
