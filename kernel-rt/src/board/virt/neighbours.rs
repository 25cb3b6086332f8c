//! Links between the nodes of a box: location of their shared memory in the machine and in a node's address space.
//!
//! ```text
//! RING_WINDOWS + d * RING_WINDOW    the rings of the link in direction d; behind them (ASLEEP) the page
//!                                   with the word that says whether the neighbour sleeps
//!              + 6 * RING_WINDOW    the page with this node's own such word
//!              + 7 * RING_WINDOW    the doorbell of other instances, on a node with a link to one
//! ```

use core::ptr;

use midplane_abi::address::PAGE;
use midplane_abi::boot_parameters::BoxParameters;
use midplane_abi::layout::{
    InstanceLayout, RING_BYTES, RING_WINDOW, RING_WINDOWS, SEVERAL, owner, shared_asleep, shared_ring,
};
use net_torus::coord::{Coord, Direction};

use super::doorbell;
use super::layout::RAM;
use super::registers::{SOFTWARE, write32};
use crate::arch;
use crate::arch::paging::{MapError, PageAccess, PageTables};
use crate::dev::ring::{Doorbell, RingLink, RingPair, SleepFlag};

const OWN: u64 = RING_WINDOWS + 6 * RING_WINDOW;
const DOORBELL: u64 = RING_WINDOWS + 7 * RING_WINDOW;
/// Offset in a window.
const ASLEEP: u64 = RING_BYTES;
/// Mapped size of a link's rings.
const PAIR_BYTES: u64 = (size_of::<RingPair>() as u64).next_multiple_of(PAGE);

const _: () = assert!(PAIR_BYTES <= RING_BYTES - PAGE && size_of::<SleepFlag>() as u64 <= PAGE);

/// The machine that runs a box.
#[derive(Clone, Copy)]
pub struct BoxMachine {
    /// Layout of its memory.
    pub layout: InstanceLayout,
    /// The nodes of the box.
    pub boxed: BoxParameters,
    /// Other instances can be reached.
    pub doorbell: bool,
}

/// Doorbell of a neighbour: a store to a register.
pub struct RegisterDoorbell {
    address: u64,
    word: u32,
}

impl Doorbell for RegisterDoorbell {
    #[inline]
    fn ring(&self) {
        arch::memory_before_devices();
        write32(self.address as usize, self.word);
    }
}

/// A neighbour of a node of the box.
struct BoxNeighbour {
    direction: Direction,
    /// Physical addresses of the rings and of its sleep flag.
    rings: u64,
    asleep: u64,
    doorbell: RegisterDoorbell,
    is_outside: bool,
}

impl BoxMachine {
    /// Returns the physical address of the page with the sleep flag of the node at `coord`.
    fn asleep(&self, coord: Coord) -> Option<u64> {
        let division = &self.boxed.division;
        if division.is_at_the_edge(coord) {
            return Some(doorbell::SHARED + shared_asleep(division.shape().rank(coord)?));
        }
        let (_, hart) = division.place(coord)?;
        Some(RAM + self.layout.asleep(hart))
    }

    fn neighbour(&self, coord: Coord, direction: Direction) -> Option<BoxNeighbour> {
        let division = &self.boxed.division;
        let shape = division.shape();
        let there = shape.neighbour(coord, direction)?;
        let (owner, axis) = owner(&shape, coord, direction)?;
        let (instance, hart) = division.place(there)?;
        let is_outside = SEVERAL && instance != self.boxed.instance;
        let (rings, (address, word)) = if is_outside {
            let rings = doorbell::SHARED + shared_ring(shape.rank(owner)?, axis);
            (rings, doorbell::ring(DOORBELL, instance, hart))
        } else {
            let (_, owner) = division.place(owner)?;
            let register = SOFTWARE as u64 + 4 * u64::from(hart);
            (RAM + self.layout.ring(owner, axis), (register, 1))
        };
        Some(BoxNeighbour {
            direction,
            rings,
            asleep: self.asleep(there)?,
            doorbell: RegisterDoorbell { address, word },
            is_outside,
        })
    }

    fn neighbours(&self, coord: Coord) -> impl Iterator<Item = BoxNeighbour> {
        let all = Direction::ALL.into_iter();
        all.filter_map(move |direction| self.neighbour(coord, direction))
    }

    /// Returns whether the node at `coord` has neighbours that cannot be reached, because there is no doorbell.
    pub fn is_cut_off(&self, coord: Coord) -> bool {
        !self.doorbell && self.boxed.division.is_at_the_edge(coord)
    }

    /// Starts the harts that wait for this one, which has completed its own start: two, each of which starts two more.
    /// If all started simultaneously, they would translate the same code at the same time, and QEMU's threads would
    /// wait for each other in spin locks, longer than for everything else.
    pub fn call_next(&self, hart: u32) {
        if hart == 0 {
            arch::touch_code();
        }
        for next in [2 * hart + 1, 2 * hart + 2] {
            if next < self.layout.nodes {
                let address = SOFTWARE as u64 + 4 * u64::from(next);
                RegisterDoorbell { address, word: 1 }.ring();
            }
        }
    }

    /// Maps the memory that the node at `coord` shares with its neighbours.
    pub fn map(&self, tables: &mut PageTables<'_>, coord: Coord) -> Result<(), MapError> {
        let mut share = |address, physical, bytes| tables.map(address, physical, bytes, PageAccess::ReadWrite);
        if self.is_cut_off(coord) {
            // The node will report it.
            return Ok(());
        }
        if let Some(asleep) = self.asleep(coord) {
            share(OWN, asleep, PAGE)?;
        }
        for neighbour in self.neighbours(coord) {
            let window = window(neighbour.direction);
            share(window, neighbour.rings, PAIR_BYTES)?;
            share(window + ASLEEP, neighbour.asleep, PAGE)?;
        }
        if self.neighbours(coord).any(|neighbour| neighbour.is_outside) {
            share(DOORBELL, doorbell::PAGE, PAGE)?;
        }
        Ok(())
    }

    /// Creates the links of the node at `coord`, on that node; `seal`: seals cover complete frames.
    ///
    /// # Safety
    /// Called once, on the node for which [`BoxMachine::map`] was called.
    pub unsafe fn links(&self, coord: Coord, seal: bool) -> [Option<RingLink<'static, RegisterDoorbell>>; 6] {
        // SAFETY: this function's own conditions.
        let own = unsafe { own_word() };
        Direction::ALL.map(|direction| {
            let neighbour = self.neighbour(coord, direction)?;
            let window = window(direction) as usize;
            let pair = ptr::with_exposed_provenance::<RingPair>(window);
            let asleep = ptr::with_exposed_provenance::<SleepFlag>(window + ASLEEP as usize);
            // SAFETY: mapped by `map`, forever. All zeros is a valid word of a node that is awake, and valid rings
            // without outstanding frames; the memory is shared by atomics and as `RingLink` requires.
            let (pair, there) = unsafe { (&*pair, &*asleep) };
            Some(RingLink::new(pair, direction, own, there, neighbour.doorbell).seal(seal))
        })
    }
}

/// Returns the sleep flag of the calling node.
///
/// # Safety
/// Called on a node for which [`BoxMachine::map`] was called.
pub unsafe fn own_word() -> &'static SleepFlag {
    // SAFETY: mapped by `map`, forever. All zeros is a valid word of a node that is awake; it is shared by atomics.
    unsafe { &*ptr::with_exposed_provenance::<SleepFlag>(OWN as usize) }
}

fn window(direction: Direction) -> u64 {
    RING_WINDOWS + direction as u64 * RING_WINDOW
}
