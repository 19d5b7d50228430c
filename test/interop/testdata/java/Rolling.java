import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Writes with several sessions until its input ends, and then says what it has seen. The arguments are the servers, the sessions,
 * the pause after the answers in ms, and how many requests a session has in flight.
 */
public class Rolling {
    static final AtomicInteger done = new AtomicInteger();
    static final AtomicInteger lost = new AtomicInteger();
    static final AtomicInteger executed = new AtomicInteger();
    static final AtomicInteger ends = new AtomicInteger();
    static final AtomicInteger wrong = new AtomicInteger();
    static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        int pause = Integer.parseInt(args[2]);
        int window = Integer.parseInt(args[3]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            String path = "/java-" + i;
            Thread t = new Thread(() -> {
                try {
                    work(args[0], path, pause, window);
                } catch (Exception e) {
                    e.printStackTrace();
                    wrong.incrementAndGet();
                }
            });
            threads.add(t);
            t.start();
        }
        System.out.println("OK ready");
        while (System.in.read() >= 0) {
        }
        stop = true;
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("OK " + done + " " + lost + " " + executed + " " + ends + " " + wrong);
    }

    static void work(String servers, String path, int pause, int window) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper zk = new ZooKeeper(servers, 30000, e -> {
            if (e.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            } else if (e.getState() == Watcher.Event.KeeperState.Disconnected && !stop) {
                ends.incrementAndGet();
            }
        });
        if (!connected.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("not connected");
        }
        zk.create(path, null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        int version = 0;
        while (!stop) {
            CountDownLatch answered = new CountDownLatch(window);
            AtomicInteger ok = new AtomicInteger();
            AtomicInteger failed = new AtomicInteger();
            for (int i = 0; i < window; i++) {
                zk.setData(path, null, -1, (rc, p, context, stat) -> {
                    if (rc == KeeperException.Code.OK.intValue()) {
                        ok.incrementAndGet();
                    } else if (rc == KeeperException.Code.CONNECTIONLOSS.intValue()) {
                        failed.incrementAndGet();
                    } else {
                        wrong.incrementAndGet();
                    }
                    answered.countDown();
                }, null);
            }
            answered.await();
            done.addAndGet(ok.get());
            lost.addAndGet(failed.get());
            version += ok.get();
            if (failed.get() > 0) {
                int now = version(zk, path);
                executed.addAndGet(now - version);
                version = now;
            }
            if (pause > 0) {
                Thread.sleep(pause);
            }
        }
        if (version(zk, path) != version) {
            wrong.incrementAndGet();
        }
        zk.close();
    }

    static int version(ZooKeeper zk, String path) throws Exception {
        for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);;) {
            try {
                Stat stat = zk.exists(path, false);
                if (stat == null) {
                    throw new IllegalStateException("the ephemeral is gone");
                }
                return stat.getVersion();
            } catch (KeeperException.ConnectionLossException e) {
                if (System.nanoTime() > end) {
                    throw e;
                }
                Thread.sleep(20);
            }
        }
    }
}
