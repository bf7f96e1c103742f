//! Scripts of Redis.

use std::sync::LazyLock;
use std::time::Duration;

use auto_mutex_fence::{FenceError, FencedScript, Token};
use auto_mutex_tests::events::eventually;
use auto_mutex_tests::redis::{Options, Redis};
use redis::Connection;

use crate::{stale, token};

static SERVER: LazyLock<Redis> = LazyLock::new(Redis::start);

fn connect(server: &Redis) -> Connection {
    let client = redis::Client::open(server.url()).unwrap();
    client.get_connection().unwrap()
}

fn set() -> FencedScript {
    FencedScript::new("return redis.call('SET', KEYS[1], ARGV[1])")
}

fn write(db: &mut Connection, key: &str, number: u64) -> Result<(), FenceError> {
    Ok(set().call(&token(number), key)?.arg(number).invoke(db)?)
}

fn get(db: &mut Connection, key: &str) -> Option<String> {
    redis::cmd("GET").arg(key).query(db).unwrap()
}

#[test]
fn a_stale_script_does_not_run_and_the_same_holder_can_again() {
    let mut db = connect(&SERVER);
    write(&mut db, "again", 9).unwrap();
    write(&mut db, "again", 10).unwrap();
    assert_eq!(stale(write(&mut db, "again", 9)), (9, 10));
    assert_eq!(get(&mut db, "again").unwrap(), "10");
    write(&mut db, "again", 10).unwrap();
    let fence = get(&mut db, "auto-mutex:fence:{again}:shop:report");
    assert_eq!(fence.unwrap(), "10");
}

/// A number of Lua can't tell these apart.
#[test]
fn the_longest_tokens_are_told_apart() {
    let mut db = connect(&SERVER);
    let mut write = |number| write(&mut db, "long", number);
    let (first, last) = ((1 << 53) + 1, i64::MAX.unsigned_abs());
    for (older, newer) in [(first - 1, first), (first, first + 1), (last - 1, last)] {
        write(newer).unwrap();
        assert_eq!(stale(write(older)), (older, newer));
    }
    assert!(matches!(write(last + 1), Err(FenceError::Invalid { .. })));
}

#[tokio::test]
async fn a_script_has_its_own_keys_and_arguments_and_several_locks() {
    let client = redis::Client::open(SERVER.url()).unwrap();
    // The server may take its time.
    let patient = redis::AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    let mut db = client
        .get_multiplexed_async_connection_with_config(&patient)
        .await
        .unwrap();
    let echo = FencedScript::new("#!lua\nreturn {#KEYS, KEYS[2], #ARGV, ARGV[2]}");
    let run = async |tokens: &[Token], db: &mut _| {
        let mut call = echo.call(tokens, "{own}:1")?;
        call.key("{own}:2").arg("one").arg("two");
        let echoed: Result<(u32, String, u32, String), _> = call.invoke_async(db).await;
        echoed.map_err(FenceError::from)
    };
    let other = |number| Token::new("other {name}", number);
    for tokens in [[other(5), token(7)], [token(7), other(6)]] {
        let echoed = run(&tokens, &mut db).await.unwrap();
        assert_eq!(echoed, (2, "{own}:2".to_owned(), 2, "two".to_owned()));
    }
    // One of them is stale: the other is not kept either.
    match run(&[other(5), token(8)], &mut db).await {
        Err(FenceError::Stale { name, .. }) => assert_eq!(name, "other {name}"),
        refused => panic!("{refused:?}"),
    }
    run(&[token(7), other(6)], &mut db).await.unwrap();
}

#[test]
fn an_error_of_the_script_is_no_refusal_and_has_its_own_line() {
    let mut db = connect(&SERVER);
    let broken = FencedScript::new("-- the first line\nreturn redis.call('NONE')");
    let call = broken.call(&token(1), "broken").unwrap();
    let result: Result<(), _> = call.invoke(&mut db).map_err(FenceError::from);
    let text = result.as_ref().unwrap_err().to_string();
    assert!(text.contains("user_script:2"), "{text}");
    refused!(result, Script);
    refused!(write(&mut db, "a}b", 1), Invalid);
}

#[test]
fn a_token_is_kept_for_ever_or_as_long_as_it_is_told() {
    let mut db = connect(&SERVER);
    let mut expires = |script: FencedScript| -> i64 {
        let mut call = script.call(&token(1), "kept").unwrap();
        call.arg(1).invoke::<()>(&mut db).unwrap();
        let key = "auto-mutex:fence:{kept}:shop:report";
        redis::cmd("TTL").arg(key).query(&mut db).unwrap()
    };
    assert_eq!(expires(set()), -1);
    assert!((86_000..=86_400).contains(&expires(set().keep_for(Duration::from_secs(86_400)))));
}

/// A node of a cluster refuses a script with keys in several slots.
#[test]
fn the_tokens_are_in_the_slot_of_the_first_key() {
    let server = Redis::with(Options::default().cluster());
    let slots: Vec<_> = (0..16384).map(|slot| slot.to_string()).collect();
    let slots = slots.iter().map(String::as_str);
    let add = ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots);
    server.command(&add.collect::<Vec<_>>());
    eventually("the cluster is up", || {
        let info = server.command(&["CLUSTER", "INFO"]);
        info.text().contains("cluster_state:ok")
    });
    let mut db = connect(&server);
    for key in "plain {tag}:key a{tag}b}c {open ключ foo{{bar}}zap".split(' ') {
        write(&mut db, key, 2).unwrap_or_else(|error| panic!("{key}: {error:?}"));
        assert_eq!(stale(write(&mut db, key, 1)), (1, 2), "{key}");
    }
}
