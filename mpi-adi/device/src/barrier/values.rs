//! Storage of the values in barrier packets, for an in-network allreduce of a few bytes.
//!
//! A received value is stored until this process combines it. Between two barriers of the same parity, all values of
//! the first have been combined, so each possible packet has a separate slot.
#![forbid(unsafe_code)]

use alloc::boxed::Box;
use core::ops::Range;

use msg_layer::header::PRIORITY_BYTES;
use net_torus::Shape;

use crate::barrier::line::{AnnounceScope, LinePosition};
use crate::try_box::try_boxed_slice;

/// Maximum value length in bytes: with both headers, a packet of two 32-byte chunks, and of one chunk up to 16 bytes.
pub const VALUE_BYTES: usize = 32;
const _: () = assert!(VALUE_BYTES <= PRIORITY_BYTES);

/// A value in received form.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReceivedValue {
    len: u8,
    bytes: [u8; VALUE_BYTES],
}

impl ReceivedValue {
    /// Empty value.
    pub(super) const EMPTY: ReceivedValue = ReceivedValue {
        len: 0,
        bytes: [0; VALUE_BYTES],
    };

    /// Sets the value to at most [`VALUE_BYTES`] bytes.
    pub(super) fn set(&mut self, bytes: &[u8]) {
        self.len = bytes.len() as u8;
        // Avoids the cost of a copy for a barrier without values.
        if !bytes.is_empty() {
            self.bytes[..bytes.len()].copy_from_slice(bytes);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.len.into()]
    }
}

/// Origin of barrier packets. The parity of the barrier is stored separately, for lines only: the second node of a pair
/// sends no packet of the next barrier before the first has released it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum PacketOrigin {
    /// The second node of the pair in this dimension.
    Pair(u8),
    /// The nodes of a circle of the line in this dimension.
    Line(u8, AnnounceScope),
}

/// Index of a dimension's first slot, and the maximum values from a group and from the other groups.
type ValueSlots = [u16; 3];

/// Slots for the values that a node can receive.
#[derive(Clone, Default, Hash, Debug)]
pub(crate) struct ValueStore {
    /// `None` if barriers carry no values.
    places: Option<Box<[ReceivedValue]>>,
    dimensions: [ValueSlots; 3],
}

impl ValueStore {
    /// Allocates the slots of a node of this machine from the heap. Returns `None` if the heap is full.
    #[inline(never)]
    pub(crate) fn allocate(shape: &Shape) -> Option<ValueStore> {
        let (dimensions, count) = slots(shape);
        Some(ValueStore {
            places: Some(try_boxed_slice(ReceivedValue::default(), count)?),
            dimensions,
        })
    }

    /// Returns the heap bytes of the slots.
    pub(crate) fn bytes(shape: &Shape) -> usize {
        Self::count(shape) * size_of::<ReceivedValue>()
    }

    /// Returns the maximum heap bytes of the slots in any machine of `nodes` nodes.
    pub(crate) fn max_bytes(nodes: usize) -> usize {
        let extents = |nodes: usize| (1..=nodes.min(256)).filter(move |&extent| nodes.is_multiple_of(extent));
        let shapes = extents(nodes).flat_map(|x| extents(nodes / x).map(move |y| [x, y, nodes / x / y]));
        let shapes = shapes.filter_map(|extents| {
            let extents = extents.map(|extent| u16::try_from(extent).unwrap_or(u16::MAX));
            Shape::new(extents, [true; 3])
        });
        shapes.map(|shape| Self::bytes(&shape)).max().unwrap_or(0)
    }

    /// Checks whether the slots are allocated.
    pub(super) fn is_allocated(&self) -> bool {
        self.places.is_some()
    }

    /// Checks that the slots are either absent or those of this machine.
    pub(crate) fn fits(&self, shape: &Shape) -> bool {
        let count = self.places.as_ref().map(|places| places.len());
        count.is_none_or(|count| count == Self::count(shape))
    }

    fn count(shape: &Shape) -> usize {
        slots(shape).1
    }

    /// Returns the index range of the first `count` slots of this origin.
    fn range(&self, (is_odd, origin): (bool, PacketOrigin), count: usize) -> Range<usize> {
        let first = self.first(is_odd, origin);
        first..first + count
    }

    /// Returns the index of the first slot of this origin.
    fn first(&self, is_odd: bool, origin: PacketOrigin) -> usize {
        let (PacketOrigin::Pair(dimension) | PacketOrigin::Line(dimension, _)) = origin;
        let [first, group, line] = self.dimensions[usize::from(dimension)].map(usize::from);
        let parity = if is_odd { group + line } else { 0 };
        match origin {
            PacketOrigin::Pair(_) => first,
            PacketOrigin::Line(_, AnnounceScope::Group) => first + parity,
            PacketOrigin::Line(_, AnnounceScope::Line) => first + parity + group,
        }
    }

