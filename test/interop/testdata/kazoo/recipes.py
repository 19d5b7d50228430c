"""Holds kazoo's recipes with two sessions, and says after each step what it knows of it: the path, the kind, and the members,
each with its state, its session and its payload. It goes on with each line of its input."""
import json
import sys
import threading
import time

from kazoo.client import KazooClient

one, two = KazooClient(hosts=sys.argv[1], timeout=30), KazooClient(hosts=sys.argv[1], timeout=30)
names = {one: "one", two: "two"}
for zk, name in names.items():
    zk.start(timeout=30)
    zk.create("/names/" + name, ephemeral=True, makepath=True)
threads = []


def spawn(call, *args, **named):
    thread = threading.Thread(target=call, args=args, kwargs=named, daemon=True)
    thread.start()
    threads.append(thread)


def say(path, kind, *members):
    print(json.dumps({"path": path, "kind": kind, "members": members}), flush=True)
    sys.stdin.readline()


def until(ready):
    while not ready():
        time.sleep(0.01)


def waits(lock, n):
    until(lambda: len(lock.contenders()) == n)


def member(state, zk, text):
    return {"state": state, "session": names[zk] if zk else "", "text": text}


# Lock
first, second = one.Lock("/r/lock", "me"), two.Lock("/r/lock", "you")
first.acquire()
spawn(second.acquire)
waits(first, 2)
say("/r/lock", "lock", member("holds", one, "me"), member("waits", two, "you"))
first.release()
until(lambda: second.is_acquired)
say("/r/lock", "lock", member("holds", two, "you"))
second.release()

# ReadLock and WriteLock
reads, more, write = one.ReadLock("/r/rw", "r1"), two.ReadLock("/r/rw", "r2"), one.WriteLock("/r/rw", "w")
reads.acquire()
more.acquire()
spawn(write.acquire)
waits(write, 3)
late = two.ReadLock("/r/rw", "r3")
spawn(late.acquire)
waits(write, 4)
say("/r/rw", "read/write lock", member("holds", one, "r1"), member("holds", two, "r2"), member("waits", one, "w"),
    member("waits", two, "r3"))
reads.release()
more.release()
until(lambda: write.is_acquired)
say("/r/rw", "read/write lock", member("holds", one, "w"), member("waits", two, "r3"))
write.release()
until(lambda: late.is_acquired)
late.release()
alone = two.WriteLock("/r/write", "w")
alone.acquire()
say("/r/write", "lock", member("holds", two, "w"))

# Semaphore
permits = [one.Semaphore("/r/semaphore", "a", max_leases=2), two.Semaphore("/r/semaphore", "b", max_leases=2)]
for permit in permits:
    permit.acquire()
third = one.Semaphore("/r/semaphore", "c", max_leases=2)
spawn(third.acquire)
until(lambda: one.exists("/r/semaphore-__lock__") and one.get_children("/r/semaphore-__lock__"))
# kazoo 2.8 writes the representation of the bytes into the line of those that wait.
say("/r/semaphore", "semaphore", member("holds", one, "a"), member("holds", two, "b"), member("waits", one, "b'c'"))
permits[0].release()
until(lambda: third.is_acquired)
say("/r/semaphore", "semaphore", member("holds", two, "b"), member("holds", one, "c"))

# Election
leads, ended = threading.Event(), threading.Event()
election = one.Election("/r/election", "first")
spawn(election.run, lambda: (leads.set(), ended.wait()))
leads.wait()
other = two.Election("/r/election", "second")
spawn(other.run, ended.wait)
until(lambda: len(election.contenders()) == 2)
say("/r/election", "lock", member("holds", one, "first"), member("waits", two, "second"))

# Barrier and DoubleBarrier
one.Barrier("/r/a-barrier").create()
say("/r/a-barrier", "barrier", member("closed", None, ""))
pair = [one.DoubleBarrier("/r/double", 2, "d1"), two.DoubleBarrier("/r/double", 2, "d2")]
spawn(pair[0].enter)
until(lambda: one.exists("/r/double") and one.get_children("/r/double"))
say("/r/double", "double barrier", member("waits", one, "d1"))
pair[1].enter()
until(lambda: one.exists("/r/double/ready"))
say("/r/double", "double barrier", member("inside", one, "d1"), member("inside", two, "d2"))

# Queue and LockingQueue
queue = one.Queue("/r/queue")
queue.put(b"later", priority=200)
queue.put(b"usual")
queue.put(b"soon", priority=1)
say("/r/queue", "queue", member("queued", None, "priority 1: soon"), member("queued", None, "priority 100: usual"),
    member("queued", None, "priority 200: later"))
locking = two.LockingQueue("/r/locking")
locking.put_all([b"a", b"b"])
locking.get(30)
say("/r/locking", "queue", member("taken", two, "priority 100: a"), member("queued", None, "priority 100: b"))

# Party and ShallowParty
one.Party("/r/party", "p1").join()
two.Party("/r/party", "p2").join()
say("/r/party", "group", member("member", one, "p1"), member("member", two, "p2"))
one.ShallowParty("/r/shallow", "s1").join()
say("/r/shallow", "group", member("member", one, "s1"))

# Counter
counter = one.Counter("/r/counter")
counter += 3
say("/r/counter", "")
