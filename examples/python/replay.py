"""Plays the vectors of docs/vectors on a Redis, and says where a reply or a message differs.

    python3 replay.py redis://127.0.0.1:6379 [FILE...]

It deletes all data of the server. It shows what a client or a store in another language has to do to be tested by the
vectors; docs/vectors/README.md describes them. Without a URL, only the encoding of the operations is checked.
"""
import json
import socket
import struct
import sys
import zlib
from urllib.parse import urlsplit

from auto_mutex import SCRIPTS, command, encode_acquire, encode_release, encode_touch, encode_until, lock_name, read

# The clock of the scripts is replaced by a key.
CLOCK = b"local function clock() return tonumber(redis.call('GET', 'now')) end\n"


def id_text(number):
    return f"{number:032}"


def ticket_text(number):  # messages name the first half
    return f"{number:016}" * 2


def encode(code, member, operation, fields, names):
    values = dict(zip(names, fields))
    ids = bytes.fromhex(ticket_text(values.pop("ticket", 0)) + id_text(member))
    if operation in ("acquire", "try"):
        return encode_acquire(ids, **values, waits=operation == "acquire")
    if operation == "touch":
        return encode_touch(ids, **values)
    if operation == "release":
        return encode_release(ids, **values)
    text = ids + code.encode()
    if operation == "adopt":
        lease = struct.pack("<III", values["counter"], values["hold_ms"], values["place_ms"])
        return text + lease + bytes.fromhex(ticket_text(values["old"])) + values["meta"].encode()
    if operation == "signal":
        kind = {"token": b"\0", "one": b"\1", "all": b"\2"}[values["kind"]]
        return text + kind + values["text"].encode()
    if operation == "probe":
        return text + bytes.fromhex(id_text(values["to"])) + values["text"].encode()
    if operation == "inspect":
        return text + struct.pack("<I", values["above"])
    return text + (struct.pack("<d", values["token"]) if "token" in values else b"") + values.get("by", "").encode()


def arguments(fields, codes, member, opens, operations, values):
    """The arguments of a call after its key."""
    all = [encode(codes[operation], member, operation, of_one, fields[operation])
           for operation, of_one in zip(operations, values)]
    # A release without a code needs no member if the next operation names it.
    all[:-1] = [text[:16] if len(text) == 32 else text for text in all[:-1]]
    return ([encode_until(opens)] if opens else []) + all


def fits(expected, found):
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(fits, expected, found))
    return expected is None or expected == found


def in_order(messages):
    """The order of messages that tell of losses is not fixed."""
    free = [message for message in messages if message[1].startswith("lost ")]
    return sorted(free) + [message for message in messages if message not in free]


class Server:
    def __init__(self, url):
        at = urlsplit(url)
        self.socket = socket.create_connection((at.hostname, at.port or 6379), 10)
        self.file, self.messages = self.socket.makefile("rb"), []
        self.ask("HELLO", 3)
        text = (SCRIPTS / "operations.lua").read_bytes()
        clock, end, rest = text.partition(b"\nend\n")
        assert clock.startswith(b"local function clock()"), clock
        self.script = self.ask("SCRIPT", "LOAD", CLOCK + rest)

    def ask(self, *words):
        self.socket.sendall(command(*words))
        while isinstance(value := read(self.file), tuple):
            if value[0] == "message":
                self.messages.append([int(value[1].rsplit(":", 1)[1]), value[2]])
        return value

    def listen(self, member, listens):
        self.ask_push("SUBSCRIBE" if listens else "UNSUBSCRIBE", f"auto_mutex:member:{id_text(member)}")

    def ask_push(self, *words):
        self.socket.sendall(command(*words))
        self.ask("PING")

    def play(self, now, args):
        """Returns the reply, and the messages that the operation has sent."""
        self.messages = []
        self.ask("SET", "now", now)
        reply = self.ask("EVALSHA", self.script, 1, *args)
        self.ask("PING")  # messages to this connection come before the answer
        return reply, self.messages


def normal(step, reply):
    """A release and an acquire may have one reply: the token alone, if all units were free in between."""
    if isinstance(step[3], list) and isinstance(reply, int):
        return [step[4][1][5], reply]
    return reply


def check(file, codes, server):
    vectors = json.loads(file.read_text(encoding="utf-8"))
    calls = 0
    for sequence in vectors["sequences"]:
        listening = set()
        if server:
            server.ask("FLUSHALL")
        for number, step in enumerate(sequence["steps"]):
            where = f"{file.name}, {sequence['title']}, step {number}: {json.dumps(step)}"
            if isinstance(step, str):
                continue
            if isinstance(step[2], str):
                listening ^= {step[1]}
                if server:
                    server.listen(step[1], step[2] == "listen")
                continue
            _, member, name, operations, values, *rest = step
            if isinstance(operations, str):
                operations, values = [operations], [values]
            opens = vectors["start"] + rest[3] if len(rest) > 3 else 0
            args = [f"auto_mutex:{{{sequence['names'][name]}}}".encode()]
            args += arguments(vectors["fields"], codes, member, opens, operations, values)
            crc = f"{zlib.crc32(b''.join(args)):08x}"
            if crc != step[7]:
                raise SystemExit(f"{where}\nis encoded as {args}, with the checksum {crc}")
            if server:
                reply, messages = server.play(vectors["start"] + step[0], args)
                reply = normal(step, reply)
                if not fits(step[5], reply) or in_order(step[6]) != in_order(messages):
                    raise SystemExit(f"{where}\nhas the reply {reply!r}\nand the messages {messages}")
            calls += 1
        for member in listening if server else ():
            server.listen(member, False)
    print(f"{file.name}: {calls} calls")


def check_encoding(file, codes):
    fields = json.loads((SCRIPTS / "stories.json").read_text(encoding="utf-8"))["fields"]
    for call in json.loads(file.read_text(encoding="utf-8"))["calls"]:
        all = arguments(fields, codes, call["member"], call["opens"], call["operations"], call["fields"])
        assert [text.hex() for text in all] == call["arguments"], call


def main(url=None, *files):
    encoding = SCRIPTS / "encoding.json"
    codes = json.loads(encoding.read_text(encoding="utf-8"))["codes"]
    check_encoding(encoding, codes)
    for case in json.loads((SCRIPTS / "names.json").read_text(encoding="utf-8")):
        assert lock_name(case["name"], case["namespace"]) == case["escaped"], case
    server = Server(url) if url else None
    for file in sorted(SCRIPTS.glob("*.json")):
        if file.name not in ("encoding.json", "names.json") and (not files or file.name in files):
            check(file, codes, server)


if __name__ == "__main__":
    main(*sys.argv[1:])