    /// Stores at most [`VALUE_BYTES`] bytes as the `index`th value of this origin. Returns false if there is no slot.
    pub(super) fn store(&mut self, is_odd: bool, origin: PacketOrigin, index: usize, bytes: &[u8]) -> bool {
        let at = self.first(is_odd, origin) + index;
        let place = self.places.as_mut().and_then(|places| places.get_mut(at));
        place.map(|place| place.set(bytes)).is_some()
    }

    /// Returns the first `count` values of this origin.
    pub(super) fn values_from(&self, from: (bool, PacketOrigin), count: usize) -> &[ReceivedValue] {
        let range = self.range(from, count);
        let places = self.places.as_deref().unwrap_or_default();
        places.get(range).unwrap_or_default()
    }

    /// Returns the first `count` values of this origin, for writing.
    pub(super) fn values_from_mut(&mut self, from: (bool, PacketOrigin), count: usize) -> &mut [ReceivedValue] {
        let range = self.range(from, count);
        let places = self.places.as_deref_mut().unwrap_or_default();
        places.get_mut(range).unwrap_or_default()
    }
}

/// Returns the slots of each dimension (for lines, with both parities) and the total number.
#[inline(never)]
fn slots(shape: &Shape) -> ([ValueSlots; 3], usize) {
    let mut dimensions = [[0; 3]; 3];
    let mut first = 0;
    for (dimension, places) in dimensions.iter_mut().enumerate() {
        let [group, line] = LinePosition::max_expected(shape, dimension);
        *places = [first, group, line];
        first += match shape.extents()[dimension] {
            1 => 0,
            2 => 1,
            _ => 2 * (group + line),
        };
    }
    (dimensions, first.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value has a separate slot, and all slots are used.
    #[test]
    fn each_value_has_a_place() {
        for extents in [[1, 1, 1], [2, 2, 2], [8, 8, 8], [3, 2, 16], [5, 1, 256]] {
            let shape = Shape::new(extents, [true; 3]).expect("a machine");
            let mut values = ValueStore::allocate(&shape).expect("room");
            assert!(values.is_allocated() && values.fits(&shape));
            let mut places = Vec::new();
            for dimension in 0..3u8 {
                match extents[usize::from(dimension)] {
                    1 => {}
                    2 => places.push((false, PacketOrigin::Pair(dimension), 0)),
                    _ => {
                        let most = LinePosition::max_expected(&shape, dimension.into());
                        let [group, line] = most.map(usize::from);
                        for is_odd in [false, true] {
                            for (circle, most) in [(AnnounceScope::Group, group), (AnnounceScope::Line, line)] {
                                let origin = PacketOrigin::Line(dimension, circle);
                                places.extend((0..most).map(|index| (is_odd, origin, index)));
                            }
                        }
                    }
                }
            }
            assert_eq!(places.len() * size_of::<ReceivedValue>(), ValueStore::bytes(&shape));
            for (number, &(is_odd, origin, index)) in places.iter().enumerate() {
                assert!(values.store(is_odd, origin, index, &number.to_le_bytes()));
            }
            for (number, &(is_odd, origin, index)) in places.iter().enumerate() {
                let kept = values.values_from((is_odd, origin), index + 1);
                assert_eq!(kept[index].bytes(), number.to_le_bytes());
            }
        }
    }

    #[test]
    fn without_places_none_is_kept() {
        let shape = Shape::new([2, 3, 1], [true; 3]).expect("a machine");
        let mut values = ValueStore::default();
        assert!(!values.is_allocated() && values.fits(&shape));
        assert!(!values.store(false, PacketOrigin::Pair(0), 0, &[1]));
        assert!(values.values_from((false, PacketOrigin::Pair(0)), 1).is_empty());
        let other = Shape::new([2, 2, 1], [true; 3]).expect("a machine");
        assert!(!ValueStore::allocate(&other).expect("room").fits(&shape));
    }

    #[test]
    fn of_so_many_nodes_the_worst_shape_is_known() {
        let places = |nodes| ValueStore::max_bytes(nodes) / size_of::<ReceivedValue>();
        // None; a pair; two pairs or a line of two groups of two; a line of four groups of two.
        assert_eq!([1, 2, 4, 8].map(places), [0, 1, 4, 8]);
        assert_eq!(places(257), 0, "no machine");
        for extents in [[8, 8, 8], [2, 256, 1], [16, 16, 2]] {
            let shape = Shape::new(extents, [false; 3]).expect("a machine");
            assert!(ValueStore::bytes(&shape) <= ValueStore::max_bytes(512));
        }
    }
}
