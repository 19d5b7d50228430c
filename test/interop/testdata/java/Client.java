import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/** Drives every operation of the Java client against one server; prints OK and a name for each. */
public class Client {
    static final class Events implements Watcher {
        final BlockingQueue<WatchedEvent> queue = new LinkedBlockingQueue<>();
        volatile CountDownLatch connected = new CountDownLatch(1);

        @Override
        public void process(WatchedEvent e) {
            if (e.getType() == Event.EventType.None) {
                if (e.getState() == Event.KeeperState.SyncConnected) {
                    connected.countDown();
                }
                return;
            }
            queue.add(e);
        }

        void expect(Watcher.Event.EventType type, String path) throws Exception {
            WatchedEvent e = queue.poll(20, TimeUnit.SECONDS);
            check(e != null, "no event, want " + type + " " + path);
            check(e.getType() == type && e.getPath().equals(path), "event " + e + ", want " + type + " " + path);
        }

        void expectNone() {
            check(queue.isEmpty(), "unexpected events " + queue);
        }
    }

    interface Call {
        void run() throws Exception;
    }

    static void check(boolean condition, String text) {
        if (!condition) {
            throw new IllegalStateException(text);
        }
    }

    static void fails(KeeperException.Code code, Call call) throws Exception {
        try {
            call.run();
        } catch (KeeperException e) {
            check(e.code() == code, "got " + e.code() + ", want " + code);
            return;
        }
        throw new IllegalStateException("no error, want " + code);
    }

    static void ok(String name) {
        System.out.println("OK " + name);
        System.out.flush();
    }

    static final List<ACL> OPEN = ZooDefs.Ids.OPEN_ACL_UNSAFE;

    static ZooKeeper connect(String addr, Events events) throws Exception {
        ZooKeeper zk = new ZooKeeper(addr, 20000, events);
        check(events.connected.await(20, TimeUnit.SECONDS), "not connected");
        return zk;
    }

    public static void main(String[] args) throws Exception {
        String addr = args[0];
        Events events = new Events();
        ZooKeeper zk = connect(addr, events);
        basics(zk);
        creates(zk);
        acls(zk, addr);
        multis(zk);
        watches(zk, events);
        persistent(zk, addr);
        sessions(zk, addr);
        restart(zk, events);
        zk.close();
        ok("close");
    }

    static void basics(ZooKeeper zk) throws Exception {
        Stat stat = new Stat();
        check(zk.create("/j", "one".getBytes(), OPEN, CreateMode.PERSISTENT, stat).equals("/j"), "path");
        check(stat.getVersion() == 0 && stat.getDataLength() == 3 && stat.getEphemeralOwner() == 0, "stat " + stat);
        ok("create2");
        check(Arrays.equals(zk.getData("/j", false, stat), "one".getBytes()), "data");
        ok("getData");
        Stat set = zk.setData("/j", "three".getBytes(), 0);
        check(set.getVersion() == 1 && set.getMzxid() > set.getCzxid(), "stat " + set);
        fails(KeeperException.Code.BADVERSION, () -> zk.setData("/j", null, 0));
        ok("setData");
        check(zk.exists("/j", false).equals(set), "exists");
        check(zk.exists("/none", false) == null, "exists");
        ok("exists");
        zk.setData("/j", null, -1);
        check(zk.getData("/j", false, null) == null, "null data");
        ok("nullData");
        zk.create("/j/a", new byte[0], OPEN, CreateMode.PERSISTENT);
        check(zk.getData("/j/a", false, null).length == 0, "empty data");
        fails(KeeperException.Code.NODEEXISTS, () -> zk.create("/j/a", null, OPEN, CreateMode.PERSISTENT));
        fails(KeeperException.Code.NONODE, () -> zk.create("/j/x/y", null, OPEN, CreateMode.PERSISTENT));
        ok("create");
        zk.create("/j/b", null, OPEN, CreateMode.PERSISTENT);
        List<String> children = new ArrayList<>(zk.getChildren("/j", false, stat));
        Collections.sort(children);
        check(children.equals(Arrays.asList("a", "b")) && stat.getNumChildren() == 2 && stat.getCversion() == 2, "children " + children + stat);
        check(zk.getChildren("/j", false).size() == 2, "children");
        ok("getChildren");
        check(zk.getAllChildrenNumber("/j") == 2, "number");
        ok("getAllChildrenNumber");
        fails(KeeperException.Code.NOTEMPTY, () -> zk.delete("/j", -1));
        fails(KeeperException.Code.BADVERSION, () -> zk.delete("/j/b", 7));
        zk.delete("/j/b", 0);
        fails(KeeperException.Code.NONODE, () -> zk.delete("/j/b", -1));
        ok("delete");
        CountDownLatch synced = new CountDownLatch(1);
        zk.sync("/j", (rc, path, ctx) -> {
            if (rc == 0 && path.equals("/j")) {
                synced.countDown();
            }
        }, null);
        check(synced.await(20, TimeUnit.SECONDS), "sync");
        ok("sync");
        check(zk.getConfig(false, stat) != null, "config");
        ok("getConfig");
        byte[] big = new byte[900_000];
        zk.create("/j/big", big, OPEN, CreateMode.PERSISTENT);
        check(zk.getData("/j/big", false, null).length == big.length, "big");
        ok("bigData");
        zk.create("/j/\u00e9\u4e2d", null, OPEN, CreateMode.PERSISTENT);
        check(zk.getChildren("/j", false).contains("\u00e9\u4e2d"), "unicode");
        ok("unicode");
    }

