"""A mutex that Python and Rust programs share: a small client for the protocol of auto-mutex on Redis.

    with Client("redis://127.0.0.1:6379", namespace="shop") as client:
        with client.lock("orders", timeout=5) as guard:
            save(fencing_token=guard.token)

An example, not a product: see README.md. Words in quotation marks are sections of docs/protocol.md.
"""
import hashlib
import os
import socket
import struct
import sys
import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import unquote, urlsplit

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "vectors"
EPOCH = 2.0  # how often the client asks for the server's epoch, in seconds; so the server is never silent for long
ASKING, WAITING, HOLDING, LEAVING, OVER = "asking", "waiting", "holding", "leaving", "over"


class LockLost(Exception):
    """The lock is no longer held: it was not renewed in time, or somebody has broken it."""


def now():  # in seconds, on a clock that keeps running while the machine sleeps
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def escape(text, also=""):
    return "".join(chr(b) if 32 < b < 127 and chr(b) not in "{}%" + also else f"%{b:02X}" for b in text.encode())


def lock_name(name, namespace=None):
    return escape(name) if namespace is None else f"{escape(namespace, ':')}:{escape(name)}"


# Operations as the script reads them: "A call of the script". `ids`: the ticket and the member, 16 bytes each.
def encode_acquire(ids, counter, hold_ms, place_ms, units, capacity, takes, retain, meta, waits=True):
    kind, rest = 64 + takes + 2 * retain + (0 if waits else 8), struct.pack("<III", place_ms, units, capacity)
    if (place_ms, units, capacity) == (hold_ms, 1, 1):
        return ids + struct.pack("<BII", kind, counter, hold_ms) + meta.encode()
    return ids + struct.pack("<BII", kind + 16, counter, hold_ms) + rest + meta.encode()


def encode_touch(ids, counter, hold_ms, place_ms, units, retain):
    rest = struct.pack("<IIB", place_ms, units, retain) if (place_ms, units, retain) != (hold_ms, 0, 0) else b""
    return ids + struct.pack("<cII", b"t", counter, hold_ms) + rest


def encode_release(ids, park_ms, used, tomb):
    return ids + (struct.pack("<cIdB", b"r", park_ms, used, tomb) if park_ms or used or tomb else b"")


def encode_until(opens):
    return struct.pack("<cd", b"u", opens)


