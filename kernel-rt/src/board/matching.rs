//! The matching engine of a node.
//!
//! An image for nodes contains the code of one engine only. The linker selects it: the symbol `midplane_matching` is
//! the engine's kind, an alias of one of the symbols below (`--defsym=midplane_matching=midplane_matching_NAME`; the
//! linker scripts in `ld` define each board's own). So one compiled kernel supports all engines. A Linux process
//! contains all of them, and its boot parameters specify one.

#[cfg(not(target_os = "none"))]
pub use of_processes::select_engine;

#[cfg(target_os = "none")]
pub use of_images::kind;

#[cfg(target_os = "none")]
mod of_images {
    use midplane_device::matching::EngineKind;
    use midplane_engines::EngineChoice;

    /// Defines the symbols, one per engine.
    macro_rules! kinds {
        ($($symbol:literal $name:ident $choice:ident;)*) => {
            $(
                // SAFETY: nothing else has this name; it is read with its own type.
                #[unsafe(export_name = $symbol)]
                static $name: EngineKind = EngineChoice::$choice.kind();
            )*
        };
    }

    kinds! {
        "midplane_matching_default" DEFAULT Default;
        "midplane_matching_list" LIST List;
        "midplane_matching_array" ARRAY Array;
        "midplane_matching_fourd" FOUR_D FourD;
        "midplane_matching_pnp" PNP Pnp;
        "midplane_matching_col" COL Col;
        "midplane_matching_unified" UNIFIED Unified;
    }

    // SAFETY: the linker defines this name as one of the statics above.
    unsafe extern "Rust" {
        #[link_name = "midplane_matching"]
        safe static MATCHING: EngineKind;
    }

    /// Returns the kind of this image's engine.
    pub fn kind() -> &'static EngineKind {
        &MATCHING
    }
}

#[cfg(not(target_os = "none"))]
mod of_processes {
    use midplane_engines::EngineChoice;

    /// Returns the engine that the boot parameters specify, or the default one. For an unknown name the default is
    /// returned too, and the check of the parameters detects the difference.
    pub fn select_engine(name: Option<&[u8]>) -> EngineChoice {
        let name = name.and_then(|name| core::str::from_utf8(name).ok());
        name.and_then(EngineChoice::from_name).unwrap_or_default()
    }
}
