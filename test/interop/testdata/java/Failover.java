import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Goes on working while servers of an ensemble are killed. For each line of its input it writes, looks whether its ephemeral lives
 * on in the same session, waits for the watch that it has on /signal, and prints OK and the line.
 */
public class Failover {
    interface Call<T> {
        T run() throws Exception;
    }

    /** Repeats a call until a server answers it. */
    static <T> T retry(Call<T> call) throws Exception {
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);;) {
            try {
                return call.run();
            } catch (KeeperException.ConnectionLossException e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }

    static void check(boolean condition, String text) {
        if (!condition) {
            throw new IllegalStateException(text);
        }
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zk = new ZooKeeper(args[0], 20000, e -> {
            if (e.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        check(connected.await(20, TimeUnit.SECONDS), "not connected");
        zk.create("/app", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        zk.create("/app/me", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        long session = zk.getSessionId();
        Semaphore signalled = new Semaphore(0);
        Watcher signal = e -> {
            if (e.getType() == Watcher.Event.EventType.NodeDataChanged) {
                signalled.release();
            }
        };
        retry(() -> zk.getData("/signal", signal, null));
        System.out.println("OK ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            byte[] data = line.getBytes(StandardCharsets.UTF_8);
            retry(() -> zk.setData("/app", data, -1));
            check(new String(retry(() -> zk.getData("/app", false, null)), StandardCharsets.UTF_8).equals(line), "/app holds something else");
            Stat stat = retry(() -> zk.exists("/app/me", false));
            check(stat != null && stat.getEphemeralOwner() == session && zk.getSessionId() == session, "the ephemeral or the session is gone");
            check(signalled.tryAcquire(30, TimeUnit.SECONDS), "the watch was lost");
            retry(() -> zk.getData("/signal", signal, null));
            System.out.println("OK " + line);
        }
        zk.close();
        System.out.println("OK close");
    }
}
