//! In-process cluster: N nodes, one process, virtual time, one seed.
