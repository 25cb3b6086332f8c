//! Small calls over the device, for programs of the cluster's own tests: bytes, one context.
