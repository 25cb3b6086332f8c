//! Selection of the matching engine, by name.
#![forbid(unsafe_code)]

use core::fmt;

use crate::{ColEngine, FourD, PerRank, PnpEngine, UnifiedEngine};
use midplane_device::config::MICRO;
use midplane_device::matching::{EngineKind, IndexedEngine, ListEngine, MatchingEngine};

/// Operation that is generic over the engine.
pub trait WithEngine {
    /// Result of the operation.
    type Output;

    /// Runs the operation with engine `E`.
    fn run<E: MatchingEngine>(self) -> Self::Output;
}

impl fmt::Display for EngineChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Defines the list of engines from lines `EngineChoice Engine, when it is the standard one;`.
macro_rules! engines {
    ($($(#[$doc:meta])* $choice:ident $engine:ty, $standard:expr;)*) => {
        /// A matching engine, by name. Code that uses this type links all engines.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
        pub enum EngineChoice {
            $($(#[$doc])* $choice,)*
        }

        impl EngineChoice {
            /// All engines.
            pub const ALL: &[EngineChoice] = &[$(EngineChoice::$choice,)*];

            /// Returns the user-visible name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(EngineChoice::$choice => <$engine as MatchingEngine>::NAME,)*
                }
            }

            /// Returns the engine with this user-visible name.
            pub fn from_name(name: &str) -> Option<EngineChoice> {
                let is_it = |choice: &&EngineChoice| choice.name() == name;
                EngineChoice::ALL.iter().find(is_it).copied()
            }

            /// Returns the kind of engine for a device.
            pub const fn kind(self) -> EngineKind {
                match self {
                    $(EngineChoice::$choice if $standard => EngineKind::STANDARD,
                    EngineChoice::$choice => EngineKind::for_engine::<$engine>(),)*
                }
            }

            /// Runs an operation with this engine.
            pub fn with<W: WithEngine>(self, what: W) -> W::Output {
                match self {
                    $(EngineChoice::$choice => what.run::<$engine>(),)*
                }
            }
        }
    };
}

engines! {
    /// [`ListEngine`].
    List ListEngine, MICRO;
    /// [`PerRank`].
    Array PerRank, false;
    /// [`FourD`].
    FourD FourD, false;
    /// [`PnpEngine`].
    Pnp PnpEngine, false;
    /// [`ColEngine`].
    Col ColEngine, false;
    /// [`UnifiedEngine`].
    Unified UnifiedEngine, false;
    /// [`IndexedEngine`].
    #[default]
    Default IndexedEngine, !MICRO;
}

#[cfg(test)]
mod tests {
    use super::*;
    use midplane_device::matching::{ENGINE_NAMES, Matching, SelectedEngine};

    struct Name;

    impl WithEngine for Name {
        type Output = &'static str;

        fn run<E: MatchingEngine>(self) -> &'static str {
            E::NAME
        }
    }

    #[test]
    fn engines_are_known_by_their_names() {
        for &choice in EngineChoice::ALL {
            let name = choice.name();
            assert_eq!(EngineChoice::from_name(name), Some(choice));
            assert_eq!((choice.with(Name), choice.kind().name), (name, name));
            let engine = (choice.kind().make)(8, 2).expect("room");
            assert_eq!((engine.name(), engine.clone().name()), (name, name));
        }
        assert_eq!(EngineChoice::from_name("Fourd"), None);
        let names: Vec<&str> = { EngineChoice::ALL.iter() }.map(|choice| choice.name()).collect();
        assert_eq!(names, ENGINE_NAMES);
    }

    /// Exactly one engine is embedded in the device: that of the build profile.
    #[test]
    fn one_engine_is_the_standard_one() {
        let is_standard = |choice: &EngineChoice| {
            let engine = (choice.kind().make)(0, 1).expect("room");
            matches!(engine, SelectedEngine::Standard(_))
        };
        let standard: Vec<_> = { EngineChoice::ALL.iter() }.copied().filter(is_standard).collect();
        assert_eq!(standard.len(), 1);
        assert_eq!(standard[0].name(), EngineKind::STANDARD.name);
    }
}
