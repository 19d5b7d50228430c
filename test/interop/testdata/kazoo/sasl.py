"""Connects by SASL as the user in the arguments, and uses an ACL of its own: by DIGEST-MD5 with the password, or by
GSSAPI with the ticket cache of the environment if the password is empty."""
import sys

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, KazooException
from kazoo.security import ACL, Id

addr, user, password, want = sys.argv[1:]
options = {"mechanism": "DIGEST-MD5", "username": user, "password": password} if password else {"mechanism": "GSSAPI"}
zk = KazooClient(hosts=addr, sasl_options=options)
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
