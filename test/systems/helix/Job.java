import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.helix.HelixAdmin;
import org.apache.helix.manager.zk.ZKHelixAdmin;
import org.apache.helix.model.BuiltInStateModelDefinitions;
import org.apache.helix.model.ExternalView;
import org.apache.helix.model.IdealState.RebalanceMode;
import org.apache.helix.model.InstanceConfig;

/** With "create", makes a cluster. Otherwise waits until it reads "stop", and checks what the participants did. */
public class Job {
    static final String CLUSTER = "cluster", MODEL = "MasterSlave", RESOURCE = "shards";
    static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    static final int PARTITIONS = 12, REPLICAS = 2, PARTICIPANTS = 3;

    /** A moment at which a participant was the master of a partition. */
    record Beat(long at, String holder) {
    }

    public static void main(String[] args) throws Exception {
        HelixAdmin admin = new ZKHelixAdmin.Builder().setZkAddress(args[0]).build();
        if (args[1].equals("create")) {
            create(admin);
            System.exit(0);
        }
        Work work = new Work("a participant and the controller were killed");
        await(admin);
        TimeUnit.SECONDS.sleep(5); // partitions move to the participants that started last
        long began = System.nanoTime(), marked = Long.MAX_VALUE;
        System.out.println("ready");
        while (!work.stopped()) {
            if (work.marked()) {
                marked = Math.min(marked, System.nanoTime());
            }
            TimeUnit.MILLISECONDS.sleep(10);
        }
        Work.check("placement", await(admin), "%d partitions have a master and a slave each", placed(admin));
        long ended = System.nanoTime();
        int overlaps = 0, moved = 0;
        long overlap = 0;
        long[] longest = new long[2];
        Map<String, List<Beat>> beats = beats(Path.of(args[1]));
        for (List<Beat> all : beats.values()) {
            Collections.sort(all, (x, y) -> Long.compare(x.at, y.at));
            Beat last = new Beat(began, all.get(0).holder);
            for (Beat beat : all) {
                if (beat.at < began) {
                    last = beat;
                    continue;
                }
                int half = last.at < marked ? 0 : 1;
                longest[half] = Math.max(longest[half], beat.at - last.at);
                moved += half == 0 && !beat.holder.equals(last.holder) ? 1 : 0;
                last = beat;
            }
            longest[1] = Math.max(longest[1], ended - last.at);
            long both = bothUntil(all, began);
            overlaps += both > 0 ? 1 : 0;
            overlap = Math.max(overlap, both);
        }
        Work.check("masters", overlaps == 0 && beats.size() == PARTITIONS,
            "%d of %d partitions had one, %d two at once, for at most %.1f s", beats.size(), PARTITIONS, overlaps,
            overlap / 1e9);
        Work.felt("masters that moved before a participant was killed", moved);
        Work.felt("longest time without a master, before that", String.format("%.1f s", longest[0] / 1e9));
        Work.felt("longest time without a master, from then on", String.format("%.1f s", longest[1] / 1e9));
        System.exit(0);
    }

    /** How long two participants were the master of a partition at once, in ns. */
    static long bothUntil(List<Beat> all, long began) {
        List<Beat[]> terms = new ArrayList<>(); // the first and the last beat of each, in a row
        for (Beat beat : all) {
            Beat[] term = null;
            for (Beat[] t : terms) {
                term = t[1].holder.equals(beat.holder) && beat.at - t[1].at < SECOND ? t : term;
            }
            if (term == null) {
                terms.add(new Beat[] {beat, beat});
            } else {
                term[1] = beat;
            }
        }
        long longest = 0;
        for (Beat[] a : terms) {
            for (Beat[] b : terms) {
                if (a != b && a[0].at <= b[0].at && b[1].at >= began) {
                    longest = Math.max(longest, Math.min(a[1].at, b[1].at) - b[0].at);
                }
            }
        }
        return longest;
    }

    static void create(HelixAdmin admin) {
        admin.addCluster(CLUSTER);
        admin.addStateModelDef(CLUSTER, MODEL,
            BuiltInStateModelDefinitions.MasterSlave.getStateModelDefinition());
        for (int i = 0; i < PARTICIPANTS; i++) {
            InstanceConfig config = new InstanceConfig("participant-" + i);
            config.setHostName("127.0.0.1");
            config.setPort(Integer.toString(i));
            admin.addInstance(CLUSTER, config);
        }
        admin.addResource(CLUSTER, RESOURCE, PARTITIONS, MODEL, RebalanceMode.FULL_AUTO.name());
        admin.rebalance(CLUSTER, RESOURCE, REPLICAS);
    }

    /** Waits until every partition is placed, for a minute at most. */
    static boolean await(HelixAdmin admin) throws InterruptedException {
        for (int tries = 0; placed(admin) < PARTITIONS; tries++) {
            if (tries == 600) {
                return false;
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
        return true;
    }

    /** How many partitions have a master and a slave. */
    static int placed(HelixAdmin admin) {
        ExternalView view = admin.getResourceExternalView(CLUSTER, RESOURCE);
        return view == null ? 0 : (int) view.getPartitionSet().stream().map(p -> view.getStateMap(p).values())
            .filter(s -> Collections.frequency(s, "MASTER") == 1 && Collections.frequency(s, "SLAVE") == 1).count();
    }

    static Map<String, List<Beat>> beats(Path folder) throws IOException {
        Map<String, List<Beat>> all = new TreeMap<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                for (String line : Files.readAllLines(file)) {
                    String[] words = line.split(" ");
                    if (words.length == 2) { // a process that is killed may leave half a line
                        all.computeIfAbsent(words[1], p -> new ArrayList<>())
                            .add(new Beat(Long.parseLong(words[0]), file.getFileName().toString()));
                    }
                }
            }
        }
        return all;
    }
}
