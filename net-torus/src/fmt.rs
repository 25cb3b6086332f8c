//! Log shim: defmt when the feature is on, nothing otherwise (and then the arguments cost nothing).

macro_rules! warning {
    ($($arg:tt)*) => {{
        #[cfg(feature = "defmt")]
        ::defmt::warn!($($arg)*);
        #[cfg(not(feature = "defmt"))]
        { let _ = || { let _ = core::format_args!($($arg)*); }; }
    }};
}
