"""Makes files that NiFi lists until it reads "stop", then compares them with what it has written."""

import json
import os
import sys
import threading
import time
import urllib.error
import urllib.request

LEAST = 200  # files; a run of fewer is none
BUNDLE = "org.apache.nifi.processors.standard."

stopped = threading.Event()
marked = threading.Event()


def read_commands():
    for line in sys.stdin:
        {"mark": marked, "stop": stopped}[line.strip()].set()


class NiFi:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}/nifi-api/"

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.base + path, method=method, data=body and json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def insist(self, what, done):
        """Repeats until done returns something."""
        while True:
            try:
                result = done()
                if result:
                    return result
                print("not yet:", what, flush=True)
            except urllib.error.HTTPError as e:
                print(what, e, e.read()[:300], flush=True)
            except OSError as e:
                print(what, e, flush=True)
            time.sleep(2)

    def processor(self, kind, settings, **config):
        body = {"revision": {"version": 0}, "component": {"type": BUNDLE + kind, "config": {
            "properties": settings, **config}}}
        return self.insist(kind, lambda: self.ask("POST", "process-groups/root/processors", body))

    def run(self, processor):
        def start():
            now = self.ask("GET", "processors/" + processor["id"])
            return self.ask("PUT", f"processors/{processor['id']}/run-status",
                            {"revision": now["revision"], "state": "RUNNING"})
        self.insist("run", start)


def build(nifi, source, target):
    """Lists source at the primary node, and makes a folder in target for each time that a file was listed."""
    nifi.insist("both nodes are connected", lambda: [n["status"] for n in nifi.ask(
        "GET", "controller/cluster")["cluster"]["nodes"]] == ["CONNECTED"] * 2)
    lister = nifi.processor("ListFile", {
        "Input Directory": source, "listing-strategy": "timestamps", "Input Directory Location": "Remote",
        "Minimum File Age": "0 sec"}, schedulingPeriod="1 sec", executionNode="PRIMARY")
    putter = nifi.processor("PutFile", {"Directory": target + "/${filename}/${uuid}"},
                            autoTerminatedRelationships=["success", "failure"])
    ends = {name: {"id": p["id"], "groupId": p["component"]["parentGroupId"], "type": "PROCESSOR"}
            for name, p in (("source", lister), ("destination", putter))}
    nifi.insist("connection", lambda: nifi.ask("POST", "process-groups/root/connections", {
        "revision": {"version": 0}, "component": {**ends, "selectedRelationships": ["success"]}}))
    nifi.run(putter)
    nifi.run(lister)


def main(port, folder):
    source, target = os.path.join(folder, "in"), os.path.join(folder, "out")
    os.mkdir(source)
    os.mkdir(target)
    threading.Thread(target=read_commands, daemon=True).start()
    build(NiFi(port), source, target)
    waiting, longest, made = {}, {}, 0

    def make():
        nonlocal made
        # A file that is empty has one time at which it was changed.
        os.close(os.open(os.path.join(source, str(made)), os.O_CREAT | os.O_WRONLY))
        waiting[str(made)] = time.monotonic()
        made += 1

    def look():
        for name in os.listdir(target):
            if name in waiting:
                half = "from then on" if marked.is_set() else "before the primary node was killed"
                longest[half] = max(longest.get(half, 0), time.monotonic() - waiting.pop(name))

    make()
    while waiting:
        look()
        time.sleep(0.1)
    longest.clear()
    print("ready", flush=True)
    while not stopped.is_set() or made < LEAST:
        make()
        look()
        time.sleep(0.1)
    deadline = time.monotonic() + 180
    while waiting and time.monotonic() < deadline:
        look()
        time.sleep(0.5)
    twice = sum(len(os.listdir(os.path.join(target, name))) > 1 for name in os.listdir(target))
    print(f"check files: {'failed' if waiting else 'ok'} {made} made, {len(waiting)} lost")
    print(f"felt files that were listed twice: {twice}")
    for half in sorted(longest):
        print(f"felt longest time until a file was written, {half}: {longest[half]:.1f} s")
    sys.stdout.flush()


main(*sys.argv[1:])
