//! Tests of schedules: their steps, and the combined results of all ranks.

mod boxes;
mod inter;
mod interpreter;
mod results;
mod steps;
