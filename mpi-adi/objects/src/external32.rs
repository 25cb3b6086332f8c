//! Conversion of elements to and from the external32 representation (MPI-3.1 section 4.3).
#![forbid(unsafe_code)]

use crate::datatype::derived::DerivedType;
use crate::datatype::{BasicType, external};
use crate::error::Error;
use crate::process::Env;
use midplane_device::interface::Device;
use midplane_device::memory::buffer_slice::BufferSlice;

/// Returns the basic datatype of a leaf.
fn basic(tag: u8) -> BasicType {
    BasicType::ALL[usize::from(tag) - 1]
}

/// Runs `f` on the leaves of one element in packed order, with the offset of each in native and in external bytes.
/// Returns the external size of the element.
fn for_each_leaf(datatype: &DerivedType, mut f: impl FnMut(BasicType, usize, usize)) -> usize {
    let (mut inner, mut outside) = (0, 0);
    while inner < datatype.size() {
        let leaf = datatype.layout().leaf_at(inner);
        let basic = basic(leaf.tag);
        f(basic, inner, outside);
        inner += leaf.size;
        outside += external::size(basic);
    }
    outside
}

/// Returns the start and the end of the next `bytes` bytes in a pack buffer. Fails if they do not fit.
pub fn places(size: isize, position: isize, bytes: usize) -> Result<(usize, usize), Error> {
    let within = usize::try_from(size).ok().zip(usize::try_from(position).ok());
    let fits = |(size, from): &(usize, usize)| {
        let end = from.checked_add(bytes);
        end.is_some_and(|end| end <= *size)
    };
    let (_, from) = within.filter(fits).ok_or(Error::argument(
        "a packing buffer that ends before the elements do, or a position outside of it",
    ))?;
    Ok((from, from + bytes))
}

/// Returns the external size of `count` elements in bytes. The run time is proportional to the length of the datatype's
/// description. Fails with [`Error::TooLong`] or [`Error::NoSpace`].
pub fn external_bytes(datatype: &DerivedType, count: usize) -> Result<usize, Error> {
    let each = datatype.layout().weight(|tag| external::size(basic(tag)))?;
    let bytes = each.and_then(|each| each.checked_mul(count));
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or(Error::TooLong { bytes: usize::MAX })
}

/// Elements in native representation, to be converted.
pub struct NativeElements<'a> {
    /// The process that calls.
    pub env: &'a dyn Env,
    /// The elements in memory.
    pub data: BufferSlice,
    /// Their datatype.
    pub datatype: &'a DerivedType,
    /// Their number.
    pub count: usize,
}

impl NativeElements<'_> {
    /// Runs `f` on each leaf of the elements, with its native location and its external offset.
    fn each(&self, mut f: impl FnMut(BasicType, BufferSlice, usize)) {
        let (size, all) = (self.datatype.size(), self.data);
        let mut outside = 0;
        for element in 0..self.count {
            outside += for_each_leaf(self.datatype, |basic, inner, behind| {
                let area = all.part(element * size + inner, basic.size());
                f(basic, area, outside + behind);
            });
        }
    }

    /// Converts the native elements to `out`. It must have capacity for all.
    pub fn encode(&self, out: &mut [u8]) {
        self.each(|basic, area, at| {
            let mut native = [0; external::LONGEST];
            let native = &mut native[..basic.size()];
            self.env.read(area, native);
            external::encode(basic, native, &mut out[at..][..external::size(basic)]);
        });
    }

    /// Converts `packed` to native elements. It must contain all of them.
    pub fn decode(&self, packed: &[u8]) {
        self.each(|basic, area, at| {
            let mut native = [0; external::LONGEST];
            let native = &mut native[..basic.size()];
            external::decode(basic, &packed[at..][..external::size(basic)], native);
            self.env.write(area, native);
        });
    }
}
