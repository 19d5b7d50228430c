import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends records and creates topics until it reads "stop", then reads and compares everything. */
public class Job {
    /** Records a second: as many as two cores that do much else can replicate. */
    static final int RATE = 800;
    /** A run that has sent fewer is none. */
    static final int LEAST = 20_000;

    public static void main(String[] args) throws Exception {
        Control.start("before the broker was killed");
        Topics topics = new Topics(args[0]);
        Records records = new Records(args[0]);
        records.createTopic();
        Thread creator = new Thread(topics::create);
        records.send(() -> {
            System.out.println("ready");
            creator.start();
        });
        creator.join();
        records.check();
        topics.check();
        records.tell();
        topics.tell();
        System.exit(0);
    }

    static void say(String name, boolean ok, String format, Object... args) {
        System.out.println("check " + name + ": " + (ok ? "ok " : "failed ") + String.format(format, args));
    }

    static void felt(String name, String format, Object... args) {
        System.out.println("felt " + name + ": " + String.format(format, args));
    }

    static Properties client(String bootstrap) {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        return p;
    }

    /** The longest time in each half of the run. */
    static class Longest {
        private final Map<String, Long> longest = new TreeMap<>();

        synchronized void note(long ns) {
            longest.merge(Control.half, ns, Math::max);
        }

        synchronized void forget() {
            longest.clear();
        }

        synchronized void tell(String name) {
            longest.forEach((part, ns) -> felt(name + ", " + part, "%.1f s", ns / 1e9));
        }
    }

    /** Records that are acknowledged by all replicas that are in sync. */
    static class Records {
        final String bootstrap;
        final Longest gap = new Longest();
        final BitSet acknowledged = new BitSet();
        int sent, errors;
        long last;

        Records(String bootstrap) {
            this.bootstrap = bootstrap;
        }

        void createTopic() throws Exception {
            try (Admin admin = Admin.create(client(bootstrap))) {
                while (admin.describeCluster().nodes().get(60, TimeUnit.SECONDS).size() < 3) {
                    LockSupport.parkNanos(100_000_000);
                }
                admin.createTopics(List.of(new NewTopic("records", 3, (short) 3))).all().get(60, TimeUnit.SECONDS);
            }
        }

        /** Calls begun when the first record is acknowledged: what is measured begins with it. */
        void send(Runnable begun) throws Exception {
            Properties p = client(bootstrap);
            p.put("acks", "all");
            p.put("delivery.timeout.ms", "120000");
            p.put("linger.ms", "5");
            try (KafkaProducer<String, String> producer =
                    new KafkaProducer<>(p, new StringSerializer(), new StringSerializer())) {
                last = System.nanoTime();
                send(producer, sent++).get();
                gap.forget();
                begun.run();
                for (long began = System.nanoTime(); !Control.stopped || sent < LEAST; sent++) {
                    int i = sent;
                    send(producer, i);
                    LockSupport.parkNanos(began + (i + 1L) * 1_000_000_000L / RATE - System.nanoTime());
                }
            }
        }

        Future<RecordMetadata> send(KafkaProducer<String, String> producer, int i) {
            return producer.send(new ProducerRecord<>("records", "key-" + i, String.valueOf(i)),
                (where, e) -> acknowledge(i, e));
        }

        synchronized void acknowledge(int i, Exception e) {
            if (e != null) {
                errors++;
                System.out.println("record " + i + ": " + e);
                return;
            }
            acknowledged.set(i);
            long now = System.nanoTime();
            gap.note(now - last);
            last = now;
        }

        void check() {
            Properties p = client(bootstrap);
            p.put("group.id", "readers");
            p.put("auto.offset.reset", "earliest");
            BitSet read = new BitSet();
            int twice = 0, wrong = 0;
            try (KafkaConsumer<String, String> consumer =
                    new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of("records"));
                for (long deadline = System.nanoTime() + 60_000_000_000L; System.nanoTime() < deadline;) {
                    for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofSeconds(1))) {
                        int i = Integer.parseInt(r.value());
                        twice += read.get(i) ? 1 : 0;
                        wrong += r.key().equals("key-" + i) ? 0 : 1;
                        read.set(i);
                        deadline = System.nanoTime() + 20_000_000_000L;
                    }
                    if (read.cardinality() == sent) {
                        break;
                    }
                }
            }
            BitSet lost = (BitSet) acknowledged.clone();
            lost.andNot(read);
            say("records", lost.isEmpty() && twice == 0 && wrong == 0 && !acknowledged.isEmpty(),
                "%d acknowledged, %d lost, %d twice, %d wrong", acknowledged.cardinality(), lost.cardinality(), twice,
                wrong);
        }

        void tell() {
            felt("records that were not acknowledged", "%d", errors);
            gap.tell("longest time without an acknowledged record");
        }
    }

    /** Topics that are created, and one setting of each that is changed. */
    static class Topics {
        final Admin admin;
        final Longest longest = new Longest();
        final List<String> created = new ArrayList<>();
        int failed;

        Topics(String bootstrap) {
            admin = Admin.create(client(bootstrap));
        }

        void create() {
            for (int i = 0; !Control.stopped; i++) {
                String name = "topic-" + i;
                long began = System.nanoTime();
                try {
                    admin.createTopics(List.of(new NewTopic(name, 1, (short) 2))).all().get(60, TimeUnit.SECONDS);
                    admin.incrementalAlterConfigs(Map.of(of(name), List.of(new AlterConfigOp(
                        new ConfigEntry("retention.ms", retention(name)), AlterConfigOp.OpType.SET))))
                        .all().get(60, TimeUnit.SECONDS);
                    created.add(name);
                } catch (Exception e) {
                    failed++;
                    System.out.println(name + ": " + e);
                }
                longest.note(System.nanoTime() - began);
                LockSupport.parkNanos(began + 2_000_000_000L - System.nanoTime());
            }
        }

        static ConfigResource of(String name) {
            return new ConfigResource(ConfigResource.Type.TOPIC, name);
        }

        static String retention(String name) {
            return String.valueOf(1_000_000 + name.hashCode() % 1_000);
        }

        void check() throws Exception {
            int missing = 0;
            for (String name : created) {
                String have = admin.describeConfigs(List.of(of(name))).all().get(60, TimeUnit.SECONDS).get(of(name))
                    .get("retention.ms").value();
                missing += have.equals(retention(name)) ? 0 : 1;
            }
            say("topics", missing == 0 && !created.isEmpty(), "%d created and changed, %d of them missing or wrong",
                created.size(), missing);
        }

        void tell() {
            felt("topics that could not be created", "%d", failed);
            longest.tell("longest creation of a topic");
        }
    }
}
