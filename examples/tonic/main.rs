//! A gRPC service with the attribute: one lock per account, and the client of the service instead of a global one.
//!
//! The program starts a server on a free port, sends itself some calls at the same time, and ends.
//!
//! `cargo run -p auto-mutex-example-tonic --example tonic_service`

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use auto_mutex::tower::ScopeLayer;
use auto_mutex::{Client, LockError, auto_mutex};
use auto_mutex_examples::store;
use tokio::sync::oneshot;
use tokio::time::sleep;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

/// What `build.rs` has generated.
#[allow(missing_docs, unreachable_pub)]
mod bank {
    include!(concat!(env!("OUT_DIR"), "/bank.Bank.rs"));
}

use bank::bank_client::BankClient;
use bank::bank_server::{Bank, BankServer};

#[derive(Clone, PartialEq, prost::Message)]
struct Deposit {
    #[prost(uint32, tag = "1")]
    account: u32,
    #[prost(uint32, tag = "2")]
    amount: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Balance {
    #[prost(uint32, tag = "1")]
    balance: u32,
}

/// Why a call could not be served.
enum Refusal {
    Locking(LockError),
    NoSuchAccount,
}

impl From<LockError> for Refusal {
    fn from(error: LockError) -> Self {
        Self::Locking(error)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchAccount => Self::not_found("no such account"),
            Refusal::Locking(error) => {
                // The error names hosts, addresses and files: they are for the log, not for clients.
                eprintln!("refused: {error}");
                let text = error.public_message();
                if error.is_timeout() {
                    Self::aborted(text)
                } else {
                    Self::unavailable(text)
                }
            }
        }
    }
}

/// Two accounts; in a real program, rows of a database.
#[derive(Default)]
struct Accounts {
    balances: [AtomicU32; 2],
}

impl Accounts {
    /// Calls for the same account take turns, on all machines. Calls for different accounts do not wait for each other.
    #[auto_mutex(block = 30, key = "{deposit.account}")]
    async fn add(&self, deposit: Deposit) -> Result<Balance, Refusal> {
        let balance = self.balances.get(deposit.account as usize);
        let balance = balance.ok_or(Refusal::NoSuchAccount)?;
        let before = balance.load(Ordering::Relaxed);
        // Without the lock, another call could change the balance during this sleep, and its update would be lost.
        sleep(Duration::from_millis(20)).await;
        balance.store(before + deposit.amount, Ordering::Relaxed);
        Ok(Balance {
            balance: before + deposit.amount,
        })
    }
}

#[tonic::async_trait]
impl Bank for Accounts {
    async fn deposit(&self, request: Request<Deposit>) -> Result<Response<Balance>, Status> {
        Ok(Response::new(self.add(request.into_inner()).await?))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::connect_async(store("bank")?).await?;

    let incoming = TcpIncoming::bind("127.0.0.1:0".parse()?)?;
    let address = format!("http://{}", incoming.local_addr()?);
    println!("listening on {address}");
    let (stop, stopping) = oneshot::channel::<()>();
    let server = Server::builder()
        .layer(ScopeLayer::new(client.clone()))
        .add_service(BankServer::new(Accounts::default()))
        .serve_with_incoming_shutdown(incoming, async {
            let _ = stopping.await;
        });
    let server = tokio::spawn(server);

    let bank = BankClient::connect(address).await?;
    let deposits = (1..=5).flat_map(|amount| [0, 1].map(|account| Deposit { account, amount }));
    let calls: Vec<_> = deposits
        .map(|deposit| {
            let mut bank = bank.clone();
            tokio::spawn(async move { bank.deposit(deposit).await })
        })
        .collect();
    for call in calls {
        println!("  balance {}", call.await??.into_inner().balance);
    }
    let none = Deposit {
        account: 2,
        amount: 1,
    };
    let refused = bank.clone().deposit(none).await.expect_err("no account");
    println!("  {}: {}", refused.code(), refused.message());
    let mut balances = [0; 2];
    for account in [0, 1] {
        let deposit = Deposit { account, amount: 0 };
        let balance = bank.clone().deposit(deposit).await?.into_inner().balance;
        balances[account as usize] = balance;
    }
    println!("five deposits of 1 to 5 on each account: {balances:?}");

    // As at SIGTERM: answer the last call, then give the locks back.
    drop((stop, bank));
    server.await??;
    println!("{}", client.drain("10s").await?);
    if balances == [15, 15] {
        Ok(())
    } else {
        Err("a deposit was lost".into())
    }
}
