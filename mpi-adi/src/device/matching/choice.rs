//! The engines by their names, and the one of this build.
//!
//! A build has one engine: that of its feature `matching-NAME`, or without such a feature the default one. All
//! engines are compiled wherever a program names them, as tests and the host tool do by [`Choice::with`]; an image for
//! nodes names none but its own [`Engine`] and so carries no other.
#![forbid(unsafe_code)]

use core::fmt;

use super::{Col, FourD, Indexed, Lists, Matching, PerRank, Pnp, Unified};

/// What can be done with whichever engine.
pub trait WithEngine {
    /// What comes of it.
    type Output;

    /// Does it with the engine `E`.
    fn run<E: Matching>(self) -> Self::Output;
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The engine of this build: the first whose feature is on. Two at once are refused.
macro_rules! engine_of_this_build {
    ($feature:literal $engine:ty, $($rest_feature:literal $rest:ty,)*) => {
        /// The engine of this build.
        #[cfg(feature = $feature)]
        pub type Engine = $engine;

        $(#[cfg(all(feature = $feature, feature = $rest_feature))]
        compile_error!(concat!(
            "the features `", $feature, "` and `", $rest_feature, "` exclude each other: a build has one matching engine"
        ));)*

        #[cfg(not(feature = $feature))]
        engine_of_this_build! { $($rest_feature $rest,)* }
    };
    () => {
        /// The engine of this build.
        pub type Engine = Indexed;
    };
}

/// Makes the list of engines from lines `Choice Engine, "feature";`.
macro_rules! engines {
    ($($(#[$doc:meta])* $choice:ident $engine:ty, $feature:literal;)*) => {
        /// An engine, by its name.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
        pub enum Choice {
            $($(#[$doc])* $choice,)*
            /// [`Indexed`], the engine of a build without a feature.
            #[default]
            Default,
        }

        impl Choice {
            /// All of them.
            pub const ALL: &[Choice] = &[$(Choice::$choice,)* Choice::Default];

            /// What users call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Choice::$choice => <$engine as Matching>::NAME,)*
                    Choice::Default => <Indexed as Matching>::NAME,
                }
            }

            /// The engine that users call `name`.
            pub fn named(name: &str) -> Option<Choice> {
                let is_it = |choice: &&Choice| choice.name() == name;
                Choice::ALL.iter().find(is_it).copied()
            }

            /// The feature of this crate, and of `kernel-rt`, that makes it the engine of a build; `None` for the
            /// default one.
            pub const fn feature(self) -> Option<&'static str> {
                match self {
                    $(Choice::$choice => Some($feature),)*
                    Choice::Default => None,
                }
            }

            /// Does something with this engine.
            pub fn with<W: WithEngine>(self, what: W) -> W::Output {
                match self {
                    $(Choice::$choice => what.run::<$engine>(),)*
                    Choice::Default => what.run::<Indexed>(),
                }
            }
        }

        engine_of_this_build! { $($feature $engine,)* }
    };
}

engines! {
    /// [`Lists`].
    List Lists, "matching-list";
    /// [`PerRank`].
    Array PerRank, "matching-array";
    /// [`FourD`].
    FourD FourD, "matching-fourd";
    /// [`Pnp`].
    Pnp Pnp, "matching-pnp";
    /// [`Col`].
    Col Col, "matching-col";
    /// [`Unified`].
    Unified Unified, "matching-unified";
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Name;

    impl WithEngine for Name {
        type Output = &'static str;

        fn run<E: Matching>(self) -> &'static str {
            E::NAME
        }
    }

    #[test]
    fn engines_are_known_by_their_names_and_features() {
        for &choice in Choice::ALL {
            let name = choice.name();
            assert_eq!(Choice::named(name), Some(choice));
            assert_eq!(choice.with(Name), name);
            let feature = format!("matching-{name}");
            match choice.feature() {
                Some(its) => assert_eq!(its, feature),
                None => assert_eq!(choice, Choice::default()),
            }
        }
        assert_eq!(Choice::named("Fourd"), None);
    }

    /// The tests of a build without features are those of the default engine.
    #[test]
    fn a_build_has_the_engine_of_its_feature() {
        let features = [
            (cfg!(feature = "matching-list"), Choice::List),
            (cfg!(feature = "matching-array"), Choice::Array),
            (cfg!(feature = "matching-fourd"), Choice::FourD),
            (cfg!(feature = "matching-pnp"), Choice::Pnp),
            (cfg!(feature = "matching-col"), Choice::Col),
            (cfg!(feature = "matching-unified"), Choice::Unified),
        ];
        let on = features.into_iter().find(|(on, _)| *on);
        let choice = on.map_or(Choice::Default, |(_, choice)| choice);
        assert_eq!(Engine::NAME, choice.name());
    }
}
