"""The extension "outcomes" for kazoo, written from docs/protocol/extensions.md alone.

OutcomesClient is a KazooClient whose calls do not fail when their connection is lost: as long as the session lives, each
of them is executed once and gets its answer. Where no server grants the extension it behaves as KazooClient does.
"""
import collections
import struct

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.serialization import Close, Connect, ReplyHeader
from kazoo.protocol.states import KeeperState

MAGIC = 0x57415258
OUTCOMES = 1
ASK = 350
WRITES = {1, 2, 5, 7, 14, 15, 16, 19, 21}
STAT = 68  # bytes of a Stat


class Offer(object):
    """A ConnectRequest with the offer behind it."""
    type = None

    def __init__(self, connect):
        self.connect, self.granted, self.zxid = connect, False, 0

    def serialize(self):
        return self.connect.serialize() + struct.pack("!ii", MAGIC, OUTCOMES)

    def deserialize(self, frame, offset):
        answer, offset = Connect.deserialize(frame, offset)
        if len(frame) - offset >= 16:
            magic, bits, zxid = struct.unpack_from("!iiq", frame, offset)
            if magic == MAGIC and bits & OUTCOMES:
                self.granted, self.zxid = True, zxid
        return answer, offset


class OutcomesConnection(ConnectionHandler):
    """Owns, on kazoo's connection thread, the requests that an earlier connection of the session has left unanswered."""

    def __init__(self, *args, **kwargs):
        super(OutcomesConnection, self).__init__(*args, **kwargs)
        self.unanswered = collections.deque()  # (request, async_object, xid), in the order in which they were sent
        self.told = {}                         # xid: (zxid, err, body), of those that were executed
        self.floors = {}                       # xid: the largest zxid known when it was sent first
        self.floor = 0                         # the largest zxid known
        self.sent = 0                          # the last xid; one session never uses an xid for two requests

    def _submit(self, request, timeout, xid=None):
        if xid and xid > 0:
            self.sent = max(self.sent, xid)
            self.floors.setdefault(xid, max(self.floor, self.client.last_zxid))
        super(OutcomesConnection, self)._submit(request, timeout, xid)

    def _read_response(self, header, buffer, offset):
        self.floors.pop(header.xid, None)
        return super(OutcomesConnection, self)._read_response(header, buffer, offset)

    def _invoke(self, timeout, request, xid=None):
        if not isinstance(request, Connect):
            return super(OutcomesConnection, self)._invoke(timeout, request, xid)
        offer = Offer(request)
        answer, zxid = super(OutcomesConnection, self)._invoke(timeout, offer)
        if answer.time_out > 0:
            self.floor = max(self.floor, offer.zxid)
            self.told = {}
            if self.unanswered and not (offer.granted and self._ask(timeout)):
                self.lose(ConnectionLoss())
        return answer, zxid

    def _ask(self, timeout):
        """Asks what has become of the writes; False if the server cannot tell."""
        writes = [xid for request, _, xid in self.unanswered if request.type in WRITES]
        if not writes:
            return True
        self.sent += 1
        body = struct.pack("!iiqi", self.sent, ASK, min(self.floors[xid] for xid in writes), len(writes))
        body += struct.pack("!%di" % len(writes), *writes)
        self._write(struct.pack("!i", len(body)) + body, timeout)
        header, frame, at = self._read_header(timeout)
        if header.err:
            return False
        count, = struct.unpack_from("!i", frame, at)
        at += 4
        for _ in range(count):
            xid, zxid, err, length = struct.unpack_from("!iqii", frame, at)
            at += 20
            self.told[xid] = zxid, err, frame[at:at + max(length, 0)]
            at += max(length, 0)
        return True

    def _connect(self, host, hostip, port):
        self._xid = self.sent
        timeouts = super(OutcomesConnection, self)._connect(host, hostip, port)  # with the credentials
        self._xid = self.sent
        while self.unanswered:
            one = request, _, xid = self.unanswered[0]
            if xid in self.told:
                self.unanswered.popleft()
                self._answer(one)
                continue
            self._submit(request, timeouts[1] / 1000.0, xid)
            self.unanswered.popleft()
            self.client._pending.append(one)
            self.client.sent_again += 1
        return timeouts

    def _answer(self, one):
        """Hands a call its outcome, as if that came as a reply."""
        zxid, err, body = self.told.pop(one[2])
        if one[0].type == 14:
            body = as_create(body)
        pending, self.client._pending = self.client._pending, collections.deque([one])
        self._read_response(ReplyHeader(one[2], zxid, err), body, 0)
        self.client._pending = pending
        self.client.answered_later += 1

    def keep(self):
        """Keeps what was sent and not answered for the next connection."""
        kept = [one for one in self.client._pending if not isinstance(one[0], Close)]
        self.client._pending.clear()
        self.unanswered.extendleft(reversed(kept))

    def lose(self, error):
        while self.unanswered:
            _, async_object, xid = self.unanswered.popleft()
            self.floors.pop(xid, None)
            if async_object:
                async_object.set_exception(error)


def as_create(body):
    """A reply to a multi with each create answered as a create, not as a create2: kazoo knows no other."""
    out, at = b"", 0
    while at < len(body):
        kind, done, err = struct.unpack_from("!i?i", body, at)
        at += 9
        result = b""
        if kind in (1, 15):
            length, = struct.unpack_from("!i", body, at)
            result = body[at:at + 4 + length]
            at += 4 + length + (STAT if kind == 15 else 0)
            kind = 1
        elif kind == 5:
            result = body[at:at + STAT]
            at += STAT
        elif kind == -1 and not done:
            result = body[at:at + 4]
            at += 4
        out += struct.pack("!i?i", kind, done, err) + result
    return out


class OutcomesClient(KazooClient):
    def __init__(self, *args, **kwargs):
        super(OutcomesClient, self).__init__(*args, **kwargs)
        self.answered_later = self.sent_again = 0
        old = self._connection
        self._connection = OutcomesConnection(self, old.retry_sleeper, logger=old.logger,
                                              sasl_options=old.sasl_options)

    def _notify_pending(self, state):
        if state == KeeperState.CONNECTING:
            self._connection.keep()
            return
        super(OutcomesClient, self)._notify_pending(state)
        self._connection.lose(ConnectionLoss())
