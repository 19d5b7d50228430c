"""Connects by SASL DIGEST-MD5 as the user and with the password in the arguments, and uses an ACL of its own."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, KazooException
from kazoo.security import ACL, Id

addr, user, password, want = sys.argv[1:]
zk = KazooClient(hosts=addr, sasl_options={"mechanism": "DIGEST-MD5", "username": user, "password": password})
try:
    zk.start(timeout=10)
    zk.create("/kazoo", b"x", acl=[ACL(31, Id("sasl", user))])
    assert zk.get("/kazoo")[0] == b"x"
    zk.delete("/kazoo")
    got = "accepted"
except (AuthFailedError, KazooException, zk.handler.timeout_exception) as e:
    got = "refused"
assert got == want, got
print("OK", got, flush=True)
zk.stop()
zk.close()
