"""Python's libraries as a worker of the benchmarks: the job in the last argument, the protocol of
benches/src/worker/mod.rs, the records of benches/src/measure/record.rs. A task is a thread."""

import array
import json
import sys
import threading
import time

import redis

LEASE_S = 10
job = json.loads(sys.argv[-1])
now = time.monotonic_ns


def redis_py(client, key):
    return client.lock(key, timeout=LEASE_S)


def python_redis_lock(client, key):
    import redis_lock

    return redis_lock.Lock(client, key, expire=LEASE_S)


LIBRARIES = {"python-redis": redis_py, "python-redis-lock": python_redis_lock}


def task(client, key, start, until, out):
    make = LIBRARIES[job["contender"]]
    time.sleep(max(0, start - now()) / 1e9)
    while True:
        asked = now()
        if asked >= until:
            return
        lock = make(client, key)
        lock.acquire()
        entered = now()
        if job["body_us"]:
            time.sleep(job["body_us"] / 1e6)
        left = now()
        lock.release()
        out.extend((asked, entered, left, now(), 1))


def main():
    client = redis.Redis.from_url(job["url"])
    client.ping()
    print("ready null", flush=True)
    words = sys.stdin.readline().split()
    if not words:
        sys.exit(1)
    start, until = int(words[1]), int(words[2])
    outs = [array.array("Q") for _ in range(job["tasks"])]
    threads = [
        threading.Thread(
            target=task,
            args=(client, f"bench:{0 if job['one_key'] else number}", start, until, out),
        )
        for number, out in enumerate(outs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(job["out"], "wb") as file:
        for out in outs:
            array.array("Q", [len(out) // 5]).tofile(file)
            out.tofile(file)
    print("done null", flush=True)


main()
