import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/** Submits a topology, watches it until it reads "stop", and checks what it has processed. */
public class Job {
    static final String NAME = "numbers";
    static final int WORKERS = 2;
    /** A run that has processed fewer numbers is none. */
    static final int LEAST = 5_000;

    public static void main(String[] args) throws Exception {
        Work work = new Work("Nimbus was killed");
        Path acked = Files.createDirectory(Path.of(args[0], "acked"));
        Path done = Files.createDirectory(Path.of(args[0], "done"));
        Map<String, Object> settings = Utils.readStormConfig();
        submit(acked, done);
        Thread asking = new Thread(() -> ask(settings, work));
        long seen = 0, last = 0;
        while (!work.stopped() || seen == 0) {
            long size = 0, now = System.nanoTime();
            for (Path file : files(acked)) {
                size += Files.size(file);
            }
            if (size > seen) {
                if (seen == 0 && files(acked).size() >= WORKERS) {
                    System.out.println("ready");
                    asking.start();
                    last = now;
                } else if (last != 0) {
                    work.waited("time without a processed number", last, now);
                    last = now;
                }
                seen = last == 0 ? 0 : size;
            }
            TimeUnit.MILLISECONDS.sleep(10);
        }
        asking.join();
        List<String> numbers = lines(acked); // first: a number is noted there last
        Set<String> processed = new HashSet<>(lines(done));
        long lost = numbers.stream().filter(n -> !processed.contains(n)).count();
        Work.check("numbers", lost == 0 && numbers.size() >= LEAST, "%d acknowledged, %d of them lost",
            numbers.size(), lost);
        Work.check("topology", active(settings), "Nimbus has it, and it is active");
        Work.felt("tasks that started again", files(acked).size() + files(done).size() - 2 * WORKERS);
        work.print();
        try (NimbusClient nimbus = NimbusClient.Builder.withConf(settings).build()) {
            KillOptions now = new KillOptions();
            now.set_wait_secs(0);
            nimbus.getClient().killTopologyWithOpts(NAME, now);
        }
        System.exit(0);
    }

    static void submit(Path acked, Path done) throws Exception {
        TopologyBuilder topology = new TopologyBuilder();
        topology.setSpout("spout", new Spout(acked.toString()), WORKERS);
        topology.setBolt("bolt", new Bolt(done.toString()), WORKERS).shuffleGrouping("spout");
        Config config = new Config();
        config.setNumWorkers(WORKERS);
        config.setMaxSpoutPending(50);
        StormSubmitter.submitTopology(NAME, config, topology.createTopology());
    }

    /** Asks Nimbus again and again, as its pages do. */
    static void ask(Map<String, Object> settings, Work work) {
        long last = System.nanoTime();
        while (!work.stopped()) {
            if (active(settings)) {
                long now = System.nanoTime();
                work.waited("time without an answer of Nimbus", last, now);
                last = now;
            }
            Utils.sleep(200);
        }
    }

    static boolean active(Map<String, Object> settings) {
        try (NimbusClient nimbus = NimbusClient.Builder.withConf(settings).build()) {
            List<TopologySummary> all = nimbus.getClient().getTopologySummaries();
            return all.size() == 1 && all.get(0).get_status().equals("ACTIVE");
        } catch (Exception e) {
            System.out.println("Nimbus: " + e);
            return false;
        }
    }

    static List<Path> files(Path folder) throws IOException {
        try (var all = Files.list(folder)) {
            return all.toList();
        }
    }

    /** All whole lines of the files in a folder. */
    static List<String> lines(Path folder) throws IOException {
        List<String> all = new ArrayList<>();
        for (Path file : files(folder)) {
            String text = Files.readString(file);
            all.addAll(text.substring(0, text.lastIndexOf('\n') + 1).lines().toList());
        }
        return all;
    }

    static PrintStream create(String folder) {
        try {
            return new PrintStream(Files.newOutputStream(Path.of(folder, UUID.randomUUID().toString())), true);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Emits numbers, each again until it is acknowledged, and notes those that are. */
    public static class Spout extends BaseRichSpout {
        private final String folder;
        private final Queue<String> failed = new ArrayDeque<>();
        private transient PrintStream acked;
        private transient SpoutOutputCollector collector;
        private String name;
        private int next;

        Spout(String folder) {
            this.folder = folder;
        }

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            this.collector = collector;
            acked = create(folder);
            name = UUID.randomUUID().toString();
        }

        @Override
        public void nextTuple() {
            String number = failed.isEmpty() ? name + " " + next++ : failed.remove();
            collector.emit(new Values(number), number);
            Utils.sleep(5);
        }

        @Override
        public void ack(Object number) {
            acked.println(number);
        }

        @Override
        public void fail(Object number) {
            failed.add((String) number);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("number"));
        }
    }

    /** Notes each number that it processes. */
    public static class Bolt extends BaseRichBolt {
        private final String folder;
        private transient PrintStream done;
        private transient OutputCollector collector;

        Bolt(String folder) {
            this.folder = folder;
        }

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            this.collector = collector;
            done = create(folder);
        }

        @Override
        public void execute(Tuple tuple) {
            done.println(tuple.getString(0));
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
        }
    }
}
