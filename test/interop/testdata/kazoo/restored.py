"""Lives through a restore of its ensemble: it hears that its session has expired, gets another one, finds that its ephemeral is gone,
and works. What it has done is a line of its output; it goes on at the end of a line of its input."""
import sys
import threading

from kazoo.client import KazooClient, KazooState
from kazoo.retry import KazooRetry

zk = KazooClient(hosts=sys.argv[1], timeout=60, connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5))
lost = threading.Event()
again = threading.Event()


def listen(state):
    if state == KazooState.LOST:
        lost.set()
    elif state == KazooState.CONNECTED and lost.is_set():
        again.set()


zk.start(timeout=20)
zk.add_listener(listen)
retry = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.3, deadline=40, ignore_expire=False)
zk.create("/here", ephemeral=True)
session = zk.client_id[0]
print("OK ready", flush=True)
sys.stdin.readline()  # the servers have a later epoch
seen = retry(zk.set, "/here", b"").mzxid
print("OK seen", flush=True)
if not lost.wait(60) or not again.wait(60):
    raise AssertionError("the session has not expired")
if zk.client_id[0] == session:
    raise AssertionError("the session is the same")
if retry(zk.exists, "/here") is not None:
    raise AssertionError("the ephemeral is there")
retry(zk.create, "/again", ephemeral=True)
if zk.exists("/again").czxid <= seen:
    raise AssertionError("a zxid comes again")
zk.stop()
print("OK expired", flush=True)