    static void creates(ZooKeeper zk) throws Exception {
        zk.create("/j/s", null, OPEN, CreateMode.PERSISTENT);
        check(zk.create("/j/s/n-", null, OPEN, CreateMode.PERSISTENT_SEQUENTIAL).equals("/j/s/n-0000000000"), "seq 0");
        check(zk.create("/j/s/", null, OPEN, CreateMode.EPHEMERAL_SEQUENTIAL).equals("/j/s/0000000001"), "seq 1");
        ok("sequential");
        Stat stat = new Stat();
        zk.create("/j/e", null, OPEN, CreateMode.EPHEMERAL, stat);
        check(stat.getEphemeralOwner() == zk.getSessionId(), "owner");
        fails(KeeperException.Code.NOCHILDRENFOREPHEMERALS, () -> zk.create("/j/e/x", null, OPEN, CreateMode.PERSISTENT));
        ok("ephemeral");
        List<String> mine = new ArrayList<>(zk.getEphemerals());
        Collections.sort(mine);
        check(mine.equals(Arrays.asList("/j/e", "/j/s/0000000001")), "ephemerals " + mine);
        check(zk.getEphemerals("/j/s").size() == 1, "ephemerals");
        ok("getEphemerals");
        zk.create("/j/c", null, OPEN, CreateMode.CONTAINER, stat);
        check(stat.getEphemeralOwner() == 0, "container owner");
        zk.create("/j/c/x", null, OPEN, CreateMode.PERSISTENT);
        ok("container");
        zk.create("/j/t", null, OPEN, CreateMode.PERSISTENT_WITH_TTL, stat, 3_600_000);
        check(zk.create("/j/t-", null, OPEN, CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, stat, 3_600_000).startsWith("/j/t-00"), "ttl");
        check(stat.getEphemeralOwner() == 0, "ttl owner");
        ok("ttl");
    }

