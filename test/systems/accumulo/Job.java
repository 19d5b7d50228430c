import java.util.BitSet;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.apache.accumulo.core.client.Accumulo;
import org.apache.accumulo.core.client.AccumuloClient;
import org.apache.accumulo.core.client.BatchWriter;
import org.apache.accumulo.core.client.MutationsRejectedException;
import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.admin.NewTableConfiguration;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Mutation;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.security.Authorizations;
import org.apache.hadoop.io.Text;

/** Puts rows into a table of four tablets until it reads "stop", and then reads and compares all of them. */
public class Job {
    static final String TABLE = "numbers", FAMILY = "f", COLUMN = "c";
    static final int BATCH = 50;
    /** A run that has put fewer rows is none. */
    static final int LEAST = 5_000;

    public static void main(String[] args) throws Exception {
        Work work = new Work("a tablet server and the manager were killed");
        try (AccumuloClient accumulo = Accumulo.newClient().to("systems", args[0]).as("root", "secret").build()) {
            TreeSet<Text> splits = new TreeSet<>();
            for (String first : new String[] {"25", "50", "75"}) {
                splits.add(new Text(first));
            }
            accumulo.tableOperations().create(TABLE, new NewTableConfiguration().withSplits(splits));
            int put = 0, failed = 0;
            long last = 0;
            BatchWriter rows = accumulo.createBatchWriter(TABLE);
            while (!work.stopped() || put < LEAST) {
                try {
                    for (int i = put; i < put + BATCH; i++) {
                        Mutation row = new Mutation(row(i));
                        row.put(FAMILY, COLUMN, Integer.toString(i));
                        rows.addMutation(row);
                    }
                    rows.flush();
                } catch (MutationsRejectedException e) {
                    failed++;
                    System.out.println("rows " + put + ": " + e);
                    rows = accumulo.createBatchWriter(TABLE);
                    continue;
                }
                long now = System.nanoTime();
                if (put == 0) {
                    System.out.println("ready");
                } else {
                    work.waited("time without a batch of rows", last, now);
                }
                put += BATCH;
                last = now;
                TimeUnit.MILLISECONDS.sleep(20);
            }
            check(accumulo, put);
            Work.felt("batches that failed and were put again", failed);
            work.print();
        }
        System.exit(0);
    }

    /** Rows that follow each other are in different tablets. */
    static String row(int i) {
        return String.format("%02d-%d", i % 100, i);
    }

    static void check(AccumuloClient accumulo, int put) throws Exception {
        BitSet found = new BitSet();
        int twice = 0, wrong = 0;
        try (Scanner rows = accumulo.createScanner(TABLE, Authorizations.EMPTY)) {
            for (Map.Entry<Key, Value> row : rows) {
                int i = Integer.parseInt(row.getValue().toString());
                wrong += row.getKey().getRow().toString().equals(row(i)) ? 0 : 1;
                twice += found.get(i) ? 1 : 0;
                found.set(i);
            }
        }
        int lost = put - found.get(0, put).cardinality();
        Work.check("rows", lost == 0 && twice == 0 && wrong == 0, "%d put, %d lost, %d twice, %d wrong", put, lost,
            twice, wrong);
    }
}
