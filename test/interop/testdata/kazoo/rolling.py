"""Writes with several sessions until its input ends. For each line of its input, as soon as each session has been
answered once more, and at the end it prints seven numbers for each session: the port of its server, the requests that
were acknowledged and that were lost with a connection, how many of the latter were executed, how often its connection
has ended and what else went wrong, and the longest time between two answers since the line before, in µs. The arguments
are the servers, the sessions, the pause after the answers in ms, and how many requests a session has in flight."""
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss
from kazoo.retry import KazooRetry

servers, sessions, pause, window = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1000, int(sys.argv[4])
stop = threading.Event()


class Session(threading.Thread):
    def __init__(self, number):
        super().__init__()
        self.path = "/kazoo-%d" % number
        self.port = self.done = self.lost = self.executed = self.ends = self.wrong = 0
        self.version = self.sent = self.acked = self.rounds = 0
        self.heard, self.silence, self.over = time.monotonic(), 0, False
        self.zk = KazooClient(hosts=servers, timeout=30,
                              connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5))
        self.retry = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.3, deadline=40, ignore_expire=False)
        self.zk.start(timeout=30)
        self.zk.add_listener(self.listen)
        self.zk.create(self.path, b"0", ephemeral=True)

    def listen(self, state):
        self.ends += state == KazooState.SUSPENDED and not stop.is_set()

    def run(self):
        try:
            while not stop.is_set():
                self.round()
                time.sleep(pause)
            self.check()
            self.zk.stop()
        except Exception:
            traceback.print_exc()
            self.wrong += 1
        self.over = True

    def round(self):
        before, results = self.lost, []
        for _ in range(window):
            self.sent += 1
            results.append((self.sent, self.zk.set_async(self.path, b"%d" % self.sent)))
        for number, result in results:
            try:
                stat = result.get()
                self.done += 1
                self.acked = number
                self.holds(stat, 1)
            except ConnectionLoss:
                self.lost += 1
        if self.lost > before:
            self.check()
        try:
            self.port = self.zk._connection._socket.getpeername()[1]
        except (AttributeError, OSError):
            self.port = 0  # not connected
        self.rounds += 1

    def holds(self, stat, acknowledged):
        """Each write that was executed makes one version. Those that were not acknowledged were lost."""
        more = stat.version - self.version - acknowledged
        self.executed += more
        self.wrong += more < 0 or self.executed > self.lost
        self.version = stat.version
        now = time.monotonic()
        self.silence, self.heard = max(self.silence, now - self.heard), now

    def check(self):
        """Compares the znode with what was written."""
        data, stat = self.retry(self.zk.get, self.path)
        self.holds(stat, 0)
        self.wrong += not self.acked <= int(data) <= self.sent

    def seen(self):
        silence, self.silence = self.silence, 0
        return self.port, self.done, self.lost, self.executed, self.ends, self.wrong, int(silence * 1e6)


def report():
    print("OK", *(n for session in threads for n in session.seen()), flush=True)


threads = [Session(i) for i in range(sessions)]
for thread in threads:
    thread.start()
print("OK ready", flush=True)
for _ in sys.stdin:
    # The first of two rounds may have begun before.
    for thread, rounds in [(thread, thread.rounds + 2) for thread in threads]:
        while thread.rounds < rounds and not thread.over:
            time.sleep(0.002)
    report()
stop.set()
for thread in threads:
    thread.join()
report()
