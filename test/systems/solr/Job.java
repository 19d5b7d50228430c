import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.solr.client.solrj.SolrQuery;
import org.apache.solr.client.solrj.impl.CloudHttp2SolrClient;
import org.apache.solr.client.solrj.impl.CloudSolrClient;
import org.apache.solr.client.solrj.request.CollectionAdminRequest;
import org.apache.solr.common.SolrDocument;
import org.apache.solr.common.SolrInputDocument;
import org.apache.solr.common.cloud.DocCollection;
import org.apache.solr.common.cloud.Replica;
import org.apache.solr.common.cloud.SolrZkClient;
import org.apache.solr.common.cloud.ZkMaintenanceUtils;
import org.apache.solr.common.params.CursorMarkParams;

/** Creates a collection and adds documents to it until it reads "stop", then reads and compares everything. */
public class Job {
    static final String NAME = "documents";
    static final int BATCH = 20;
    /** A run that has added fewer documents is none. */
    static final int LEAST = 4_000;

    public static void main(String[] args) throws Exception {
        Control.start("before the node was killed");
        try (SolrZkClient zk = new SolrZkClient.Builder().withUrl(args[0]).withTimeout(8000, TimeUnit.MILLISECONDS)
                .build()) {
            ZkMaintenanceUtils.uploadToZK(zk, Path.of(args[1]), "/configs/" + NAME, null);
        }
        try (CloudSolrClient solr = new CloudHttp2SolrClient.Builder(List.of(args[0].split(",")), Optional.empty())
                .withDefaultCollection(NAME).build()) {
            create(solr);
            System.out.println("ready");
            BitSet added = add(solr);
            check(solr, added);
        }
        System.exit(0);
    }

    static void create(CloudSolrClient solr) throws Exception {
        for (int tries = 1;; tries++) {
            try {
                if (solr.getClusterStateProvider().getLiveNodes().size() == 2) {
                    CollectionAdminRequest.createCollection(NAME, NAME, 2, 2).process(solr);
                    return;
                }
            } catch (Exception e) {
                if (tries == 30) {
                    throw e;
                }
                System.out.println(e);
            }
            TimeUnit.SECONDS.sleep(1);
        }
    }

    /** Adds documents in batches, each until it is acknowledged, and returns which were. */
    static BitSet add(CloudSolrClient solr) throws Exception {
        BitSet added = new BitSet();
        int errors = 0;
        Map<String, Long> longest = new TreeMap<>();
        long last = System.nanoTime();
        for (int next = 0; !Control.stopped || next < LEAST;) {
            List<SolrInputDocument> batch = new ArrayList<>();
            for (int i = next; i < next + BATCH; i++) {
                SolrInputDocument document = new SolrInputDocument();
                document.addField("id", String.format("%09d", i));
                document.addField("square_l", (long) i * i);
                batch.add(document);
            }
            try {
                solr.add(batch);
                added.set(next, next + BATCH);
                next += BATCH;
                long now = System.nanoTime();
                longest.merge(Control.half, now - last, Math::max);
                last = now;
            } catch (Exception e) {
                errors++;
                System.out.println("batch at " + next + ": " + e);
            }
            TimeUnit.MILLISECONDS.sleep(40);
        }
        System.out.printf("felt batches that failed and were sent again: %d%n", errors);
        longest.forEach((part, ns) ->
            System.out.printf("felt longest time without an added batch, %s: %.1f s%n", part, ns / 1e9));
        return added;
    }

    static void check(CloudSolrClient solr, BitSet added) throws Exception {
        boolean well = false;
        DocCollection state = null;
        for (int tries = 0; tries < 120 && !well; tries++) {
            state = solr.getClusterStateProvider().getCollection(NAME);
            well = state.getReplicas().size() == 4
                && state.getReplicas().stream().allMatch(r -> r.getState() == Replica.State.ACTIVE);
            TimeUnit.MILLISECONDS.sleep(500);
        }
        System.out.printf("check replicas: %s 4 of 2 shards, all active: %b%n", well ? "ok" : "failed", well);
        solr.commit();
        BitSet found = new BitSet();
        int wrong = 0, twice = 0;
        SolrQuery query = new SolrQuery("*:*").setRows(1000).setSort("id", SolrQuery.ORDER.asc);
        for (String mark = CursorMarkParams.CURSOR_MARK_START, before = ""; !mark.equals(before);) {
            query.set(CursorMarkParams.CURSOR_MARK_PARAM, mark);
            var answer = solr.query(query);
            for (SolrDocument document : answer.getResults()) {
                int i = Integer.parseInt((String) document.getFieldValue("id"));
                twice += found.get(i) ? 1 : 0;
                wrong += ((Long) document.getFieldValue("square_l")) == (long) i * i ? 0 : 1;
                found.set(i);
            }
            before = mark;
            mark = answer.getNextCursorMark();
        }
        BitSet lost = (BitSet) added.clone();
        lost.andNot(found);
        System.out.printf("check documents: %s %d added, %d lost, %d twice, %d wrong%n",
            lost.isEmpty() && wrong == 0 && twice == 0 && added.cardinality() >= LEAST ? "ok" : "failed",
            added.cardinality(), lost.cardinality(), twice, wrong);
    }
}
