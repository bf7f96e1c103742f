"""A worker of the tests (see tests/src/worker/mod.rs) that uses the Python client: worker.py URL LEASE_MS

Of the commands it knows `lock NAME [BLOCK_MS]`, `try`, `check`, `unlock`, `contest mutex …`, `enough` and `return`.
"""
import os
import random
import socket
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "examples" / "python"))
from auto_mutex import Client, LockLost, command, read  # noqa: E402

output = threading.Lock()


def say(line):
    with output:
        print(line, flush=True)


class Witness:
    """The reports of one task: see tests/src/witness/section.rs."""

    def __init__(self, port, who, name):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.file, self.who, self.name, self.evidence = self.socket.makefile("rb"), who, name, ""
        folder = ROOT / "tests" / "src" / "witness"
        register = (folder / "register.lua").read_text()
        self.scripts = {what: register + (folder / f"{what}.lua").read_text() for what in ("enter", "leave")}

    def call(self, *words):
        self.socket.sendall(command(*words))
        return read(self.file)

    def report(self, what, token):
        keys = ["witness:log", "witness:inside", "witness:progress", f"witness:register:{self.name}"]
        evidence, self.evidence = (self.evidence, "") if what == "enter" else ("", self.evidence)
        now, taken = self.call("EVAL", self.scripts[what], len(keys), *keys, self.who, evidence,
                               self.name, f"{token:020}", 1, 1)
        return now, taken == 1

    def testify(self, entered, left, token):
        self.evidence = f"held {self.who} {entered} {left} {self.name}/{token:020}/1/1"

    def flush(self):
        if self.evidence:
            self.call("RPUSH", "witness:log", self.evidence)


def section(guard, witness, who):
    entered, taken = witness.report("enter", guard.token)
    if is_held(guard) and not taken:
        say(f"violation {who} the register refused a holder that still believes, at {entered}")
    if random.random() < 0.5:
        time.sleep(random.random() * 0.002)
    left, taken = witness.report("leave", guard.token)
    if not is_held(guard):
        say(f"lost {who}")
    elif taken:
        witness.testify(entered, left, guard.token)
    else:
        say(f"violation {who} the register refused the last write of a holder that still believes, at {left}")


def is_held(guard):
    try:
        guard.check()
    except LockLost:
        return False
    return True


def compete(client, name, number, until, over, port):
    who = f"{os.getpid()}/{number}"
    witness = Witness(port, who, name)
    turns, cancelled, last, longest = 0, 0, 0, 0.0
    while not turns or not (over.is_set() or time.monotonic() >= until):
        asked = time.monotonic()
        try:
            with client.lock(name, random.random() * 0.005 + 1e-6 if random.random() < 1 / 16 else None) as guard:
                turns, longest = turns + 1, max(longest, time.monotonic() - asked)
                if guard.token <= last:
                    say(f"violation {who} the token did not grow")
                last = guard.token
                section(guard, witness, who)
        except TimeoutError:
            cancelled += 1
    witness.flush()
    say(f"task {who} turns={turns} longest_ms={longest * 1000:.0f} unavailable=0 timeouts=0 cancelled={cancelled} "
        "deadlocks=0")


def contest(client, over, name, millis, tasks, port):
    say("begun")
    until = time.monotonic() + int(millis) / 1000
    tasks = [threading.Thread(target=compete, args=(client, name, number, until, over, int(port)))
             for number in range(int(tasks))]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    say("done")


def lock(client, guards, name, timeout):
    try:
        guard = client.lock(name, timeout)
    except TimeoutError as error:
        say(f"busy {name}" if timeout == 0 else f"failed {name} Timeout {error}")
    except Exception as error:
        say(f"failed {name} {type(error).__name__} {error}")
    else:
        guards[name] = guard
        say(f"got {name} {guard.token}")


def main(url, lease_ms):
    client, guards, over = Client(url, int(lease_ms) / 1000, "suite"), {}, threading.Event()
    say("ready")
    for line in sys.stdin:
        what, *words = line.split()
        if what in ("lock", "try"):
            timeout = 0 if what == "try" else int(words[1]) / 1000 if words[1:] else None
            threading.Thread(target=lock, args=(client, guards, words[0], timeout), daemon=True).start()
        elif what == "check":
            say(f"{'held' if is_held(guards[words[0]]) else 'lost'} {words[0]}")
        elif what == "unlock":
            say(f"unlocked {words[0]} {str(guards.pop(words[0]).unlock()).lower()}")
        elif what == "contest" and words[0] == "mutex":
            arguments = (client, over, *words[1:5])
            threading.Thread(target=contest, args=arguments).start()
        elif what == "enough":
            over.set()
        elif what == "return":
            break
        else:
            say(f"failed command {line!r}")
    client.__exit__()


main(*sys.argv[1:])
