//! Schedules by themselves: their steps, and what all ranks' steps together come to.

mod boxes;
mod inter;
mod interpreter;
mod results;
mod steps;
