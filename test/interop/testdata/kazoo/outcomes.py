"""Writes without a single retry while servers of an ensemble are killed: no call may fail, none may be done twice.

Prints OK ready, then for each line of its input, when 50 more rounds of writes have succeeded since, OK and the line;
at the end OK close with how many answers came from an outcome and how many requests were sent again."""
import sys

from kazoo.exceptions import BadVersionError, RolledBackError
from kazoo.retry import KazooRetry
from warren_outcomes import OutcomesClient

zk = OutcomesClient(hosts=sys.argv[1], timeout=20, connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5))
zk.start(timeout=20)
zk.create("/set")
zk.create("/queue")
session, rounds, made = zk.client_id[0], 0, []


def write():
    """Sends eight requests at once, each of which succeeds, or is refused, in one way only if it is done once."""
    global rounds
    version = 2 * rounds
    multi = zk.transaction()
    multi.create("/queue/m-%09d" % rounds, b"m")
    multi.set_data("/set", b"multi", version + 1)
    refused = zk.transaction()
    refused.create("/queue/never", b"")
    refused.check("/set", 1 << 30)
    sent = [zk.create_async("/queue/s-", b"%d" % rounds, sequence=True), zk.set_async("/set", b"set", version),
            multi.commit_async(), zk.set_async("/set", b"refused", version), refused.commit_async(),
            zk.create_async("/gone-%d" % rounds), zk.delete_async("/gone-%d" % rounds, 0), zk.get_async("/set")]
    for one in sent:
        one.wait(60)
    made.append(sent[0].get())
    if sent[1].get().version != version + 1:
        raise AssertionError("version %d after a set of version %d" % (sent[1].get().version, version))
    path, stat = sent[2].get()
    if path != "/queue/m-%09d" % rounds or stat.version != version + 2:
        raise AssertionError("a multi answered %r, %r" % (path, stat))
    if not isinstance(sent[3].exception, BadVersionError):
        raise AssertionError("a set of an old version: %r" % sent[3].exception)
    results = sent[4].get()
    if not (isinstance(results[0], RolledBackError) and isinstance(results[1], BadVersionError)):
        raise AssertionError("a refused multi answered %r" % results)
    sent[5].get()
    sent[6].get()
    data, stat = sent[7].get()
    if (data, stat.version) != (b"multi", version + 2):
        raise AssertionError("read %r, version %d, behind version %d" % (data, stat.version, version + 2))
    rounds += 1


write()
print("OK ready", flush=True)
for line in sys.stdin:
    for _ in range(50):
        write()
    print("OK", line.strip(), flush=True)

children = zk.get_children("/queue")
if sorted(made) != made or len(set(made)) != rounds or len(children) != 2 * rounds:
    raise AssertionError("%d rounds made %d znodes" % (rounds, len(children)))
if zk.client_id[0] != session or zk.get("/set")[1].version != 2 * rounds:
    raise AssertionError("another session, or not each set once")
later, again = zk.answered_later, zk.sent_again
zk.stop()
print("OK close %d %d" % (later, again), flush=True)
