import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** Puts rows into a table of four regions until it reads "stop", and then scans and compares all of them. */
public class Job {
    static final TableName NAME = TableName.valueOf("rows");
    static final byte[] FAMILY = Bytes.toBytes("f"), VALUE = Bytes.toBytes("square");
    static final int BATCH = 50, REGIONS = 4;
    /** A run that has put fewer rows is none. */
    static final int LEAST = 5_000;

    public static void main(String[] args) throws Exception {
        Work work = new Work("a region server and the master were killed");
        Configuration settings = HBaseConfiguration.create();
        settings.setInt("hbase.rpc.timeout", 5_000);
        settings.setInt("hbase.client.operation.timeout", 20_000);
        try (Connection connection = ConnectionFactory.createConnection(settings)) {
            create(connection);
            try (Table table = connection.getTable(NAME)) {
                int rows = put(table, work);
                check(table, rows);
            }
        }
        work.print();
        System.exit(0);
    }

    static void create(Connection connection) throws Exception {
        for (int tries = 1;; tries++) {
            try (Admin admin = connection.getAdmin()) {
                if (admin.getRegionServers().size() == 2) {
                    if (!admin.tableExists(NAME)) {
                        byte[][] splits = new byte[REGIONS - 1][];
                        for (int i = 1; i < REGIONS; i++) {
                            splits[i - 1] = new byte[] {(byte) (i * 256 / REGIONS)};
                        }
                        admin.createTable(TableDescriptorBuilder.newBuilder(NAME)
                            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build(), splits);
                    }
                    return;
                }
            } catch (IOException e) { // the master is not there yet
                if (tries == 60) {
                    throw e;
                }
                System.out.println(e);
            }
            TimeUnit.SECONDS.sleep(1);
        }
    }

    /** Rows of one batch are in all regions. */
    static byte[] key(int row) {
        return Bytes.toBytes(Integer.reverse(row));
    }

    static int put(Table table, Work work) throws InterruptedException {
        int rows = 0, errors = 0;
        long last = System.nanoTime();
        while (!work.stopped() || rows < LEAST) {
            List<Put> batch = new ArrayList<>();
            for (int row = rows; row < rows + BATCH; row++) {
                batch.add(new Put(key(row)).addColumn(FAMILY, VALUE, Bytes.toBytes((long) row * row)));
            }
            try {
                table.put(batch);
                long now = System.nanoTime();
                if (rows == 0) {
                    System.out.println("ready");
                } else {
                    work.waited("time without a batch of rows", last, now);
                }
                rows += BATCH;
                last = now;
            } catch (IOException e) {
                errors++;
                System.out.println("batch at " + rows + ": " + e);
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
        Work.felt("batches that failed and were put again", errors);
        return rows;
    }

    static void check(Table table, int rows) throws IOException {
        BitSet found = new BitSet();
        int wrong = 0, twice = 0;
        try (ResultScanner all = table.getScanner(new Scan().setCaching(1000))) {
            for (Result result : all) {
                int row = Integer.reverse(Bytes.toInt(result.getRow()));
                twice += found.get(row) ? 1 : 0;
                wrong += Bytes.toLong(result.getValue(FAMILY, VALUE)) == (long) row * row ? 0 : 1;
                found.set(row);
            }
        }
        int lost = rows - found.get(0, rows).cardinality();
        Work.check("rows", lost == 0 && twice == 0 && wrong == 0, "%d put, %d lost, %d twice, %d wrong", rows, lost,
            twice, wrong);
    }
}
