//! Tests of the proxy and its client.

use super::*;

#[tokio::test]
async fn it_connects_to_the_hosts_that_it_alone_knows() {
    let redis = Redis::start();
    let socks = Socks::new();
    let proxy = socks.port();
    assert!(!socks.carries_all(&redis), "there is no connection");
    let host = String::from("somewhere.test");
    let stream = connect(proxy, host, redis.port()).await.unwrap();
    let mut stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
        .write_all(b"CLIENT SETNAME auto_mutex:x\r\n")
        .unwrap();
    assert_eq!(read(&mut stream).unwrap(), *b"+OK\r\n");
    assert!(socks.carries_all(&redis));
    assert_eq!(socks.asked(), [format!("somewhere.test:{}", redis.port())]);
    let direct = redis.connect().call(&["CLIENT", "SETNAME", "other"]);
    drop(direct);
    assert!(socks.carries_all(&redis), "a connection of somebody else");
    let mut direct = redis.connect();
    direct.call(&["CLIENT", "SETNAME", "auto_mutex:y"]);
    assert!(!socks.carries_all(&redis));
    socks.cut();
    assert_eq!(stream.read(&mut [0]).unwrap_or_default(), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_refused() {
    let gone = Redis::start().port();
    let error = connect(Socks::new().port(), "a.test".to_owned(), gone).await;
    assert!(error.is_err());
}
