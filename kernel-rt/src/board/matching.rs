//! The matching engine of a node.
//!
//! An image for nodes has one engine and the code of no other. The linker is told which: the symbol `midplane_matching` is the
//! engine's kind, and stands for one of the symbols below (`--defsym=midplane_matching=midplane_matching_NAME`; the linker
//! scripts in `ld` have the board's own). So one compiled kernel serves all engines. A process of this machine has all of
//! them, and its boot parameters choose.

#[cfg(not(target_os = "none"))]
pub use of_processes::chosen;

#[cfg(target_os = "none")]
pub use of_images::kind;

#[cfg(target_os = "none")]
mod of_images {
    use midplane_device::matching::{Choice, EngineKind};

    /// Makes the symbols, one for each engine.
    macro_rules! kinds {
        ($($symbol:literal $name:ident $choice:ident;)*) => {
            $(
                // SAFETY: nothing else has this name; it is read as what it is.
                #[unsafe(export_name = $symbol)]
                static $name: EngineKind = Choice::$choice.kind();
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

    // SAFETY: the linker gives this name to one of the statics above.
    unsafe extern "Rust" {
        #[link_name = "midplane_matching"]
        safe static MATCHING: EngineKind;
    }

    /// The kind of this image's engine.
    pub fn kind() -> &'static EngineKind {
        &MATCHING
    }
}

#[cfg(not(target_os = "none"))]
mod of_processes {
    use midplane_device::matching::Choice;

    /// The engine that the boot parameters name, or the default one: with a name that no engine has, the check of the
    /// parameters finds that this is another.
    pub fn chosen(name: Option<&[u8]>) -> Choice {
        let name = name.and_then(|name| core::str::from_utf8(name).ok());
        name.and_then(Choice::named).unwrap_or_default()
    }
}
