//! Data representations (section 13.5).

use alloc::vec::Vec;
use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_longlong, c_void};

use spin::Mutex;

use super::default_handler::error_target;
use crate::binding::env;
use crate::datatypes::{KnownDatatype, TypedElements};
use crate::error_dispatch::end_under;
use crate::keyvals::pointer;
use crate::types::Handle;
use crate::types::constants::MPI_SUCCESS;
use crate::unlocked::without_lock;
use midplane_objects::datatype::BasicType;
use midplane_objects::error::{Error, ErrorClass};
use midplane_objects::external32::external_bytes;
use midplane_objects::group::exact;
use midplane_objects::windows::wrong;

/// `MPI_Datarep_conversion_function`.
pub type ConversionFunction =
    unsafe extern "C" fn(*mut c_void, Handle, c_int, *mut c_void, c_longlong, *mut c_void) -> c_int;
/// `MPI_Datarep_conversion_function_c`.
pub type LargeConversionFunction =
    unsafe extern "C" fn(*mut c_void, Handle, c_longlong, *mut c_void, c_longlong, *mut c_void) -> c_int;
/// `MPI_Datarep_extent_function`.
pub type ExtentFunction = unsafe extern "C" fn(Handle, *mut isize, *mut c_void) -> c_int;

/// Functions that convert elements, read and written; `None` for MPI_CONVERSION_FN_NULL.
#[derive(Clone, Copy)]
enum Conversions {
    Int([Option<ConversionFunction>; 2]),
    Large([Option<LargeConversionFunction>; 2]),
}

/// Maximum number of representations that a program registers.
const REPRESENTATIONS: usize = 32;
/// Maximum length of a name in bytes, with the terminating zero (MPI_MAX_DATAREP_STRING).
pub(super) const MAX_NAME: usize = 128;

/// A representation that the program has registered.
#[derive(Clone, Copy)]
pub(super) struct ProgramFunctions {
    name: &'static [u8],
    conversions: Conversions,
    extent: ExtentFunction,
    /// Address passed to the functions.
    extra: usize,
}

/// Representations cannot be removed. No call waits or calls a function of the program while it holds the lock, and no
/// interrupt handler uses it.
// SAFETY: a section of initialized data, like the default one.
#[unsafe(link_section = ".data.mpi_representations")]
static REGISTERED: Mutex<Vec<ProgramFunctions>> = Mutex::new(Vec::new());

/// Representation of a view.
#[derive(Clone, Copy)]
pub(super) enum Representation {
    Native,
    /// The same as `native`: all processes of a job have the same processor.
    Internal,
    External32,
    /// At this place in the list of registered ones.
    Registered(u8),
}

impl Representation {
    /// Finds a representation by name. Fails with class UnsupportedDatarep.
    pub fn find(name: &[u8]) -> Result<Self, Error> {
        match name {
            b"native" => Ok(Self::Native),
            b"internal" => Ok(Self::Internal),
            b"external32" => Ok(Self::External32),
            _ => { REGISTERED.lock().iter().position(|functions| functions.name == name) }
                .map(|place| Self::Registered(place as u8))
                .ok_or(wrong(
                    ErrorClass::UnsupportedDatarep,
                    "datarep is neither native, internal, external32 nor a registered representation",
                )),
        }
    }

    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Native => b"native",
            Self::Internal => b"internal",
            Self::External32 => b"external32",
            Self::Registered(_) => self.functions().map_or(b"", |functions| functions.name),
        }
    }

    pub fn functions(self) -> Option<ProgramFunctions> {
        match self {
            Self::Registered(place) => REGISTERED.lock().get(usize::from(place)).copied(),
            _ => None,
        }
    }

    /// Returns the bytes of an element in a file. Fails with [`Error::TooLong`], [`Error::NoSpace`], or class Conversion.
    pub fn file_bytes(self, datatype: &KnownDatatype) -> Result<usize, Error> {
        match self {
            Self::Native | Self::Internal => Ok(datatype.facts().size),
            Self::External32 => datatype.with_type(|datatype| external_bytes(datatype, 1)),
            Self::Registered(_) => {
                let Some(functions) = self.functions() else {
                    return Ok(0);
                };
                let failed = Cell::new(Ok(()));
                let bytes = datatype.with_type(|datatype| {
                    let bytes = datatype.layout().weight(|tag| {
                        let extent = functions.extent_of(BasicType::ALL[usize::from(tag) - 1]);
                        extent.unwrap_or_else(|error| {
                            failed.set(Err(error));
                            0
                        })
                    })?;
                    bytes.ok_or(Error::TooLong { bytes: usize::MAX })
                });
                failed.into_inner().and(bytes)
            }
        }
    }
}

impl ProgramFunctions {
    fn extent_of(&self, basic: BasicType) -> Result<usize, Error> {
        let handle = KnownDatatype::from_basic(basic).handle().unwrap_or_default();
        let mut extent = 0;
        // SAFETY: a function of the program, called with the arguments that the standard specifies (section 13.5.3).
        let code = without_lock(|| unsafe { (self.extent)(Handle::new(handle), &mut extent, pointer(self.extra)) });
        match usize::try_from(extent) {
            Ok(extent) if code == MPI_SUCCESS => Ok(extent),
            _ => Err(wrong(
                ErrorClass::Conversion,
                "dtype_file_extent_fn has returned an error or a negative extent",
            )),
        }
    }

