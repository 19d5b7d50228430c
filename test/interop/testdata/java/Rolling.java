import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Writes with several sessions until its input ends. For each line of its input, as soon as each session has been answered once
 * more, and at the end it prints seven numbers for each session: the port of its server, the requests that were acknowledged and
 * that were lost with a connection, how many of the latter were executed, how often its connection has ended and what else went
 * wrong, and the longest time between two answers since the line before, in µs. The arguments are the servers, the sessions, the
 * pause after the answers in ms, and how many requests a session has in flight.
 */
public class Rolling {
    /** One session, with an ephemeral znode of its own. */
    interface Client {
        void set(byte[] data, Answer answer) throws Exception;

        byte[] get(Stat stat) throws Exception;

        int port() throws Exception;

        void close() throws Exception;
    }

    interface Answer {
        void take(int code, Stat stat);
    }

    interface Opener {
        Client open(String servers, int number, Session session) throws Exception;
    }

    static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        run(args, (servers, number, session) -> new Plain(servers, "/java-" + number, session));
    }

    static void run(String[] args, Opener opener) throws Exception {
        List<Session> all = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            Session s = new Session(Integer.parseInt(args[2]), Integer.parseInt(args[3]));
            s.client = opener.open(args[0], i, s);
            all.add(s);
        }
        all.forEach(Thread::start);
        System.out.println("OK ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            int[] before = all.stream().mapToInt(Session::rounds).toArray();
            for (int i = 0; i < before.length; i++) {
                all.get(i).awaitRounds(before[i] + 2); // the first of them may have begun before
            }
            print(all);
        }
        stop = true;
        for (Session s : all) {
            s.join();
        }
        print(all);
        System.exit(0);
    }

    static void print(List<Session> all) {
        StringBuilder line = new StringBuilder("OK");
        all.forEach(s -> line.append(s.seen()));
        System.out.println(line);
    }

    /** What a session does and has seen. Its monitor guards the numbers. */
    static class Session extends Thread {
        final int pause, window;
        Client client;
        private int done, lost, executed, ends, wrong, rounds, port;
        private int version;
        private long sent, acked; // the numbers that were written: the last one, and the last that was acknowledged
        private long heard = System.nanoTime(), silence;
        private boolean over;

        Session(int pause, int window) {
            this.pause = pause;
            this.window = window;
        }

        synchronized void ended() {
            ends += stop ? 0 : 1;
        }

        synchronized int rounds() {
            return rounds;
        }

        synchronized void awaitRounds(int n) throws InterruptedException {
            while (rounds < n && !over) {
                wait();
            }
        }

        synchronized String seen() {
            String line = String.format(" %d %d %d %d %d %d", port, done, lost, executed, ends, wrong);
            line += " " + silence / 1000;
            silence = 0;
            return line;
        }

        @Override
        public void run() {
            try {
                while (!stop) {
                    round();
                    Thread.sleep(pause);
                }
                check();
                client.close();
            } catch (Exception e) {
                e.printStackTrace();
                wrong();
            }
            synchronized (this) {
                over = true;
                notifyAll();
            }
        }

        private void round() throws Exception {
            CountDownLatch answered = new CountDownLatch(window);
            int before = lost();
            for (int i = 0; i < window; i++) {
                long number = ++sent;
                client.set(Long.toString(number).getBytes(StandardCharsets.UTF_8), (code, stat) -> {
                    take(number, code, stat);
                    answered.countDown();
                });
            }
            answered.await();
            if (lost() > before) {
                check();
            }
            int now = client.port();
            synchronized (this) {
                port = now;
                rounds++;
                notifyAll();
            }
        }

        private synchronized int lost() {
            return lost;
        }

        private synchronized void wrong() {
            wrong++;
        }

        private synchronized void take(long number, int code, Stat stat) {
            if (code == KeeperException.Code.OK.intValue()) {
                done++;
                acked = number;
                is(stat, 1);
            } else if (code == KeeperException.Code.CONNECTIONLOSS.intValue()) {
                lost++;
            } else {
                wrong++;
            }
        }

        /** Each write that was executed makes one version. Those that were not acknowledged were lost. */
        private void is(Stat stat, int acknowledged) {
            int more = stat.getVersion() - version - acknowledged;
            executed += more;
            wrong += more < 0 || executed > lost ? 1 : 0;
            version = stat.getVersion();
            long now = System.nanoTime();
            silence = Math.max(silence, now - heard);
            heard = now;
        }

        /** Compares the znode with what was written. */
        private void check() throws Exception {
            for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(40);;) {
                try {
                    Stat stat = new Stat();
                    long number = Long.parseLong(new String(client.get(stat), StandardCharsets.UTF_8));
                    synchronized (this) {
                        is(stat, 0);
                        wrong += number < acked || number > sent ? 1 : 0;
                    }
                    return;
                } catch (KeeperException.ConnectionLossException e) {
                    if (System.nanoTime() > end) {
                        throw e;
                    }
                    Thread.sleep(20);
                }
            }
        }
    }

    /** ZooKeeper's client, which tells where it is connected. */
    static class Visible extends ZooKeeper {
        Visible(String servers, int timeout, Watcher watcher, boolean readOnly) throws Exception {
            super(servers, timeout, watcher, readOnly);
        }

        int port() {
            SocketAddress server = testableRemoteSocketAddress();
            return server == null ? 0 : ((InetSocketAddress) server).getPort();
        }
    }

    /** A client without any library above it. */
    static class Plain implements Client {
        private final Visible zk;
        private final String path;

        Plain(String servers, String path, Session session) throws Exception {
            this.path = path;
            CountDownLatch connected = new CountDownLatch(1);
            zk = new Visible(servers, 30000, e -> {
                if (e.getState() == Watcher.Event.KeeperState.SyncConnected) {
                    connected.countDown();
                } else if (e.getState() == Watcher.Event.KeeperState.Disconnected) {
                    session.ended();
                }
            }, false);
            if (!connected.await(30, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not connected");
            }
            zk.create(path, "0".getBytes(StandardCharsets.UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
        }

        @Override
        public void set(byte[] data, Answer answer) {
            zk.setData(path, data, -1, (rc, p, context, stat) -> answer.take(rc, stat), null);
        }

        @Override
        public byte[] get(Stat stat) throws Exception {
            return zk.getData(path, false, stat);
        }

        @Override
        public int port() {
            return zk.port();
        }

        @Override
        public void close() throws Exception {
            zk.close();
        }
    }
}
