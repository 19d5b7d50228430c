import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;

/** Sends messages to topics, and creates more topics, until it reads "stop", and then reads all messages. */
public class Job {
    static final int TOPICS = 8;
    /** Messages a second. */
    static final int RATE = 200;
    /** Messages that are sent but not acknowledged. */
    static final int WINDOW = 500;
    /** A run that has sent fewer is none. */
    static final int LEAST = 8_000;
    static final String READER = "reader";

    final Work work = new Work("the broker was killed");
    final PulsarClient client;
    final PulsarAdmin admin;
    final int[] sent = new int[TOPICS];
    final List<String> created = new ArrayList<>();
    int refused;

    public static void main(String[] args) throws Exception {
        new Job(args[0], args[1]).run();
        System.exit(0);
    }

    Job(String service, String pages) throws Exception {
        client = PulsarClient.builder().serviceUrl(service).build();
        admin = PulsarAdmin.builder().serviceHttpUrl(pages).requestTimeout(30, TimeUnit.SECONDS).build();
    }

    void run() throws Exception {
        for (int t = 0; t < TOPICS; t++) {
            String topic = main(t);
            insist("create " + topic, () -> create(topic));
        }
        Thread creator = new Thread(this::createTopics);
        send(creator);
        creator.join();
        check();
        Work.felt("requests to the brokers that failed and were repeated", refused);
        work.print();
    }

    static String main(int t) {
        return "persistent://public/default/numbers-" + t;
    }

    /** Creates a topic with a subscription, which keeps its messages. */
    void create(String topic) throws PulsarAdminException {
        if (!admin.topics().getList("public/default").contains(topic)) {
            admin.topics().createNonPartitionedTopic(topic);
        }
        if (!admin.topics().getSubscriptions(topic).contains(READER)) {
            admin.topics().createSubscription(topic, READER, MessageId.earliest);
        }
    }

    interface Request {
        void run() throws Exception;
    }

    /** Repeats a request until it succeeds. */
    void insist(String what, Request request) {
        for (;;) {
            try {
                request.run();
                return;
            } catch (Exception e) {
                System.out.println(what + ": " + e);
                synchronized (this) {
                    refused++;
                }
                LockSupport.parkNanos(500_000_000);
            }
        }
    }

    /** Sends numbers to the topics in turn. */
    void send(Thread creator) throws Exception {
        List<Producer<byte[]>> producers = new ArrayList<>();
        for (int t = 0; t < TOPICS; t++) {
            int topic = t;
            insist("a producer", () -> producers.add(client.newProducer().topic(main(topic))
                .producerName("job-" + topic).sendTimeout(0, TimeUnit.SECONDS).blockIfQueueFull(true).create()));
        }
        Semaphore window = new Semaphore(WINDOW);
        AtomicBoolean begun = new AtomicBoolean();
        long began = System.nanoTime();
        int i = 0;
        for (; !work.stopped() || i < LEAST; i++) {
            int t = i % TOPICS;
            window.acquire();
            long sending = System.nanoTime();
            producers.get(t).sendAsync(bytes(sent[t]++)).whenComplete((id, e) -> {
                if (e != null) {
                    throw new IllegalStateException(e); // there is no time limit
                }
                if (begun.compareAndSet(false, true)) {
                    System.out.println("ready");
                    creator.start();
                } else {
                    work.waited("time until a message was acknowledged", sending, System.nanoTime());
                }
                window.release();
            });
            LockSupport.parkNanos(began + (i + 1L) * 1_000_000_000L / RATE - System.nanoTime());
        }
        window.acquire(WINDOW); // all are acknowledged
        for (Producer<byte[]> p : producers) {
            p.close();
        }
    }

    static byte[] bytes(int number) {
        return Integer.toString(number).getBytes(StandardCharsets.UTF_8);
    }

    /** Creates one topic after the other, each with a subscription and then a message. */
    void createTopics() {
        for (int i = 0; !work.stopped(); i++) {
            String topic = "persistent://public/default/topic-" + i;
            byte[] number = bytes(i);
            long began = System.nanoTime();
            insist("create " + topic, () -> create(topic));
            insist("send to " + topic, () -> {
                try (Producer<byte[]> p = client.newProducer().topic(topic).create()) {
                    p.send(number);
                }
            });
            work.waited("creation of a topic with a message", began, System.nanoTime());
            created.add(topic);
            LockSupport.parkNanos(began + 1_000_000_000L - System.nanoTime());
        }
    }

    void check() {
        int acknowledged = 0, lost = 0, twice = 0, disordered = 0;
        for (int t = 0; t < TOPICS; t++) {
            BitSet seen = new BitSet();
            int highest = -1;
            for (int number : read(main(t), sent[t])) {
                twice += seen.get(number) ? 1 : 0;
                disordered += number < highest && !seen.get(number) ? 1 : 0;
                seen.set(number);
                highest = Math.max(highest, number);
            }
            acknowledged += sent[t];
            lost += sent[t] - seen.get(0, sent[t]).cardinality();
        }
        Work.check("messages", lost == 0 && twice == 0 && disordered == 0,
            "%d acknowledged, %d lost, %d twice, %d out of order", acknowledged, lost, twice, disordered);
        int wrong = 0;
        for (int i = 0; i < created.size(); i++) {
            wrong += read(created.get(i), 1).contains(i) ? 0 : 1;
        }
        Work.check("topics", wrong == 0 && !created.isEmpty(), "%d created, %d of them without their message",
            created.size(), wrong);
    }

    /** Reads what a topic has for its subscription, until there is nothing for a while after so many messages. */
    List<Integer> read(String topic, int expected) {
        List<Integer> all = new ArrayList<>();
        insist("read " + topic, () -> {
            all.clear();
            try (Consumer<byte[]> reader = client.newConsumer().topic(topic).subscriptionName(READER).subscribe()) {
                reader.seek(MessageId.earliest);
                for (;;) {
                    Message<byte[]> m = reader.receive(all.size() < expected ? 10_000 : 50, TimeUnit.MILLISECONDS);
                    if (m == null) {
                        break;
                    }
                    all.add(Integer.parseInt(new String(m.getData(), StandardCharsets.UTF_8)));
                }
            }
        });
        return all;
    }
}
