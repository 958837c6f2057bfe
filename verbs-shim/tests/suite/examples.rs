//! The examples of a client and a server, run against each other.

#[path = "../../examples/loopback.rs"]
#[allow(dead_code, reason = "it has a main of its own")]
mod loopback;

#[test]
fn the_example_client_is_answered_by_the_example_server() {
    assert_eq!(loopback::two_and_three().unwrap(), 5);
}
