"""Goes on working while servers of an ensemble are killed. For each line of its input it writes, looks whether its
ephemeral lives on in the same session, waits for the watch that it has on /signal, and prints OK and the line."""
import sys
import threading

from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

zk = KazooClient(hosts=sys.argv[1], timeout=20, connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5))
zk.start(timeout=20)
retry = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.3, deadline=40, ignore_expire=False)
zk.create("/app")
zk.create("/app/me", ephemeral=True)
session = zk.client_id[0]
signalled = threading.Event()


def arm():
    signalled.clear()
    retry(zk.get, "/signal", watch=lambda event: signalled.set())


arm()
print("OK ready", flush=True)
for line in sys.stdin:
    line = line.strip()
    retry(zk.set, "/app", line.encode())
    data, _ = retry(zk.get, "/app")
    if data != line.encode():
        raise AssertionError("/app holds %r" % data)
    stat = retry(zk.exists, "/app/me")
    if stat is None or stat.ephemeralOwner != session or zk.client_id[0] != session:
        raise AssertionError("the ephemeral or the session is gone: %s" % (stat,))
    if not signalled.wait(30):
        raise AssertionError("the watch was lost")
    arm()
    print("OK", line, flush=True)
zk.stop()
print("OK close", flush=True)
