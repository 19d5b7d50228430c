import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.helix.HelixAdmin;
import org.apache.helix.manager.zk.ZKHelixAdmin;
import org.apache.helix.model.BuiltInStateModelDefinitions;
import org.apache.helix.model.ExternalView;
import org.apache.helix.model.IdealState.RebalanceMode;
import org.apache.helix.model.InstanceConfig;

/** With "create", makes a cluster. Otherwise waits until it reads "stop", and checks what the participants did. */
public class Job {
    static final String CLUSTER = "cluster", MODEL = "MasterSlave", RESOURCE = "shards";
    static final int PARTITIONS = 12, REPLICAS = 2, PARTICIPANTS = 3;

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
        Terms terms = new Terms(Path.of(args[1]), began);
        Work.check("masters", terms.overlaps == 0 && terms.all.size() == PARTITIONS,
            "%d of %d partitions had one, %d two at once, for at most %.1f s", terms.all.size(), PARTITIONS,
            terms.overlaps, terms.longest / 1e9);
        int moved = 0;
        long[] longest = new long[2];
        for (List<Terms.Term> all : terms.all.values()) {
            String holder = all.get(0).holder;
            long until = began;
            for (Terms.Term term : all) {
                int half = until < marked ? 0 : 1;
                longest[half] = Math.max(longest[half], term.from - until);
                moved += half == 0 && !term.holder.equals(holder) ? 1 : 0;
                holder = term.holder;
                until = Math.max(until, term.until);
            }
            longest[1] = Math.max(longest[1], ended - until);
        }
        Work.felt("masters that moved before a participant was killed", moved);
        Work.felt("longest time without a master, before that", String.format("%.1f s", longest[0] / 1e9));
        Work.felt("longest time without a master, from then on", String.format("%.1f s", longest[1] / 1e9));
        System.exit(0);
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
}
