//! Packet scripts, by topic: two or three devices, and a network in which nothing moves unless the script says so
//! ([`rig`]).

mod answers;
mod asked;
mod at_once;
mod barrier;
mod bcopy;
mod cancels;
mod chains;
mod contexts;
mod copies;
mod counts;
mod eager;
mod heap;
mod hostile;
mod leaving;
mod matched;
mod names;
mod oneself;
mod order;
mod probes;
mod refused;
mod requests;
mod restarts;
mod rig;
mod several;
mod unexpected;
