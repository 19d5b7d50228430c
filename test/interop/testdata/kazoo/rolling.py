"""Writes with several sessions until its input ends, and then says what it has seen. The arguments are the servers, the
sessions, the pause after the answers in ms, and how many requests a session has in flight."""
import collections
import sys
import threading
import time
import traceback

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import ConnectionLoss
from kazoo.retry import KazooRetry

servers, sessions, pause, window = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1000, int(sys.argv[4])
stop = threading.Event()
count = collections.Counter()
lock = threading.Lock()


def add(what, n=1):
    with lock:
        count[what] += n


def work(path):
    zk = KazooClient(hosts=servers, timeout=30, connection_retry=KazooRetry(max_tries=-1, delay=0.05, max_delay=0.5))
    retry = KazooRetry(max_tries=-1, delay=0.02, max_delay=0.3, deadline=40, ignore_expire=False)
    zk.start(timeout=30)
    zk.add_listener(lambda state: add("ends") if state == KazooState.SUSPENDED and not stop.is_set() else None)
    zk.create(path, ephemeral=True)
    version = 0
    while not stop.is_set():
        failed = 0
        for result in [zk.set_async(path, b"") for _ in range(window)]:
            try:
                result.get()
                version += 1
                add("done")
            except ConnectionLoss:
                failed += 1
        if failed:
            now = retry(zk.exists, path).version
            add("lost", failed)
            add("executed", now - version)
            version = now
        time.sleep(pause)
    if retry(zk.exists, path).version != version:
        add("wrong")
    zk.stop()


def guarded(path):
    try:
        work(path)
    except Exception:
        traceback.print_exc()
        add("wrong")


threads = [threading.Thread(target=guarded, args=("/kazoo-%d" % i,)) for i in range(sessions)]
for thread in threads:
    thread.start()
print("OK ready", flush=True)
sys.stdin.read()
stop.set()
for thread in threads:
    thread.join()
print("OK", *(count[what] for what in ("done", "lost", "executed", "ends", "wrong")), flush=True)
