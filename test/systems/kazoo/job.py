"""Uses kazoo's recipes with several clients until it reads "stop", then compares what they have left."""

import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry

stopped = threading.Event()
guard = threading.Lock()
longest = {}
felt = {"sessions lost": 0, "connections suspended": 0, "errors that reached a user": 0}


def count(name):
    with guard:
        felt[name] += 1


def timed(began, what):
    with guard:
        longest[what] = max(longest.get(what, 0), time.monotonic() - began)


def client(hosts):
    forever = dict(max_tries=-1, delay=0.05, max_delay=1)
    zk = KazooClient(hosts=hosts, timeout=8, connection_retry=KazooRetry(**forever),
                     command_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=1))

    def listen(state):
        if state == KazooState.LOST:
            count("sessions lost")
        elif state == KazooState.SUSPENDED:
            count("connections suspended")

    zk.start(timeout=60)
    zk.add_listener(listen)
    return zk


def attempt(work):
    try:
        work()
    except KazooException as e:
        count("errors that reached a user")
        print(work.__name__, repr(e), flush=True)


def until_stopped(work):
    def loop():
        while not stopped.is_set():
            attempt(work)
    return threading.Thread(target=loop, daemon=True)


class Locked:
    """A number that is read and written under a lock, without a check of its version."""

    def __init__(self, clients):
        self.clients, self.done, self.inside, self.overlaps = clients, 0, 0, 0
        clients[0].create("/locked", b"0")

    def worker(self, zk):
        lock = zk.Lock("/lock", "worker")

        def increment():
            began = time.monotonic()
            with lock:
                timed(began, "for a lock")
                with guard:
                    self.inside += 1
                    self.overlaps += self.inside > 1
                try:
                    zk.retry(zk.set, "/locked", b"%d" % (int(zk.retry(zk.get, "/locked")[0]) + 1))
                    self.done += 1  # only one is here
                finally:
                    with guard:
                        self.inside -= 1
            time.sleep(0.02)
        return until_stopped(increment)

    def check(self, zk):
        have = int(zk.retry(zk.get, "/locked")[0])
        good = have == self.done and self.overlaps == 0 and self.done > 0
        return good, f"{self.done} turns, {self.overlaps} overlapped, the number is {have}"


class Queued:
    """Items that one client puts into a queue and another takes."""

    def __init__(self):
        self.put, self.taken = [], []

    def producer(self, zk):
        queue = zk.LockingQueue("/queue")

        def put():
            item = len(self.put)
            began = time.monotonic()
            zk.retry(queue.put, b"%d" % item)
            timed(began, "to put an item into a queue")
            self.put.append(item)
            time.sleep(0.02)
        return until_stopped(put)

    def consumer(self, zk):
        queue = [zk.LockingQueue("/queue")]

        def take():
            try:
                item = queue[0].get(timeout=1)
                if item is not None:
                    self.taken.append(int(item))
                    queue[0].consume()
            except KazooException:
                # One whose consume has failed would consume the same item again for ever.
                queue[0] = zk.LockingQueue("/queue")
                raise
        return until_stopped(take), take

    def check(self):
        lost = set(self.put) - set(self.taken)
        return not lost and bool(self.put), f"{len(self.put)} put, {len(lost)} of them lost"


class Elected:
    """Clients that lead one after the other."""

    def __init__(self):
        self.terms, self.leading, self.overlaps = 0, 0, 0

    def candidate(self, zk, name):
        def lead():
            with guard:
                self.leading += 1
                self.overlaps += self.leading > 1
                self.terms += 1
            time.sleep(0.1)
            with guard:
                self.leading -= 1

        def run():
            zk.Election("/election", name).run(lead)
        return until_stopped(run)

    def check(self):
        return self.overlaps == 0 and self.terms > 0, f"{self.terms} terms, {self.overlaps} overlapped"


class Leading:
    """Clients with kazoo's own settings, of which one leads for the whole run unless it loses its connection."""

    CLIENTS = 2

    def __init__(self, hosts):
        self.given_up, self.leading, self.overlaps = 0, 0, 0
        self.began = threading.Event()
        self.clients = [KazooClient(hosts=hosts) for _ in range(self.CLIENTS)]

    def candidate(self, zk):
        changed = threading.Event()
        zk.start(timeout=60)
        zk.add_listener(lambda state: state != KazooState.CONNECTED and changed.set())

        def lead():
            changed.clear()
            if zk.state != KazooState.CONNECTED:
                changed.set()
            with guard:
                self.leading += 1
                self.overlaps += self.leading > 1
            self.began.set()
            while not changed.wait(0.02) and not stopped.is_set():
                pass
            with guard:
                self.leading -= 1
                self.given_up += changed.is_set()

        def run():
            zk.Election("/office").run(lead)
        return until_stopped(run)

    def check(self):
        return self.overlaps == 0, f"{self.overlaps} times two led"


def control():
    for line in sys.stdin:
        if line.strip() == "stop":
            stopped.set()


def say(name, result):
    good, detail = result
    print(f"check {name}: {'ok' if good else 'failed'} {detail}", flush=True)


def main():
    threading.Thread(target=control, daemon=True).start()
    clients = [client(sys.argv[1]) for _ in range(5)]
    locked, queued, elected = Locked(clients), Queued(), Elected()
    consumer, _ = queued.consumer(clients[4])
    workers = [locked.worker(zk) for zk in clients[:3]]
    workers += [queued.producer(clients[3]), consumer]
    workers += [elected.candidate(zk, f"candidate-{i}") for i, zk in enumerate(clients[:2])]
    leading = Leading(sys.argv[1])
    leaders = [leading.candidate(zk) for zk in leading.clients]
    workers += leaders
    for leader in leaders:
        leader.start()
    leading.began.wait()
    print("ready", flush=True)
    for worker in set(workers) - set(leaders):
        worker.start()
    for worker in workers:
        worker.join()
    noted = dict(felt)  # what follows is no fault of the servers
    # Items that a queue has left locked are free when its session has ended.
    clients[4].stop()
    clients[4] = client(sys.argv[1])
    _, take = queued.consumer(clients[4])
    idle = 0
    while set(queued.put) - set(queued.taken) and idle < 10:
        before = len(queued.taken)
        attempt(take)
        idle = 0 if len(queued.taken) > before else idle + 1
    say("lock", locked.check(clients[0]))
    say("queue", queued.check())
    say("election", elected.check())
    say("leader", leading.check())
    print(f"felt times that leadership by an Election was given up: {leading.given_up}")
    for name, value in noted.items():
        print(f"felt {name}: {value}")
    for name, seconds in longest.items():
        print(f"felt longest time {name}: {seconds:.1f} s")
    for zk in clients + leading.clients:
        zk.stop()


main()
