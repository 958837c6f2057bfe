//! Parts of the program whose tests are beside them. They are compiled into this program with their tests, so that not the whole program
//! has to be.

#[path = "../../src/commands/embedded.rs"]
mod embedded;
#[path = "../../src/commands/pasteable.rs"]
mod pasteable;
#[path = "../../src/spool.rs"]
#[allow(dead_code, reason = "the tests use part of it")]
mod spool;
// Elsewhere it is part of the program, and needs more of it.
#[cfg(unix)]
#[path = "../../src/live/threaded.rs"]
mod threaded;
