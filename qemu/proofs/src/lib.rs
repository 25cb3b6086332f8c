//! Proofs of the protocols for any number of messages, nodes and restarts.
//!
//! A *model* is a text file in `models`: state variables, steps with named guards, and an invariant as a list of named
//! clauses. It has two interpretations. [`prove`] writes it as SMT-LIB 2 for a solver. [`state`] evaluates the same
//! formulas on a concrete state, so that an explorer can check that the code behaves as its model.
//!
//! ```text
//!   models/*.model -> model.rs (statements)  -> prove.rs (obligations) -> smt.rs -> solver.rs (z3, cvc5)
//!                     expr.rs (formulas)     -> state.rs (values of a state)
//! ```
//!
//! # Proof method
//! A state variable is an integer, a boolean, or a function from an index (a message, a node) to either. A step
//! changes a function at single indexes only. A clause holds for all values of its variables. A solver sees no quantifier:
//! the negated conclusion has constants for its variables, and the hypotheses are instantiated for all indexes that
//! occur in the query. Fewer hypotheses can only make a proof fail, so that each proof is one for all indexes.
#![forbid(unsafe_code)]

pub mod expr;
pub mod model;
pub mod models;
pub mod prove;
mod smt;
pub mod solver;
pub mod state;
