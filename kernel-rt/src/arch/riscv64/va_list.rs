//! C's `va_list` and `long double`.

/// `va_list` of this machine: where the next argument lies, each in eight bytes, or sixteen at a
/// multiple of sixteen (RISC-V calling convention, variadic arguments).
#[repr(transparent)]
pub struct VaList(*const u64);

impl VaList {
    /// The list of these arguments, each of eight bytes or less. It is good for as long as they are.
    pub fn of(arguments: &[u64]) -> Self {
        Self(arguments.as_ptr())
    }

    /// Takes the next argument.
    ///
    /// # Safety
    /// There is one more argument of eight bytes or less.
    pub unsafe fn next(&mut self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe {
            let value = self.0.read();
            self.0 = self.0.add(1);
            value
        }
    }

    /// Takes the two halves of the next argument, the lower one first.
    ///
    /// # Safety
    /// The next argument is a `long double`.
    pub unsafe fn next_long_double(&mut self) -> [u64; 2] {
        let skip = self.0.addr() / 8 % 2;
        // SAFETY: the caller's promise.
        unsafe {
            let at = self.0.add(skip);
            self.0 = at.add(2);
            [at.read(), at.add(1).read()]
        }
    }
}
