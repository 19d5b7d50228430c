"""Writes to KeeperMap tables by two nodes until it reads "stop", then compares the tables with what was written."""

import json
import os
import random
import subprocess
import sys
import threading
import time

TABLES = 2  # one for each node to write, and both read
KEYS = 200
LEAST = 500  # statements; a run of fewer is none

stopped = threading.Event()
marked = threading.Event()
guard = threading.Lock()
longest = {}
counts = {"statements": 0, "failed": 0}


class Node:
    """A process with ClickHouse inside, which executes one statement at a time."""

    def __init__(self, name, config, folder):
        self.name, self.command = name, [sys.executable, __file__, "node", config, os.path.join(folder, name)]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill(self):
        self.process.kill()

    def ask(self, statement):
        """What a statement returns; an exception means that nobody knows whether it was executed."""
        began = time.monotonic()
        try:
            self.process.stdin.write(json.dumps(statement) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline() or '{"error": "the node has ended"}')
        except OSError as e:
            answer = {"error": repr(e)}
        with guard:
            what = "longest statement, " + ("from then on" if marked.is_set() else "before a node was killed")
            longest[what] = max(longest.get(what, 0), time.monotonic() - began)
            counts["statements"] += 1
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["rows"]

    def insist(self, statement):
        """Repeats a statement until it succeeds."""
        while True:
            try:
                return self.ask(statement)
            except RuntimeError as e:
                print(self.name, statement, str(e)[:300], flush=True)
                if self.process.poll() is not None:
                    self.start()
                time.sleep(0.5)


def create(node, table):
    node.insist("CREATE DATABASE IF NOT EXISTS d")
    node.insist(f"CREATE TABLE IF NOT EXISTS d.t{table} (k UInt64, v UInt64) ENGINE = KeeperMap('t{table}') "
                "PRIMARY KEY k")


class Writer(threading.Thread):
    """Writes to a table by a node, and keeps which values each key may have: None is no row."""

    def __init__(self, node, table):
        super().__init__(daemon=True)
        self.node, self.table, self.may, self.known = node, table, {}, 0
        self.random = random.Random(table)

    def run(self):
        value = 0
        while not stopped.is_set() or counts["statements"] < LEAST:
            value += 1
            key, kind = self.random.randrange(KEYS), self.random.randrange(4)
            before = self.may.get(key, {None})
            if kind == 0:
                after, statement = {None}, f"DELETE FROM d.t{self.table} WHERE k = {key}"
            elif kind == 1:
                after = {None if old is None else value for old in before}
                statement = f"ALTER TABLE d.t{self.table} UPDATE v = {value} WHERE k = {key}"
            else:
                after, statement = {value}, f"INSERT INTO d.t{self.table} VALUES ({key}, {value})"
            try:
                self.node.ask(statement)
                self.may[key] = after
                self.known += 1
            except RuntimeError as e:
                print(self.node.name, statement, str(e)[:300], flush=True)
                with guard:
                    counts["failed"] += 1
                self.may[key] = before | after
                if self.node.process.poll() is not None:
                    self.node.start()
                    create(self.node, self.table)
            time.sleep(0.01)


def read_commands(nodes):
    for line in sys.stdin:
        if line.strip() == "mark":
            marked.set()
            nodes[0].kill()
        elif line.strip() == "stop":
            stopped.set()


def wrong(writer, node):
    """How many keys have a value, as a node reads it, that they cannot have."""
    rows = dict(node.insist(f"SELECT k, v FROM d.t{writer.table}"))
    return sum(rows.get(key) not in writer.may.get(key, {None}) for key in range(KEYS)) + \
        sum(key >= KEYS for key in rows)


def main(config, folder):
    nodes = [Node(f"node-{i}", config, folder) for i in range(TABLES)]
    for node in nodes:
        for table in range(TABLES):
            create(node, table)
    writers = [Writer(node, table) for table, node in enumerate(nodes)]
    longest.clear()
    counts["statements"] = 0
    print("ready", flush=True)
    threading.Thread(target=read_commands, args=(nodes,), daemon=True).start()
    for w in writers:
        w.start()
    for w in writers:
        w.join()
    for table, w in enumerate(writers):
        known = w.known
        for i, node in enumerate(nodes):
            create(node, table)
            deadline = time.monotonic() + 60  # a server may be a little behind
            while (bad := wrong(w, node)) and time.monotonic() < deadline:
                time.sleep(0.5)
            print(f"check table {table} at node {i}: {'failed' if bad or not known else 'ok'} {known} statements "
                  f"succeeded, {bad} of {KEYS} keys are wrong", flush=True)
    print(f"felt statements that failed: {counts['failed']}")
    for what in sorted(longest):
        print(f"felt {what}: {longest[what]:.1f} s")
    sys.stdout.flush()


def node(config, folder):
    from chdb.session import Session
    session = Session(f"{folder}?config-file={config}")
    for line in sys.stdin:
        try:
            text = str(session.query(json.loads(line), "JSONCompactEachRow"))
            rows = [[int(value) for value in json.loads(row)] for row in text.splitlines() if row]
            answer = {"rows": rows}
        except Exception as e:  # of whatever kind: the other side notes its text
            answer = {"error": str(e)}
        print(json.dumps(answer), flush=True)


if sys.argv[1] == "node":
    node(*sys.argv[2:])
else:
    main(*sys.argv[1:])
