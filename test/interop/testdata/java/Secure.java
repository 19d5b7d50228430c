import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ClientInfo;

/**
 * Connects as the system properties say, by TLS or by SASL, prints who it is, and uses an ACL of its own. With a second argument
 * "refused" it must not get in.
 */
public class Secure {
    public static void main(String[] args) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        CountDownLatch failed = new CountDownLatch(1);
        ZooKeeper zk = new ZooKeeper(args[0], 10000, e -> {
            if (e.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
            if (e.getState() == KeeperState.AuthFailed) {
                failed.countDown();
            }
        });
        if (args.length > 1 && args[1].equals("refused")) {
            refused(zk, connected, failed);
            zk.close();
            System.out.println("OK refused");
            return;
        }
        if (!connected.await(20, TimeUnit.SECONDS)) {
            throw new IllegalStateException("not connected");
        }
        StringBuilder who = new StringBuilder();
        for (ClientInfo info : zk.whoAmI()) {
            who.append(' ').append(info.getAuthScheme()).append(':').append(info.getUser());
        }
        System.out.println("WHO" + who);
        zk.create("/mine", new byte[900000], ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
        byte[] data = zk.getData("/mine", false, null);
        if (data.length != 900000) {
            throw new IllegalStateException("length " + data.length);
        }
        for (int i = 0; i < 200; i++) {
            zk.setData("/mine", new byte[i], i);
        }
        zk.delete("/mine", -1);
        System.out.println("OK acl");
        zk.close();
    }

    /** A client that may not in is either told so, or never connected, or its first request fails. */
    static void refused(ZooKeeper zk, CountDownLatch connected, CountDownLatch failed) throws Exception {
        if (failed.await(3, TimeUnit.SECONDS) || connected.getCount() > 0) {
            return;
        }
        try {
            zk.getData("/", false, null);
        } catch (KeeperException e) {
            return;
        }
        throw new IllegalStateException("it was let in");
    }
}
