//! [`Server`]: a thread that owns the names, and a way to reach it.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::UNIX_EPOCH;

use auto_mutex_seam::store::{
    Answer, Env, LIMITS, MemberId, Message, Name, NameRecord, Request, State, lock,
};
use tokio::sync::mpsc::UnboundedSender;

/// What clients send to the server.
pub(crate) enum Job {
    /// A member listens from now on.
    Join(MemberId, UnboundedSender<Said>),
    Leave(MemberId),
    Run(MemberId, Request),
    /// For an operator.
    Read(UnboundedSender<Read>),
}

/// The server's time, and all names with their states.
pub(crate) type Read = (u64, Vec<(Name, NameRecord)>);

/// What the server sends to a member.
pub(crate) enum Said {
    Answer(Answer),
    Message(Name, Message),
}

#[derive(Clone)]
pub(crate) struct Server(Sender<Job>);

impl Server {
    /// The server of this name, which runs until the process ends.
    pub(crate) fn named(name: &str) -> Self {
        static SERVERS: LazyLock<Mutex<HashMap<String, Server>>> = LazyLock::new(Mutex::default);
        let start = || {
            let (sender, jobs) = channel();
            thread::spawn(|| serve(jobs));
            Self(sender)
        };
        let mut servers = lock(&SERVERS);
        servers.entry(name.to_owned()).or_insert_with(start).clone()
    }

    pub(crate) fn send(&self, job: Job) {
        // The thread runs as long as the process. A real server may be gone: see `Store::submit`.
        let _ = self.0.send(job);
    }
}

fn serve(jobs: Receiver<Job>) {
    let mut names: HashMap<Name, State> = HashMap::new();
    let mut members: HashMap<MemberId, UnboundedSender<Said>> = HashMap::new();
    let mut now = 0;
    for job in jobs {
        // A store's clock never goes back, whatever happens to that of the machine.
        let clock = UNIX_EPOCH.elapsed().map_or(0, |time| time.as_micros());
        now = now.max(clock as u64);
        match job {
            Job::Join(member, outbox) => drop(members.insert(member, outbox)),
            Job::Leave(member) => drop(members.remove(&member)),
            Job::Run(member, request) => {
                let name = request.name.clone();
                let env = Env {
                    now,
                    grants_from: 0,
                    member,
                    limits: &LIMITS,
                    hears: &|to| members.get(&to).is_some_and(|to| !to.is_closed()),
                };
                let mut messages = Vec::new();
                let state = names.entry(name.clone()).or_default();
                let reply = state.on(&request.op, &env, &mut messages);
                for (to, message) in messages {
                    if let Some(to) = members.get(&to) {
                        let _ = to.send(Said::Message(name.clone(), message));
                    }
                }
                if now >= state.kept_until(&LIMITS) {
                    names.remove(&name);
                }
                let result = Ok(reply);
                if let Some(member) = members.get(&member) {
                    let _ = member.send(Said::Answer(Answer { request, result }));
                }
            }
            Job::Read(reply) => {
                let names = names.iter();
                let read =
                    |(name, state): (&Name, &State)| (name.clone(), state.inspect(now, 0, &LIMITS));
                let all = names.map(read).collect();
                let _ = reply.send((now, all));
            }
        }
    }
}
