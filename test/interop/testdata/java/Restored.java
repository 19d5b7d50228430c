import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * Lives through a restore of its ensemble: it hears that its session has expired, gets another one, finds that its ephemeral is gone,
 * and works. What it has done is a line of its output; it goes on at the end of a line of its input.
 */
public class Restored {
    static CountDownLatch connected, expired;

    static ZooKeeper connect(String servers) throws Exception {
        connected = new CountDownLatch(1);
        expired = new CountDownLatch(1);
        ZooKeeper zk = new ZooKeeper(servers, 60000, e -> {
            if (e.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            } else if (e.getState() == Watcher.Event.KeeperState.Expired) {
                expired.countDown();
            }
        });
        check(connected.await(30, TimeUnit.SECONDS), "not connected");
        return zk;
    }

    static void check(boolean condition, String text) {
        if (!condition) {
            throw new IllegalStateException(text);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ZooKeeper zk = connect(args[0]);
        zk.create("/here", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        System.out.println("OK ready");
        in.readLine(); // the servers have a later epoch
        long seen = 0;
        for (int i = 0; seen == 0 && i < 1000; i++) {
            try {
                seen = zk.setData("/here", null, -1).getMzxid();
            } catch (org.apache.zookeeper.KeeperException.ConnectionLossException e) {
                Thread.sleep(20);
            }
        }
        System.out.println("OK seen");
        check(expired.await(60, TimeUnit.SECONDS), "the session has not expired");
        ZooKeeper again = connect(args[0]);
        check(again.exists("/here", false) == null, "the ephemeral is there");
        again.create("/again", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        check(again.exists("/again", false).getCzxid() > seen, "a zxid comes again");
        again.close();
        zk.close();
        System.out.println("OK expired");
    }
}
