import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBase;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedValue;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceProvider;
import org.apache.curator.x.discovery.ServiceType;
import org.apache.curator.x.discovery.UriSpec;
import org.apache.zookeeper.CreateMode;

/**
 * Does with Curator's recipes what the lines of its input say, one after the other, and answers each with a line: "OK" and a
 * result, or "ERR" and why. Everything happens in one thread, because Curator's locks belong to threads.
 */
public class Agent {
    static final int WAIT_S = 60;
    static final int BUSY_MS = 300;

    final CuratorFramework c;
    final Map<String, Object> kept = new HashMap<>();

    Agent(CuratorFramework c) {
        this.c = c;
    }

    public static void main(String[] args) throws Exception {
        CuratorFramework c = CuratorFrameworkFactory.newClient(args[0], 30_000, 30_000, new RetryOneTime(500));
        c.start();
        Agent agent = new Agent(c);
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            String[] words = in.nextLine().split(" ");
            String answer;
            try {
                Object result = agent.run(words[0], Arrays.copyOfRange(words, 1, words.length));
                answer = "OK " + result;
            } catch (Throwable e) {
                answer = "ERR " + e;
            }
            System.out.println(answer.replace('\n', ' '));
        }
        c.close();
    }

    @SuppressWarnings("unchecked")
    <T> T keep(String name, Make<T> make) throws Exception {
        if (!kept.containsKey(name)) {
            kept.put(name, make.make());
        }
        return (T) kept.get(name);
    }

    interface Make<T> {
        T make() throws Exception;
    }

    InterProcessLock lock(String kind, String path) throws Exception {
        switch (kind) {
            case "mutex":
                return keep("mutex " + path, () -> new InterProcessMutex(c, path));
            case "multi":
                return keep("multi " + path, () -> new InterProcessMultiLock(c, List.of(path + "/a", path + "/b")));
            default:
                InterProcessReadWriteLock both = keep("rw " + path, () -> new InterProcessReadWriteLock(c, path));
                return kind.equals("read") ? both.readLock() : both.writeLock();
        }
    }

    Object run(String command, String[] a) throws Exception {
        switch (command) {
            case "lock":
                return lock(a[0], a[1]).acquire(WAIT_S, TimeUnit.SECONDS);
            case "trylock":
                return lock(a[0], a[1]).acquire(BUSY_MS, TimeUnit.MILLISECONDS);
            case "unlock":
                lock(a[0], a[1]).release();
                return "";
            case "increment": // a znode, under a lock, without looking at versions
                for (int i = 0; i < Integer.parseInt(a[3]); i++) {
                    lock(a[0], a[1]).acquire();
                    int n = Integer.parseInt(new String(c.getData().forPath(a[2]), StandardCharsets.UTF_8));
                    c.setData().forPath(a[2], Integer.toString(n + 1).getBytes(StandardCharsets.UTF_8));
                    lock(a[0], a[1]).release();
                }
                return "";
            case "revocable":
                BlockingQueue<String> asked = keep("revoked " + a[0], LinkedBlockingQueue::new);
                ((InterProcessMutex) lock("mutex", a[0])).makeRevocable(l -> asked.add("revoked"));
                return "";
            case "revoked":
                BlockingQueue<String> revoked = keep("revoked " + a[0], LinkedBlockingQueue::new);
                return revoked.poll(WAIT_S, TimeUnit.SECONDS);
            case "revoke":
                Revoker.attemptRevoke(c, ((InterProcessMutex) lock("mutex", a[0])).getParticipantNodes().iterator().next());
                return "";
            case "permit":
                Lease lease = keep("semaphore " + a[0], () -> new InterProcessSemaphoreV2(c, a[0], Integer.parseInt(a[1])))
                    .acquire(a[2].equals("try") ? BUSY_MS : WAIT_S * 1000, TimeUnit.MILLISECONDS);
                if (lease != null) {
                    kept.put("lease " + a[0], lease);
                }
                return lease != null;
            case "return":
                ((Lease) kept.remove("lease " + a[0])).close();
                return "";
            default:
                return more(command, a);
        }
    }

    Object more(String command, String[] a) throws Exception {
        switch (command) {
            case "latch":
                LeaderLatch latch = keep("latch " + a[0], () -> new LeaderLatch(c, a[0], a[1]));
                latch.start();
                return "";
            case "leads":
                return ((LeaderLatch) kept.get("latch " + a[0])).await(Long.parseLong(a[1]), TimeUnit.MILLISECONDS);
            case "leader":
                return ((LeaderLatch) kept.get("latch " + a[0])).getLeader().getId();
            case "resign":
                ((LeaderLatch) kept.remove("latch " + a[0])).close();
                return "";
            case "select":
                BlockingQueue<String> terms = keep("terms " + a[0], LinkedBlockingQueue::new);
                BlockingQueue<String> ends = keep("ends " + a[0], LinkedBlockingQueue::new);
                LeaderSelector selector = keep("selector " + a[0], () -> new LeaderSelector(c, a[0], new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework client) throws Exception {
                        terms.add("leads");
                        ends.take();
                    }
                }));
                selector.setId(a[1]);
                selector.start();
                return "";
            case "selected":
                return ((BlockingQueue<?>) kept.get("terms " + a[0])).poll(Long.parseLong(a[1]), TimeUnit.MILLISECONDS);
            case "deselect":
                BlockingQueue<String> end = keep("ends " + a[0], LinkedBlockingQueue::new);
                end.add("end");
                return "";
            case "barrier":
                DistributedBarrier barrier = new DistributedBarrier(c, a[0]);
                switch (a[1]) {
                    case "set":
                        barrier.setBarrier();
                        return "";
                    case "remove":
                        barrier.removeBarrier();
                        return "";
                    default:
                        return barrier.waitOnBarrier(Long.parseLong(a[1]), TimeUnit.MILLISECONDS);
                }
            case "enter":
                return keep("double " + a[0], () -> new DistributedDoubleBarrier(c, a[0], Integer.parseInt(a[1]))).enter(WAIT_S, TimeUnit.SECONDS);
            case "leave":
                return ((DistributedDoubleBarrier) kept.get("double " + a[0])).leave(WAIT_S, TimeUnit.SECONDS);
            case "count":
                SharedCount count = new SharedCount(c, a[0], Integer.parseInt(a[1]));
                count.start();
                if (a.length > 2) {
                    count.setCount(Integer.parseInt(a[2]));
                }
                int n = count.getCount();
                count.close();
                return n;
            case "value":
                SharedValue value = new SharedValue(c, a[0], a[1].getBytes(StandardCharsets.UTF_8));
                value.start();
                if (a.length > 2) {
                    value.setValue(a[2].getBytes(StandardCharsets.UTF_8));
                }
                String text = new String(value.getValue(), StandardCharsets.UTF_8);
                value.close();
                return text;
            case "long":
                return new DistributedAtomicLong(c, a[0], new RetryOneTime(10)).add(Long.parseLong(a[1])).postValue();
            case "integer":
                return new DistributedAtomicInteger(c, a[0], new RetryOneTime(10)).add(Integer.parseInt(a[1])).postValue();
            case "join":
                keep("member " + a[0], () -> new GroupMember(c, a[0], a[1], a[2].getBytes(StandardCharsets.UTF_8))).start();
                return "";
            case "mark": // an ephemeral znode that shows which session this is
                c.create().creatingParentsIfNeeded().withMode(CreateMode.EPHEMERAL).forPath(a[0]);
                return "";
            case "offer":
                return new SimpleDistributedQueue(c, a[0]).offer(a[1].getBytes(StandardCharsets.UTF_8));
            case "hold": // takes an item and keeps it until the program ends
                queue("queue", a[0], new QueueConsumer<String>() {
                    @Override
                    public void consumeMessage(String item) throws Exception {
                        Thread.sleep(Long.MAX_VALUE);
                    }

                    @Override
                    public void stateChanged(CuratorFramework client, ConnectionState state) {
                    }
                });
                return "";
            case "members":
                Map<String, byte[]> members = ((GroupMember) kept.get("member " + a[0])).getCurrentMembers();
                List<String> list = new ArrayList<>();
                for (String id : new TreeSet<>(members.keySet())) {
                    list.add(id + "=" + new String(members.get(id), StandardCharsets.UTF_8));
                }
                return String.join(",", list);
            default:
                return queues(command, a);
        }
    }

    static final QueueSerializer<String> TEXT = new QueueSerializer<String>() {
        @Override
        public byte[] serialize(String item) {
            return item.getBytes(StandardCharsets.UTF_8);
        }

        @Override
        public String deserialize(byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
    };

    static QueueConsumer<String> consumer(BlockingQueue<String> to) {
        return new QueueConsumer<String>() {
            @Override
            public void consumeMessage(String item) {
                to.add(item);
            }

            @Override
            public void stateChanged(CuratorFramework client, ConnectionState state) {
            }
        };
    }

    /** Opens a queue to put (no consumer) or to take. */
    QueueBase<String> queue(String kind, String path, QueueConsumer<String> consumer) throws Exception {
        QueueBuilder<String> builder = QueueBuilder.builder(c, consumer, TEXT, path + "/items").lockPath(path + "/locks");
        QueueBase<String> q = kind.equals("priority") ? builder.buildPriorityQueue(0) : kind.equals("delay") ? builder.buildDelayQueue() : builder.buildQueue();
        q.start();
        return q;
    }

    Object queues(String command, String[] a) throws Exception {
        switch (command) {
            case "put": { // kind path key items
                QueueBase<String> q = queue(a[0], a[1], null);
                switch (a[0]) {
                    case "priority":
                        ((DistributedPriorityQueue<String>) q).put(a[3], Integer.parseInt(a[2]));
                        ((DistributedPriorityQueue<String>) q).flushPuts(WAIT_S, TimeUnit.SECONDS);
                        break;
                    case "delay":
                        ((DistributedDelayQueue<String>) q).put(a[3], Long.parseLong(a[2]));
                        ((DistributedDelayQueue<String>) q).flushPuts(WAIT_S, TimeUnit.SECONDS);
                        break;
                    default:
                        ((DistributedQueue<String>) q).put(a[3]);
                        ((DistributedQueue<String>) q).flushPuts(WAIT_S, TimeUnit.SECONDS);
                }
                q.close();
                return "";
            }
            case "take": { // kind path items batches
                BlockingQueue<String> items = new LinkedBlockingQueue<>();
                int left = c.getChildren().forPath(a[1] + "/items").size();
                QueueBase<String> q = queue(a[0], a[1], consumer(items));
                List<String> got = new ArrayList<>();
                for (int i = 0; i < Integer.parseInt(a[2]); i++) {
                    got.add(items.poll(WAIT_S, TimeUnit.SECONDS));
                }
                left -= Integer.parseInt(a[3]);
                for (int i = 0; i < WAIT_S * 100 && c.getChildren().forPath(a[1] + "/items").size() > left; i++) {
                    Thread.sleep(10); // an item is removed after it was consumed
                }
                q.close();
                return String.join(",", got);
            }
            default:
                return discovery(command, a);
        }
    }

    public static class Payload {
        public String zone;
        public int weight;
    }

    Object discovery(String command, String[] a) throws Exception {
        ServiceDiscovery<Payload> d = keep("discovery " + a[0], () -> {
            ServiceDiscovery<Payload> made = ServiceDiscoveryBuilder.builder(Payload.class).client(c).basePath(a[0]).build();
            made.start();
            return made;
        });
        switch (command) {
            case "register": { // base name id type port
                Payload p = new Payload();
                p.zone = "z1";
                p.weight = 3;
                ServiceInstance<Payload> s = ServiceInstance.<Payload>builder().name(a[1]).id(a[2]).serviceType(ServiceType.valueOf(a[3]))
                    .address("10.0.0.1").port(Integer.parseInt(a[4])).payload(p).uriSpec(new UriSpec("{scheme}://{address}:{port}/java")).build();
                d.registerService(s);
                kept.put("instance " + a[2], s);
                return "";
            }
            case "unregister":
                d.unregisterService(instance(a[1]));
                return "";
            case "names": {
                List<String> names = new ArrayList<>(d.queryForNames());
                Collections.sort(names);
                return String.join(",", names);
            }
            case "query": {
                List<String> all = new ArrayList<>();
                for (ServiceInstance<Payload> s : d.queryForInstances(a[1])) {
                    Payload p = s.getPayload();
                    all.add(s.getId() + "|" + s.getAddress() + "|" + s.getPort() + "|" + s.getSslPort() + "|" + s.getServiceType() + "|" + s.isEnabled() + "|"
                        + (p == null ? "null" : p.zone + p.weight) + "|" + (s.getUriSpec() == null ? "null" : s.buildUriSpec()));
                }
                Collections.sort(all);
                return String.join(",", all);
            }
            case "pick": { // base name id: waits until the provider offers the instance
                ServiceProvider<Payload> provider = d.serviceProviderBuilder().serviceName(a[1]).build();
                provider.start();
                for (int i = 0; i < WAIT_S * 100; i++) {
                    ServiceInstance<Payload> s = provider.getInstance();
                    if (s != null && s.getId().equals(a[2])) {
                        provider.close();
                        return s.getId();
                    }
                    Thread.sleep(10);
                }
                throw new IllegalStateException("never offered");
            }
            default:
                throw new IllegalArgumentException(command);
        }
    }

    @SuppressWarnings("unchecked")
    ServiceInstance<Payload> instance(String id) {
        return (ServiceInstance<Payload>) kept.get("instance " + id);
    }
}
