//! What an info object says to a window (MPI-3.1 section 11.2.7), and what a window says of itself.

use midplane_device::rma::epochs::Reorder;

/// A key, and what it is about.
type Key = (&'static [u8], fn(&mut Reorder) -> &mut bool);
/// A key and its value.
pub type Hint = (&'static [u8], &'static [u8]);

/// Which epochs may pass others: the names of the thesis (001, section 5).
pub const REORDER: [Key; 4] = [
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

/// What holds of a window whose epochs may pass others so.
pub fn in_use(mut reorder: Reorder) -> [Hint; 9] {
    let [first, second, third, fourth] = REORDER.map(|(key, place)| {
        let value: &[u8] = match *place(&mut reorder) {
            true => b"true",
            false => b"false",
        };
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
