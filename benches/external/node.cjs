// A benchmark worker for Node's libraries. The job is the last argument; benches/src/worker/mod.rs defines the protocol,
// and benches/src/measure/record.rs the records.
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const Redis = require('ioredis');

const LEASE_MS = 10000;
const job = JSON.parse(process.argv[process.argv.length - 1]);
const now = () => process.hrtime.bigint();

const libraries = {
  'node-redis-semaphore': (redis) => {
    const { Mutex } = require('redis-semaphore');
    return (key) => {
      const mutex = new Mutex(redis, key, { lockTimeout: LEASE_MS, acquireTimeout: 60000 });
      return { acquire: () => mutex.acquire(), release: () => mutex.release() };
    };
  },
  'node-redlock': (redis) => {
    const Redlock = require('redlock');
    const manager = new Redlock([redis], { retryCount: 1000 });
    return (key) => ({
      acquire: () => manager.lock(key, LEASE_MS),
      release: (lock) => lock.unlock(),
    });
  },
};

async function task(lock, until) {
  const records = [];
  for (;;) {
    const asked = now();
    if (asked >= until) return records;
    const held = await lock.acquire();
    const entered = now();
    if (job.body_us > 0) await new Promise((done) => setTimeout(done, job.body_us / 1000));
    const left = now();
    await lock.release(held);
    records.push([asked, entered, left, now(), 1n]);
  }
}

async function main() {
  const redis = new Redis(job.url);
  await redis.ping();
  const make = libraries[job.contender](redis);
  const locks = Array.from({ length: job.tasks }, (_, n) => make(`bench:${job.one_key ? 0 : n}`));
  const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  console.log('ready null');
  const { value: line, done } = await lines.next();
  if (done) return process.exit(1);
  const [, start, until] = line.split(' ').map((word) => (/^\d+$/.test(word) ? BigInt(word) : word));
  await new Promise((go) => setTimeout(go, Number(start - now()) / 1e6));
  const tasks = await Promise.all(locks.map((lock) => task(lock, until)));
  const words = tasks.flatMap((records) => [BigInt(records.length), ...records.flat()]);
  fs.writeFileSync(job.out, Buffer.from(BigUint64Array.from(words).buffer));
  console.log('done null');
  process.exit(0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
