//! What the provider for adapters does if there is no adapter.
#![cfg(feature = "rdma")]
#![allow(clippy::unwrap_used, reason = "a failed expectation fails the test")]

use std::path::Path;

use rpcrdma_verbs::Error;
use rpcrdma_verbs::rdma::Device;

#[test]
fn without_an_adapter_it_is_said_that_there_is_none_and_where_to_look() {
    if Path::new("/sys/class/infiniband").read_dir().is_ok_and(|mut all| all.next().is_some()) {
        eprintln!("not tested: this computer has an adapter");
        return;
    }
    let somebody = "192.0.2.1:20049".parse().unwrap();
    let tries = [
        Device::first(),
        Device::named("mlx5_0"),
        Device::with_address([127, 0, 0, 1].into()),
        Device::towards(somebody),
    ];
    for tried in tries {
        let error = tried.unwrap_err();
        assert_eq!(error, Error::NoAdapter);
        assert!(error.to_string().contains("`rdma link`"), "{error}");
    }
    assert_eq!(Device::names(), Err(Error::NoAdapter));
}
