import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryForever;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

/** Uses Curator's recipes with several clients until it reads "stop", then compares what they have left. */
public class Job {
    static final int CLIENTS = 3;

    static final AtomicInteger lost = new AtomicInteger(), suspended = new AtomicInteger(),
        errors = new AtomicInteger();
    static final Map<String, Long> longest = new TreeMap<>();

    interface Work {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Control.start("");
        List<Thread> all = new ArrayList<>();
        List<Member> members = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            Member m = new Member(args[0], i);
            members.add(m);
            all.add(new Thread(() -> untilStopped("lock", m::underLock)));
            all.add(new Thread(() -> untilStopped("number", m::add)));
        }
        for (int i = 0; i < Leader.CLIENTS; i++) {
            Leader.start(args[0]);
        }
        while (Leader.latches.leading.get() == 0 || Leader.selectors.leading.get() == 0) {
            TimeUnit.MILLISECONDS.sleep(10);
        }
        System.out.println("ready");
        all.forEach(Thread::start);
        for (Thread t : all) {
            t.join();
        }
        Member.check(members);
        Leader.latches.check("LeaderLatch");
        Leader.selectors.check("LeaderSelector");
        felt("sessions lost", "%d", lost.get());
        felt("connections suspended", "%d", suspended.get());
        felt("errors that reached a user", "%d", errors.get());
        longest.forEach((name, ns) -> felt(name, "%.1f s", ns / 1e9));
        System.exit(0);
    }

    static void untilStopped(String what, Work work) {
        while (!Control.stopped) {
            try {
                work.run();
            } catch (Exception e) {
                errors.incrementAndGet();
                System.out.println(what + ": " + e);
            }
            LockSupport.parkNanos(20_000_000);
        }
    }

    static synchronized void timed(long began, String what) {
        longest.merge("longest time " + what, System.nanoTime() - began, Math::max);
    }

    static void say(String name, boolean ok, String format, Object... args) {
        System.out.println("check " + name + ": " + (ok ? "ok " : "failed ") + String.format(format, args));
    }

    static void felt(String name, String format, Object... args) {
        System.out.println("felt " + name + ": " + String.format(format, args));
    }

    /** Clients with Curator's own settings, of which one leads for the whole run unless it loses its connection. */
    static class Leader {
        static final int CLIENTS = 2;
        static final Leader latches = new Leader(), selectors = new Leader();

        final AtomicInteger leading = new AtomicInteger(), shared = new AtomicInteger(), givenUp = new AtomicInteger();

        static void start(String connect) throws Exception {
            CuratorFramework client = CuratorFrameworkFactory.newClient(connect, new RetryForever(100));
            client.start();
            LeaderLatch latch = new LeaderLatch(client, "/latch");
            latch.addListener(latches.new Listener());
            latch.start();
            LeaderSelector selector = new LeaderSelector(client, "/selector", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework c) throws Exception {
                    selectors.lead();
                    try {
                        Thread.currentThread().join(); // until it is interrupted
                    } finally {
                        selectors.giveUp();
                    }
                }
            });
            selector.autoRequeue();
            selector.start();
        }

        class Listener implements LeaderLatchListener {
            @Override
            public void isLeader() {
                lead();
            }

            @Override
            public void notLeader() {
                giveUp();
            }
        }

        void lead() {
            if (leading.incrementAndGet() > 1) {
                shared.incrementAndGet();
            }
        }

        void giveUp() {
            leading.decrementAndGet();
            givenUp.incrementAndGet();
        }

        void check(String recipe) throws InterruptedException {
            for (int tries = 0; leading.get() == 0 && tries < 3_000; tries++) { // the last kill was a moment ago
                TimeUnit.MILLISECONDS.sleep(10);
            }
            say(recipe, leading.get() == 1 && shared.get() == 0, "%d leads, %d times two did", leading.get(),
                shared.get());
            felt("times that leadership by a " + recipe + " was given up", "%d", givenUp.get());
        }
    }

    /** One client with all of its recipes. */
    static class Member {
        static final AtomicInteger inside = new AtomicInteger(), overlaps = new AtomicInteger(),
            turns = new AtomicInteger();
        static final AtomicInteger leading = new AtomicInteger(), terms = new AtomicInteger(),
            shared = new AtomicInteger();
        static final AtomicInteger added = new AtomicInteger();

        final CuratorFramework client;
        final InterProcessMutex mutex;
        final DistributedAtomicLong number;

        Member(String connect, int id) throws Exception {
            client = CuratorFrameworkFactory.newClient(connect, 8_000, 5_000, new RetryForever(100));
            client.getConnectionStateListenable().addListener((c, state) -> {
                if (state == ConnectionState.LOST) {
                    lost.incrementAndGet();
                } else if (state == ConnectionState.SUSPENDED) {
                    suspended.incrementAndGet();
                }
            });
            client.start();
            if (!client.blockUntilConnected(60, TimeUnit.SECONDS)) {
                throw new IllegalStateException("not connected");
            }
            if (id == 0) {
                client.create().forPath("/locked", "0".getBytes());
            }
            mutex = new InterProcessMutex(client, "/lock");
            number = new DistributedAtomicLong(client, "/number", new RetryNTimes(1_000, 20));
            LeaderSelector selector = new LeaderSelector(client, "/leader", new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework c) throws Exception {
                    terms.incrementAndGet();
                    if (leading.incrementAndGet() > 1) {
                        shared.incrementAndGet();
                    }
                    try {
                        Thread.sleep(100);
                    } finally {
                        leading.decrementAndGet();
                    }
                }
            });
            selector.autoRequeue();
            selector.start();
            new PersistentNode(client, CreateMode.EPHEMERAL, false, "/members/" + id, new byte[0]).start();
        }

        void underLock() throws Exception {
            long began = System.nanoTime();
            mutex.acquire();
            try {
                timed(began, "for a lock");
                if (inside.incrementAndGet() > 1) {
                    overlaps.incrementAndGet();
                }
                try {
                    int n = Integer.parseInt(new String(client.getData().forPath("/locked")));
                    client.setData().forPath("/locked", String.valueOf(n + 1).getBytes());
                    turns.incrementAndGet();
                } finally {
                    inside.decrementAndGet();
                }
            } finally {
                mutex.release();
            }
        }

        void add() throws Exception {
            long began = System.nanoTime();
            AtomicValue<Long> result = number.increment();
            timed(began, "to add to a number");
            if (result.succeeded()) {
                added.incrementAndGet();
            }
        }

        static void check(List<Member> members) throws Exception {
            CuratorFramework client = members.get(0).client;
            int have = Integer.parseInt(new String(client.getData().forPath("/locked")));
            say("lock", have == turns.get() && overlaps.get() == 0 && have > 0,
                "%d turns, %d overlapped, the number is %d", turns.get(), overlaps.get(), have);
            long value = members.get(0).number.get().postValue();
            // Curator asks again when it has lost an answer, so that one addition may be done twice.
            say("number", value >= added.get() && added.get() > 0, "%d added, the number is %d", added.get(), value);
            felt("additions that were done twice", "%d", value - added.get());
            say("leaders", shared.get() == 0 && terms.get() > 0, "%d terms, %d overlapped", terms.get(), shared.get());
            int nodes = client.getChildren().forPath("/members").size();
            say("nodes", nodes == CLIENTS, "%d of %d there", nodes, CLIENTS);
        }
    }
}