def command(*words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def read(file):  # the next RESP3 value; a push is a tuple
    line = file.readline()
    kind, text = line[:1], line[1:-2].decode()
    if kind == b"$" and text != "-1":
        line = file.read(int(text) + 2)
    if not line.endswith(b"\r\n"):
        raise ConnectionError("the server has closed the connection")
    if kind == b"$":
        return None if text == "-1" else line[:-2].decode(errors="replace")
    if kind == b"%":
        return {read(file): read(file) for _ in range(int(text))}
    if kind in b"*>":
        return (tuple if kind == b">" else list)(read(file) for _ in range(int(text)))
    return int(text) if kind == b":" else RuntimeError(text) if kind == b"-" else text


class Ticket(AbstractContextManager):
    """One request for a lock; for the caller, the guard. Its state says what the client sends for it."""

    def __init__(self, client, name, waits, meta):
        self.client, self.name, self.waits, self.meta = client, name, waits, meta
        self.valid_until, self.error = 0.0, None
        self.renew()

    def renew(self):
        self.id, self.state, self.counter, self.token = os.urandom(16).hex(), ASKING, 0, 0
        self.told = (0, 0)  # the counter and the token of the last grant that came as a message
        self.sent = {}  # counter -> when that request was sent
        self.is_unanswered = self.is_late = False  # an acquire has no answer: yet, or from an earlier connection
        self.client.tickets[self.id] = self

    def check(self):
        if now() >= self.valid_until:
            raise LockLost(self.name)

    def unlock(self):  # returns whether the lock was held until now
        with self.client.changed:
            was_held = now() < self.valid_until
            self.client.leave(self)
        return was_held

    def __exit__(self, *_):
        self.unlock()


class Client(AbstractContextManager):
    def __init__(self, url, lease=10.0, namespace=None, scripts=SCRIPTS):
        self.url, self.lease, self.namespace = urlsplit(url), lease, namespace
        texts = [(scripts / file).read_bytes() for file in ("operations.lua", "epoch.lua")]
        self.scripts = {hashlib.sha1(text).hexdigest(): text for text in texts}
        self.member = os.urandom(16).hex()
        self.changed = threading.Condition(threading.RLock())  # guards what follows
        self.tickets, self.pending = {}, []  # pending: what gets the replies, in order
        self.is_closed, self.cut_since, self.trouble = False, now(), None
        self.opens, self.closed_until, self.epoch = 0, 0.0, ("", 0, 0, 0)
        self.connect()
        for work in (self.read_replies, self.keep_time):
            threading.Thread(target=work, daemon=True).start()

    def lock(self, name, timeout=None):
        """Waits in the order of arrival, or not at all if `timeout` is 0. Raises TimeoutError or ConnectionError."""
        end, caller = now() + (timeout or float("inf")), sys._getframe(1)
        site = escape(f"{caller.f_code.co_name} at {caller.f_code.co_filename}:{caller.f_lineno}", "+")
        meta = f"{escape(socket.gethostname(), ':')} {os.getpid()} {site.replace('%20', '+')}"
        with self.changed:
            ticket = Ticket(self, lock_name(name, self.namespace), timeout != 0, meta)
            try:
                self.request(ticket)
                while ticket.state in (ASKING, WAITING) and now() < end:
                    if self.cut_since and now() - self.cut_since > self.lease:
                        raise ConnectionError(f"no server: {self.trouble}")
                    self.changed.wait(min(end - now(), self.lease / 3))
                if ticket.state != HOLDING:
                    raise ticket.error or (LockLost if ticket.state == LEAVING else TimeoutError)(ticket.name)
            except BaseException:
                self.leave(ticket)
                raise
        return ticket

    def __exit__(self, *_):  # releases everything, and waits half a second at most for the answers
        with self.changed:
            for ticket in list(self.tickets.values()):
                self.leave(ticket)
            self.changed.wait_for(lambda: not self.tickets, 0.5)
            self.is_closed = True
            self.send(lambda _: None, "QUIT")

    def connect(self):
        self.socket = socket.create_connection((self.url.hostname, self.url.port or 6379), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        user, password = unquote(self.url.username or "default"), unquote(self.url.password or "")
        self.ask("HELLO", 3, *(["AUTH", user, password] if password else []), "SETNAME", f"auto_mutex:{self.member}")
        for digest, is_known in zip(self.scripts, self.ask("SCRIPT", "EXISTS", *self.scripts)):
            if not is_known:
                self.ask("SCRIPT", "LOAD", self.scripts[digest])
        try:
            self.lag = int(self.ask("CONFIG", "GET", "min-replicas-max-lag")["min-replicas-max-lag"])
        except (RuntimeError, KeyError):
            self.lag = 10  # the user has no right to it
        self.read_epoch(self.ask(*self.epoch_query()))
        self.socket.sendall(command("SUBSCRIBE", f"auto_mutex:member:{self.member}"))
        self.ask("PING")  # its answer comes after the confirmation of the subscription
        with self.changed:
            self.cut_since, self.next_epoch, self.pending = None, now() + EPOCH, []
            for ticket in list(self.tickets.values()):  # "Renewal": all of them, at once
                ticket.is_late = ticket.is_late or ticket.is_unanswered
                self.request(ticket)

    def ask(self, *words):  # only while nothing else is in flight
        self.socket.sendall(command(*words))
        while isinstance(reply := read(self.file), tuple):
            pass
        if isinstance(reply, RuntimeError):
            raise reply
        return reply

    def read_replies(self):
        while not self.is_closed:
            try:
                if self.cut_since:
                    self.connect()
                value = read(self.file)
                with self.changed:
                    self.hear(value) if isinstance(value, tuple) else self.pending.pop(0)(value)
            except (OSError, RuntimeError, ValueError) as error:
                with self.changed:
                    self.cut_since, self.trouble = self.cut_since or now(), error
                self.socket.close()
                time.sleep(min(0.05 + (now() - self.cut_since) / 2, 2) * (os.urandom(1)[0] / 256 + 0.5))  # with jitter

    def keep_time(self):
        with self.changed:
            while not self.is_closed:
                if not self.cut_since and now() >= self.next_epoch:
                    self.next_epoch = now() + EPOCH
                    self.send(self.read_epoch, *self.epoch_query())
                for ticket in list(self.tickets.values()):
                    if now() >= ticket.due:
                        self.request(ticket)
                self.changed.wait(max(0.0, min([1.0] + [ticket.due - now() for ticket in self.tickets.values()])))

    def send(self, answered, *words):
        self.pending.append(answered)
        try:
            self.socket.sendall(command(*words))
        except OSError as error:
            self.cut_since, self.trouble = now(), error  # the reader connects again

    # From when on the server grants: "Restart and failover".
    def epoch_query(self):
        lease_ms, lag_ms = max(30_000, int(self.lease * 1000)), (self.lag + 2) * 1000
        return ["EVALSHA", list(self.scripts)[1], 1, "auto_mutex:epoch", lease_ms, lag_ms, 0, 0, *self.epoch]

    def read_epoch(self, reply):
        if isinstance(reply, RuntimeError):
            raise reply  # it is a replica now
        self.opens, left, _, *self.epoch = reply
        self.closed_until = now() + left / 1e6 * 1.01 + 0.002 if self.opens else 0.0

    # Requests, replies and messages: "What a client must do".
    def request(self, ticket):  # what the state of the ticket calls for; a second copy is harmless
        ticket.due = now() + self.lease / 3
        if ticket.state == HOLDING and now() >= ticket.valid_until:
            ticket.state = LEAVING  # it was lost, and must not come back
        if self.cut_since:
            return
        ids, ms = bytes.fromhex(ticket.id + self.member), int(self.lease * 1000)
        if ticket.state == LEAVING:
            code, text = "r", encode_release(ids, 0, 0, int(ticket.is_late))
        else:
            ticket.counter += 1
            ticket.sent[ticket.counter] = now()
            code, text = "t", encode_touch(ids, ticket.counter, ms, ms, 0, 0)
        if ticket.state == ASKING:
            code, ticket.is_unanswered = "a", True
            text = encode_acquire(ids, ticket.counter, ms, ms, 1, 1, 0, 0, ticket.meta, ticket.waits)
        sent, key = (ticket.id, ticket.counter, code), f"auto_mutex:{{{ticket.name}}}"
        words = [text] if now() >= self.closed_until else [encode_until(self.opens), text]
        self.send(lambda reply: self.answer(ticket, *sent, reply), "EVALSHA", list(self.scripts)[0], 1, key, *words)

    def answer(self, ticket, id, counter, code, reply):
        word, *words = str(reply).split(" ")
        if word in ("NOSCRIPT", "READONLY"):
            raise reply  # connecting again loads the scripts, or finds the primary
        if isinstance(reply, RuntimeError) and word in ("BUSY", "LOADING", "OOM", "MISCONF", "NOREPLICAS"):
            ticket.due = now() + 0.2
        elif code == "r":
            self.end(ticket)
        elif id == ticket.id and ticket.state not in (LEAVING, OVER):
            ticket.is_unanswered = ticket.is_unanswered and code == "t"
            ticket.sent = {sent: at for sent, at in ticket.sent.items() if sent >= counter}
            if isinstance(reply, int):
                self.grant(ticket, reply, counter, self.lease)
            elif ticket.state == HOLDING:
                self.leave(ticket)  # GONE; or QUEUED, because the claim came too late
            elif word == "QUEUED":
                ticket.state, ticket.due = WAITING, now() + min(self.lease / 3, int(words[1]) / 1000)
            elif word in ("GONE", "REFUSED"):
                del self.tickets[ticket.id]
                ticket.renew()
                self.request(ticket)
            elif word == "KEPT" and counter <= 11:  # the keeper was asked to release it: try again, for two seconds
                ticket.due = now() + 2 ** (counter - 1) / 1000
                self.changed.notify_all()
            elif word in ("BUSY", "KEPT"):
                self.end(ticket)
            else:  # MISMATCH: the lock is no mutex. FOREIGN: the key holds something else
                ticket.error = RuntimeError(str(reply))
                self.leave(ticket)

    def grant(self, ticket, fencing_time, counter, lease):
        valid_until = ticket.sent.get(counter, 0.0) + lease * 0.99 - 0.002
        if ticket.state == HOLDING and (fencing_time * 1024 != ticket.token or now() >= ticket.valid_until):
            self.leave(ticket)  # it was lost, and must not come back
        elif now() < valid_until:
            ticket.state, ticket.token = HOLDING, fencing_time * 1024
            ticket.valid_until = max(ticket.valid_until, valid_until)
            self.changed.notify_all()
        elif ticket.state == ASKING:
            ticket.state, ticket.due = WAITING, 0.0  # the grant came too late, so the next touch counts

    def hear(self, push):  # messages are hints, and strangers may send some: "Messages are sealed"
        text = str(push[2]) if push[0] == "message" else ""
        kind, id, *words = text.split(" ") if text.count(" ") > 1 else ("", "")
        ticket = next((ticket for ticket in self.tickets.values() if ticket.id[:16] == id[:16]), None)
        if ticket and kind in ("grant", "near", "lost") and ticket.state in (WAITING, HOLDING):
            if id[16:] != hashlib.sha1((ticket.id + text.replace(id, id[:16], 1)).encode()).hexdigest()[:16]:
                return  # its author could not read the ticket's record
            if kind == "grant" and ticket.state == WAITING and now() >= self.closed_until:
                grant = (int(words[1]), int(words[0]))
                if grant <= ticket.told:
                    return  # a copy
                ticket.told = grant
                self.grant(ticket, int(words[0]), int(words[1]), int(words[2]) / 1000)
            self.request(ticket)  # claims the grant, or asks

    def leave(self, ticket):
        ticket.valid_until = 0.0
        if ticket.state not in (LEAVING, OVER):
            ticket.state = LEAVING
            self.request(ticket)
            self.changed.notify_all()

    def end(self, ticket):
        ticket.state = OVER
        self.tickets.pop(ticket.id, None)
        self.changed.notify_all()