    /// Converts `count` elements at `buffer` to or from `bytes`.
    ///
    /// # Safety
    /// The standard's requirements on the buffer; `bytes` must have the file's bytes of the elements.
    pub unsafe fn convert(
        &self,
        is_read: bool,
        buffer: *mut c_void,
        datatype: c_int,
        count: usize,
        bytes: &mut [u8],
    ) -> Result<bool, Error> {
        let (at, extra) = (usize::from(!is_read), pointer(self.extra));
        let bytes = bytes.as_mut_ptr().cast();
        // SAFETY: guaranteed by the caller; the functions are the program's, with the arguments of section 13.5.3.
        let code = without_lock(|| unsafe {
            match self.conversions {
                Conversions::Int(functions) => functions[at].map(|function| {
                    // The number of elements in a buffer is far below the limit of `int`.
                    function(buffer, Handle::new(datatype), count as c_int, bytes, 0, extra)
                }),
                Conversions::Large(functions) => functions[at]
                    .map(|function| function(buffer, Handle::new(datatype), count as c_longlong, bytes, 0, extra)),
            }
        });
        let Some(code) = code else { return Ok(false) };
        match code {
            MPI_SUCCESS => Ok(true),
            _ => Err(wrong(
                ErrorClass::Conversion,
                "a conversion function of the program has failed",
            )),
        }
    }
}

/// Checks that the elements of a file type have places in this representation: it has no holes, or the elements have the
/// same size as in memory. Fails with class UnsupportedDatarep.
pub(super) fn check_holes(
    representation: Representation,
    filetype: &KnownDatatype,
    elements: &TypedElements,
) -> Result<(), Error> {
    if elements.is_as_packed() || representation.file_bytes(filetype)? == elements.size() {
        return Ok(());
    }
    Err(wrong(
        ErrorClass::UnsupportedDatarep,
        "a file type with holes, whose elements have another size in this representation than in memory",
    ))
}

/// Registers a representation.
///
/// # Safety
/// A non-null `datarep` must point to a string.
unsafe fn register(
    function: &'static str,
    datarep: *const c_char,
    conversions: Conversions,
    extent: Option<ExtentFunction>,
    extra_state: *mut c_void,
) -> c_int {
    let register = |_| {
        if datarep.is_null() {
            return Err(Error::NullArgument { name: "datarep" });
        }
        // SAFETY: guaranteed by the caller.
        let name = unsafe { CStr::from_ptr(datarep) }.to_bytes();
        let extent = extent.ok_or(Error::NullArgument {
            name: "dtype_file_extent_fn",
        })?;
        if name.is_empty() || name.len() >= MAX_NAME {
            return Err(Error::argument(
                "a data representation whose name is empty or longer than 63 bytes",
            ));
        }
        if Representation::find(name).is_ok() {
            return Err(wrong(ErrorClass::DupDatarep, "the data representation exists already"));
        }
        let name = exact(name)?;
        let mut registered = REGISTERED.lock();
        if registered.len() == REPRESENTATIONS {
            return Err(wrong(
                ErrorClass::Other,
                "a program can register 32 data representations at most",
            ));
        }
        registered.try_reserve(1).map_err(|_| Error::NoSpace {
            bytes: size_of::<ProgramFunctions>(),
        })?;
        registered.push(ProgramFunctions {
            name: name.leak(),
            conversions,
            extent,
            extra: extra_state.expose_provenance(),
        });
        Ok(())
    };
    end_under(function, error_target(), env().and_then(register))
}

pub unsafe fn MPI_Register_datarep(
    datarep: *const c_char,
    read_conversion_fn: Option<ConversionFunction>,
    write_conversion_fn: Option<ConversionFunction>,
    dtype_file_extent_fn: Option<ExtentFunction>,
    extra_state: *mut c_void,
) -> c_int {
    let conversions = Conversions::Int([read_conversion_fn, write_conversion_fn]);
    let extent = dtype_file_extent_fn;
    // SAFETY: the standard's requirements on `datarep`.
    unsafe { register("MPI_Register_datarep", datarep, conversions, extent, extra_state) }
}

pub unsafe fn MPI_Register_datarep_c(
    datarep: *const c_char,
    read_conversion_fn: Option<LargeConversionFunction>,
    write_conversion_fn: Option<LargeConversionFunction>,
    dtype_file_extent_fn: Option<ExtentFunction>,
    extra_state: *mut c_void,
) -> c_int {
    let conversions = Conversions::Large([read_conversion_fn, write_conversion_fn]);
    let extent = dtype_file_extent_fn;
    // SAFETY: the standard's requirements on `datarep`.
    unsafe { register("MPI_Register_datarep_c", datarep, conversions, extent, extra_state) }
}
