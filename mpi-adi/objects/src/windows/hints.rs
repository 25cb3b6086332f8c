//! Info hints of windows (MPI-3.1 section 11.2.7).

use midplane_device::rma::epochs::ReorderFlags;

/// A key and the flag that it controls.
type HintKey = (&'static [u8], fn(&mut ReorderFlags) -> &mut bool);
/// A key and its value.
pub type HintPair = (&'static [u8], &'static [u8]);

/// Keys that allow epochs to be reordered, with the names of the thesis (001, section 5).
pub const REORDER: [HintKey; 4] = [
    (b"MPI_WIN_ACCESS_AFTER_ACCESS_REORDER", |reorder| {
        &mut reorder.access_after_access
    }),
    (b"MPI_WIN_ACCESS_AFTER_EXPOSURE_REORDER", |reorder| {
        &mut reorder.access_after_exposure
    }),
    (b"MPI_WIN_EXPOSURE_AFTER_EXPOSURE_REORDER", |reorder| {
        &mut reorder.exposure_after_exposure
    }),
    (b"MPI_WIN_EXPOSURE_AFTER_ACCESS_REORDER", |reorder| {
        &mut reorder.exposure_after_access
    }),
];

/// Returns the hints in use for a window with this reordering.
pub fn in_use(mut reorder: ReorderFlags) -> [HintPair; 9] {
    let [first, second, third, fourth] = REORDER.map(|(key, place)| {
        let value: &[u8] = if *place(&mut reorder) { b"true" } else { b"false" };
        (key, value)
    });
    [
        (b"no_locks", b"false"),
        (b"accumulate_ordering", b"rar,raw,war,waw"),
        (b"accumulate_ops", b"same_op_no_op"),
        (b"same_size", b"false"),
        (b"same_disp_unit", b"false"),
        first,
        second,
        third,
        fourth,
    ]
}