    static void acls(ZooKeeper zk, String addr) throws Exception {
        zk.addAuthInfo("digest", "bob:secret".getBytes());
        zk.create("/j/private", "x".getBytes(), ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        Stat stat = new Stat();
        List<ACL> acl = zk.getACL("/j/private", stat);
        check(acl.size() == 1 && acl.get(0).getId().equals(new Id("digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=")), "acl " + acl);
        ok("getACL");
        Events events = new Events();
        ZooKeeper other = connect(addr, events);
        fails(KeeperException.Code.NOAUTH, () -> other.getData("/j/private", false, null));
        fails(KeeperException.Code.NOAUTH, () -> other.setData("/j/private", null, -1));
        fails(KeeperException.Code.NOAUTH, () -> other.create("/j/private/x", null, OPEN, CreateMode.PERSISTENT));
        other.addAuthInfo("digest", "bob:secret".getBytes());
        check(other.getData("/j/private", false, null).length == 1, "auth");
        other.close();
        ok("auth");
        check(zk.setACL("/j/private", ZooDefs.Ids.READ_ACL_UNSAFE, 0).getAversion() == 1, "aversion");
        fails(KeeperException.Code.NOAUTH, () -> zk.setACL("/j/private", OPEN, 0));
        fails(KeeperException.Code.INVALIDACL, () -> zk.create("/j/bad", null, Arrays.asList(new ACL(31, new Id("nope", "x"))), CreateMode.PERSISTENT));
        ok("setACL");
        check(zk.whoAmI().stream().anyMatch(i -> i.getAuthScheme().equals("digest") && i.getUser().equals("bob")), "whoAmI");
        ok("whoAmI");
    }

    static void multis(ZooKeeper zk) throws Exception {
        List<OpResult> results = zk.multi(Arrays.asList(Op.check("/j", -1), Op.create("/j/m", null, OPEN, CreateMode.PERSISTENT),
            Op.setData("/j/m", "v".getBytes(), 0), Op.create("/j/m/n-", null, OPEN, CreateMode.PERSISTENT_SEQUENTIAL),
            Op.create("/j/m/k", null, OPEN, CreateMode.CONTAINER), Op.delete("/j/m/k", 0)));
        check(((OpResult.CreateResult) results.get(1)).getPath().equals("/j/m"), "create result");
        check(((OpResult.SetDataResult) results.get(2)).getStat().getVersion() == 1, "set result");
        check(((OpResult.CreateResult) results.get(3)).getPath().equals("/j/m/n-0000000000"), "seq result");
        ok("multi");
        try {
            zk.multi(Arrays.asList(Op.create("/j/m2", null, OPEN, CreateMode.PERSISTENT), Op.check("/j/m", 9), Op.delete("/j/m", -1)));
            throw new IllegalStateException("multi must fail");
        } catch (KeeperException e) {
            check(e.code() == KeeperException.Code.BADVERSION, "code " + e.code());
            List<OpResult> r = e.getResults();
            check(((OpResult.ErrorResult) r.get(0)).getErr() == 0 && ((OpResult.ErrorResult) r.get(1)).getErr() == -103
                && ((OpResult.ErrorResult) r.get(2)).getErr() == -2, "results");
        }
        check(zk.exists("/j/m2", false) == null, "rolled back");
        ok("multiFailed");
        zk.transaction().create("/j/tx", null, OPEN, CreateMode.PERSISTENT).delete("/j/tx", -1).commit();
        ok("transaction");
        results = zk.multi(Arrays.asList(Op.getData("/j/m"), Op.getChildren("/j/m"), Op.getData("/none")));
        check(new String(((OpResult.GetDataResult) results.get(0)).getData()).equals("v"), "read data");
        check(((OpResult.GetChildrenResult) results.get(1)).getChildren().size() == 1, "read children");
        check(((OpResult.ErrorResult) results.get(2)).getErr() == -101, "read error");
        ok("multiRead");
    }

    static void watches(ZooKeeper zk, Events events) throws Exception {
        zk.create("/j/w", null, OPEN, CreateMode.PERSISTENT);
        zk.getData("/j/w", events, null);
        zk.setData("/j/w", null, -1);
        events.expect(Watcher.Event.EventType.NodeDataChanged, "/j/w");
        zk.setData("/j/w", null, -1);
        events.expectNone();
        ok("dataWatch");
        zk.getChildren("/j/w", events);
        zk.create("/j/w/x", null, OPEN, CreateMode.PERSISTENT);
        events.expect(Watcher.Event.EventType.NodeChildrenChanged, "/j/w");
        ok("childWatch");
        check(zk.exists("/j/w/y", events) == null, "exists");
        zk.create("/j/w/y", null, OPEN, CreateMode.PERSISTENT);
        events.expect(Watcher.Event.EventType.NodeCreated, "/j/w/y");
        zk.exists("/j/w/y", events);
        zk.delete("/j/w/y", -1);
        events.expect(Watcher.Event.EventType.NodeDeleted, "/j/w/y");
        events.expectNone();
        ok("existsWatch");
        zk.getData("/j/w", events, null);
        zk.removeWatches("/j/w", events, Watcher.WatcherType.Data, false);
        events.expect(Watcher.Event.EventType.DataWatchRemoved, "/j/w");
        zk.getData("/j/w", events, null);
        zk.removeAllWatches("/j/w", Watcher.WatcherType.Any, false);
        events.expect(Watcher.Event.EventType.DataWatchRemoved, "/j/w");
        fails(KeeperException.Code.NOWATCHER, () -> zk.removeAllWatches("/j/none", Watcher.WatcherType.Any, false));
        ok("removeWatches");
    }

    static void persistent(ZooKeeper zk, String addr) throws Exception {
        Events events = new Events();
        zk.create("/j/p", null, OPEN, CreateMode.PERSISTENT);
        zk.addWatch("/j/p", events, AddWatchMode.PERSISTENT);
        for (int i = 0; i < 3; i++) {
            zk.setData("/j/p", null, -1);
            events.expect(Watcher.Event.EventType.NodeDataChanged, "/j/p");
        }
        zk.create("/j/p/c", null, OPEN, CreateMode.PERSISTENT);
        events.expect(Watcher.Event.EventType.NodeChildrenChanged, "/j/p");
        ok("persistentWatch");
        Events recursive = new Events();
        zk.create("/j/r", null, OPEN, CreateMode.PERSISTENT);
        zk.addWatch("/j/r", recursive, AddWatchMode.PERSISTENT_RECURSIVE);
        zk.create("/j/r/a", null, OPEN, CreateMode.PERSISTENT);
        zk.create("/j/r/a/b", null, OPEN, CreateMode.PERSISTENT);
        zk.setData("/j/r/a/b", null, -1);
        zk.delete("/j/r/a/b", -1);
        recursive.expect(Watcher.Event.EventType.NodeCreated, "/j/r/a");
        recursive.expect(Watcher.Event.EventType.NodeCreated, "/j/r/a/b");
        recursive.expect(Watcher.Event.EventType.NodeDataChanged, "/j/r/a/b");
        recursive.expect(Watcher.Event.EventType.NodeDeleted, "/j/r/a/b");
        recursive.expectNone();
        ok("recursiveWatch");
        zk.removeAllWatches("/j/p", Watcher.WatcherType.Any, false);
        zk.removeAllWatches("/j/r", Watcher.WatcherType.Any, false);
    }

    static void sessions(ZooKeeper zk, String addr) throws Exception {
        Events events = new Events();
        ZooKeeper first = connect(addr, events);
        first.create("/j/mine", null, OPEN, CreateMode.EPHEMERAL);
        Events again = new Events();
        ZooKeeper second = new ZooKeeper(addr, 20000, again, first.getSessionId(), first.getSessionPasswd());
        check(again.connected.await(20, TimeUnit.SECONDS), "not resumed");
        check(second.getSessionId() == first.getSessionId(), "session id");
        check(second.exists("/j/mine", false) != null, "ephemeral of a resumed session");
        ok("resume");
        Events gone = new Events();
        check(zk.exists("/j/mine", gone) != null, "exists");
        second.close();
        gone.expect(Watcher.Event.EventType.NodeDeleted, "/j/mine");
        ok("closeSession");
    }

    /** The test restarts the server between the two lines; watches and ephemerals must survive. */
    static void restart(ZooKeeper zk, Events events) throws Exception {
        zk.create("/j/back", null, OPEN, CreateMode.PERSISTENT);
        zk.getData("/j/back", events, null);
        zk.exists("/j/later", events);
        zk.getChildren("/j/back", events);
        Events persistent = new Events();
        zk.create("/j/tree", null, OPEN, CreateMode.PERSISTENT); // 3.8 keeps one mode a path
        zk.addWatch("/j/tree", persistent, AddWatchMode.PERSISTENT_RECURSIVE);
        events.connected = new CountDownLatch(1);
        System.out.println("RESTART");
        System.out.flush();
        check(System.in.read() == '\n', "stdin");
        check(events.connected.await(60, TimeUnit.SECONDS), "not reconnected");
        check(zk.exists("/j/e", false) != null, "ephemeral is gone");
        events.expectNone();
        ok("reconnect");
        zk.setData("/j/back", null, -1);
        events.expect(Watcher.Event.EventType.NodeDataChanged, "/j/back");
        zk.create("/j/later", null, OPEN, CreateMode.PERSISTENT);
        events.expect(Watcher.Event.EventType.NodeCreated, "/j/later");
        zk.create("/j/back/x", null, OPEN, CreateMode.PERSISTENT);
        events.expect(Watcher.Event.EventType.NodeChildrenChanged, "/j/back");
        zk.create("/j/tree/x", null, OPEN, CreateMode.PERSISTENT);
        persistent.expect(Watcher.Event.EventType.NodeCreated, "/j/tree/x");
        ok("watchesAfterReconnect");
    }
}
