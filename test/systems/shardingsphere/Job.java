import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Creates tables and adds rows to them until it reads "stop", and checks the rows in the databases. */
public class Job {
    static final int SHARDS = 4, DATABASES = 2, PROXIES = 2;
    /** A run that has created fewer tables, or added fewer rows, is none. */
    static final int LEAST_TABLES = 20, LEAST_ROWS = 1000;
    static final String RULE = "CREATE SHARDING TABLE RULE t_%d (RESOURCES(ds_0, ds_1), SHARDING_COLUMN=n, "
        + "TYPE(NAME=hash_mod, PROPERTIES(\"sharding-count\"=" + SHARDS + ")), "
        + "KEY_GENERATE_STRATEGY(COLUMN=id, TYPE(NAME=snowflake)))";

    final Work work = new Work("a proxy was killed");
    final String[] ports;
    final Map<Integer, Integer> added = new ConcurrentHashMap<>(); // table by number
    final AtomicInteger number = new AtomicInteger(), failedRows = new AtomicInteger();
    volatile int tables; // that both proxies know
    int failed; // statements for tables
    private long last; // when a row was added

    Job(String[] ports) {
        this.ports = ports;
    }

    public static void main(String[] args) throws Exception {
        new Job(args).run();
        System.exit(0);
    }

    void run() throws Exception {
        create(tables++);
        System.out.println("ready");
        last = System.nanoTime();
        Thread[] writers = new Thread[PROXIES];
        for (int i = 0; i < PROXIES; i++) {
            String address = i == 0 ? proxy(0) + "," + proxy(1) : proxy(1) + "," + proxy(0);
            writers[i] = new Thread(() -> write(address));
            writers[i].start();
        }
        while (!work.stopped() || tables < LEAST_TABLES) {
            long began = System.nanoTime();
            create(tables);
            work.waited("time until both proxies knew a new table", began, System.nanoTime());
            tables++;
            TimeUnit.SECONDS.sleep(1);
        }
        for (Thread w : writers) {
            w.join();
        }
        check();
        Work.felt("rows that failed", failedRows);
        Work.felt("statements for tables that failed and were repeated", failed);
        work.print();
    }

    String proxy(int i) {
        return "127.0.0.1:" + ports[i];
    }

    /** Returns a connection to a proxy: that of the first address, if it can be had. */
    static Connection open(String address) throws SQLException {
        return DriverManager.getConnection("jdbc:postgresql://" + address
            + "/shop?user=root&password=root&preferQueryMode=simple&connectTimeout=5&socketTimeout=60");
    }

    /** Adds rows to tables that both proxies know. */
    void write(String address) {
        while (!work.stopped() || added.size() < LEAST_ROWS) {
            try (Connection c = open(address)) {
                while (!work.stopped() || added.size() < LEAST_ROWS) {
                    add(c, ThreadLocalRandom.current().nextInt(tables));
                    added();
                    TimeUnit.MILLISECONDS.sleep(20);
                }
            } catch (SQLException e) {
                failedRows.incrementAndGet();
                System.out.println(e.getMessage());
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    void add(Connection c, int table) throws SQLException {
        int n = number.getAndIncrement();
        try (Statement s = c.createStatement()) {
            s.executeUpdate("INSERT INTO t_" + table + " (n) VALUES (" + n + ")");
        }
        added.put(n, table);
    }

    synchronized void added() {
        long now = System.nanoTime();
        work.waited("time without an added row", last, now);
        last = now;
    }

    /** A part of a statement for a table, at a proxy. */
    interface Step {
        boolean done(Connection c) throws SQLException;
    }

    /** Creates a table, and returns when a row was added to it through each proxy. */
    void create(int table) throws InterruptedException {
        String either = proxy(table % PROXIES) + "," + proxy((table + 1) % PROXIES);
        failed += until(either, c -> {
            if (!ruled(c, table)) {
                execute(c, String.format(RULE, table));
            }
            return true;
        });
        for (int i = 0; i < PROXIES; i++) {
            until(proxy(i), c -> ruled(c, table));
        }
        failed += until(either, c ->
            execute(c, "CREATE TABLE IF NOT EXISTS t_" + table + " (id BIGINT PRIMARY KEY, n INT)"));
        for (int i = 0; i < PROXIES; i++) {
            until(proxy(i), c -> {
                add(c, table);
                return true;
            });
        }
    }

    /** Repeats a step until it is done. It returns how often it has failed. */
    static int until(String address, Step step) throws InterruptedException {
        for (int failures = 0;; failures++) {
            try (Connection c = open(address)) {
                while (!step.done(c)) {
                    TimeUnit.MILLISECONDS.sleep(50);
                }
                return failures;
            } catch (SQLException e) {
                System.out.println(address + ": " + e.getMessage());
                TimeUnit.MILLISECONDS.sleep(500);
            }
        }
    }

    static boolean execute(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute(sql);
            return true;
        }
    }

    /** Whether a proxy knows the rule of a table. */
    static boolean ruled(Connection c, int table) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery("SHOW SHARDING TABLE RULES")) {
            while (r.next()) {
                if (r.getString("table").equals("t_" + table)) {
                    return true;
                }
            }
            return false;
        }
    }

    void check() throws SQLException {
        Map<Integer, Integer> found = new HashMap<>(); // table by number
        Set<String> keys = new HashSet<>(); // with their tables, each of which has keys of its own
        int twice = 0, sameKey = 0, misplaced = 0, lost = 0;
        for (int database = 0; database < DATABASES; database++) {
            try (Connection c = DriverManager.getConnection("jdbc:postgresql://127.0.0.1:" + ports[PROXIES]
                + "/ds_" + database + "?user=postgres"); Statement s = c.createStatement()) {
                for (int i = 0; i < tables * SHARDS; i++) {
                    int table = i / SHARDS, shard = i % SHARDS;
                    if (shard % DATABASES != database) {
                        continue;
                    }
                    ResultSet r = s.executeQuery("SELECT id, n FROM t_" + table + "_" + shard);
                    while (r.next()) {
                        twice += found.put(r.getInt("n"), table) == null ? 0 : 1;
                        sameKey += keys.add(table + " " + r.getLong("id")) ? 0 : 1;
                        misplaced += r.getInt("n") % SHARDS == shard ? 0 : 1;
                    }
                }
            }
        }
        for (Map.Entry<Integer, Integer> row : added.entrySet()) {
            lost += row.getValue().equals(found.get(row.getKey())) ? 0 : 1;
        }
        Work.check("rows", lost + twice + sameKey + misplaced == 0,
            "%d added, %d lost, %d twice, %d with the key of another, %d in a wrong place", added.size(), lost, twice,
            sameKey, misplaced);
        int listed = 0, missing = 0;
        for (int i = 0; i < PROXIES; i++) {
            try (Connection c = open(proxy(i)); Statement s = c.createStatement()) {
                ResultSet r = s.executeQuery("SHOW INSTANCE LIST");
                while (r.next()) {
                    listed++;
                }
                int rows = 0;
                for (int table = 0; table < tables; table++) {
                    r = s.executeQuery("SELECT n FROM t_" + table);
                    while (r.next()) {
                        rows++;
                    }
                }
                missing += found.size() - rows;
            }
        }
        Work.check("tables", missing == 0, "%d created, %d of their rows are missing at a proxy", tables, missing);
        Work.check("proxies", listed == PROXIES * PROXIES, "%d entries in the lists of the %d proxies", listed,
            PROXIES);
    }
}
