"""Drives kazoo's operations and recipes against one server; prints OK and a name for each."""
import sys
import threading

from kazoo.client import KazooClient
from kazoo.exceptions import (BadVersionError, InvalidACLError, NoAuthError, NodeExistsError, NoNodeError,
                              NotEmptyError, RolledBackError, RuntimeInconsistency)
from kazoo.protocol.states import EventType
from kazoo.security import ACL, Id, make_digest_acl

addr = sys.argv[1]


def ok(name):
    print("OK", name, flush=True)


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def fails(error, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except error:
        return
    raise AssertionError("no %s" % error.__name__)


def connect():
    client = KazooClient(hosts=addr, timeout=20)
    client.start(timeout=20)
    return client


class Events:
    def __init__(self):
        self.list = []
        self.changed = threading.Condition()

    def __call__(self, event):
        with self.changed:
            self.list.append((event.type, event.path))
            self.changed.notify_all()

    def expect(self, kind, path):
        with self.changed:
            check(self.changed.wait_for(lambda: self.list, 20), "no event %s %s" % (kind, path))
            check(self.list[0] == (kind, path), "event %s, want %s %s" % (self.list[0], kind, path))
            self.list.pop(0)


zk = connect()

# Operations.
check(zk.create("/k", b"one") == "/k", "create")
fails(NodeExistsError, zk.create, "/k")
fails(NoNodeError, zk.create, "/x/y")
ok("create")
path, stat = zk.create("/k/two", b"22", include_data=True)
check(path == "/k/two" and stat.version == 0 and stat.dataLength == 2, "create2")
ok("create2")
check(zk.create("/k/n-", sequence=True) == "/k/n-0000000001", "sequence")
check(zk.create("/k/n-", sequence=True, ephemeral=True) == "/k/n-0000000002", "sequence")
ok("sequential")
zk.create("/k/p/q/r", makepath=True)
ok("makepath")
data, stat = zk.get("/k")
check(data == b"one" and stat.version == 0, "get")
ok("get")
stat = zk.set("/k", b"next", version=0)
check(stat.version == 1, "set")
fails(BadVersionError, zk.set, "/k", b"x", version=0)
ok("set")
check(zk.exists("/k").version == 1 and zk.exists("/none") is None, "exists")
ok("exists")
check(sorted(zk.get_children("/k")) == ["n-0000000001", "n-0000000002", "p", "two"], "children")
children, stat = zk.get_children("/k", include_data=True)
check(stat.numChildren == 4, "children2")
ok("children")
check(zk.sync("/k") == "/k", "sync")
ok("sync")
fails(NotEmptyError, zk.delete, "/k")
fails(BadVersionError, zk.delete, "/k/two", version=3)
zk.delete("/k/two")
zk.delete("/k/p", recursive=True)
fails(NoNodeError, zk.delete, "/k/two")
ok("delete")

# ACLs: kazoo sends an empty id as null.
zk.add_auth("digest", "bob:secret")
zk.create("/k/private", b"x", acl=[ACL(31, Id("auth", ""))])
acls, stat = zk.get_acls("/k/private")
check(acls[0].id.id == "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=", "acls %s" % acls)
other = connect()
fails(NoAuthError, other.get, "/k/private")
other.add_auth("digest", "bob:secret")
check(other.get("/k/private")[0] == b"x", "auth")
check(zk.set_acls("/k/private", [make_digest_acl("bob", "secret", all=True)]).aversion == 1, "set_acls")
fails(InvalidACLError, zk.set_acls, "/k/private", [ACL(31, Id("nope", "x"))])
ok("acl")

# Transactions.
t = zk.transaction()
t.create("/k/t", b"1")
t.check("/k/t", 0)
t.set_data("/k/t", b"2", 0)
t.delete("/k/private", -1)
results = t.commit()
check(results[0] == "/k/t" and results[1] is True and results[2].version == 1 and results[3] is True, "transaction %s" % results)
ok("transaction")
t = zk.transaction()
t.create("/k/u")
t.check("/k/t", 7)
t.delete("/k/t")
results = t.commit()
check([type(r) for r in results] == [RolledBackError, BadVersionError, RuntimeInconsistency], "failed transaction %s" % results)
check(zk.exists("/k/u") is None, "rolled back")
ok("failedTransaction")

# Watches.
events = Events()
zk.get("/k", watch=events)
zk.set("/k", b"w")
events.expect(EventType.CHANGED, "/k")
zk.get_children("/k", watch=events)
zk.create("/k/w")
events.expect(EventType.CHILD, "/k")
zk.exists("/k/v", watch=events)
zk.create("/k/v")
events.expect(EventType.CREATED, "/k/v")
zk.get("/k/v", watch=events)
zk.delete("/k/v")
events.expect(EventType.DELETED, "/k/v")
check(not events.list, "events %s" % events.list)
ok("watches")

# Recipes.
first, second = zk.Lock("/k/lock", "one"), other.Lock("/k/lock", "two")
check(first.acquire(timeout=20), "lock")
check(not second.acquire(blocking=False), "lock is held")
check(first.contenders() == ["one"], "contenders %s" % first.contenders())
taken = threading.Thread(target=lambda: second.acquire(timeout=20))
taken.start()
first.release()
taken.join(20)
check(second.is_acquired, "lock passed on")
second.release()
ok("lock")

leader = threading.Event()
election = other.Election("/k/election", "e")
runner = threading.Thread(target=lambda: election.run(leader.set))
runner.start()
check(leader.wait(20), "election")
runner.join(20)
ok("election")

barrier = zk.Barrier("/k/barrier")
barrier.create()
check(not other.Barrier("/k/barrier").wait(0.1), "barrier stands")
passed = []
waiter = threading.Thread(target=lambda: passed.append(other.Barrier("/k/barrier").wait(20)))
waiter.start()
barrier.remove()
waiter.join(20)
check(passed == [True], "barrier removed")
ok("barrier")

double, entered = zk.DoubleBarrier("/k/double", 2), []
peer = other.DoubleBarrier("/k/double", 2)
thread = threading.Thread(target=lambda: (peer.enter(), entered.append(1), peer.leave()))
thread.start()
double.enter()
double.leave()
thread.join(20)
check(entered == [1], "double barrier")
ok("doubleBarrier")

queue = zk.Queue("/k/queue")
for i in range(5):
    queue.put(b"%d" % i)
check([other.Queue("/k/queue").get() for i in range(5)] == [b"%d" % i for i in range(5)], "queue")
check(queue.get() is None, "queue is empty")
ok("queue")

locking = zk.LockingQueue("/k/locking")
locking.put_all([b"a", b"b"])
check(locking.get(20) == b"a" and locking.consume() and locking.get(20) == b"b" and locking.consume(), "locking queue")
ok("lockingQueue")

counters = [zk.Counter("/k/counter"), other.Counter("/k/counter")]


def count(counter):
    for _ in range(20):
        counter += 1


threads = [threading.Thread(target=count, args=(c,)) for c in counters]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(30)
check(zk.Counter("/k/counter").value == 40, "counter %d" % zk.Counter("/k/counter").value)
ok("counter")

semaphore = zk.Semaphore("/k/semaphore", max_leases=1)
check(semaphore.acquire(timeout=20), "semaphore")
check(not other.Semaphore("/k/semaphore", max_leases=1).acquire(blocking=False), "semaphore is taken")
semaphore.release()
ok("semaphore")

party = zk.Party("/k/party", "me")
party.join()
check(list(other.Party("/k/party", "you")) == ["me"], "party")
party.leave()
ok("party")

seen, lengths = threading.Event(), []


zk.ensure_path("/k/watched")


@zk.ChildrenWatch("/k/watched")
def watched(children):
    lengths.append(len(children))
    if len(children) == 2:
        seen.set()
        return False


zk.create("/k/watched/a")
zk.create("/k/watched/b")
check(seen.wait(20), "children watch %s" % lengths)
ok("childrenWatch")

# Restart of the server: sessions and ephemerals survive, the clients come back by themselves.
zk.create("/k/mine", ephemeral=True)
session = zk.client_id
print("RESTART", flush=True)
check(sys.stdin.readline() == "\n", "stdin")
stat = zk.retry(zk.exists, "/k/mine")
check(stat is not None and stat.owner_session_id == session[0] and zk.client_id == session, "session after restart")
zk.retry(zk.set, "/k", b"after")
ok("restart")
gone = Events()
other.retry(other.exists, "/k/mine", watch=gone)
zk.stop()
gone.expect(EventType.DELETED, "/k/mine")
zk.close()
ok("close")
other.stop()
other.close()
