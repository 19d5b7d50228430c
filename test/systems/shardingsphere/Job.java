import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;

/** Creates sharded tables by one proxy and uses them by the other until it reads "stop", then compares all rows. */
public class Job {
    static final int ROWS = 20;
    /** A run that has created fewer tables is none. */
    static final int LEAST = 10;

    final Work work = new Work("a proxy was killed");
    final String[] proxies;
    int failed;

    public static void main(String[] args) throws Exception {
        new Job(args).run(args[2]);
        System.exit(0);
    }

    Job(String[] ports) {
        proxies = new String[2];
        for (int i = 0; i < 2; i++) {
            proxies[i] = "jdbc:mysql://127.0.0.1:" + ports[i]
                + "/?useSSL=false&socketTimeout=60000&connectTimeout=5000";
        }
    }

    interface Use {
        void run(Statement s) throws SQLException;
    }

    /** Uses a proxy until that succeeds. Each attempt has a connection of its own. */
    void insist(int proxy, String schema, Use use) throws InterruptedException {
        for (;;) {
            try (Connection c = DriverManager.getConnection(proxies[proxy], "root", "root");
                    Statement s = c.createStatement()) {
                if (!schema.isEmpty()) { // a schema without resources can't be named by the URL
                    s.execute("USE " + schema);
                }
                use.run(s);
                return;
            } catch (SQLException e) {
                synchronized (this) {
                    failed++;
                }
                System.out.println("proxy " + proxy + ": " + e);
                TimeUnit.MILLISECONDS.sleep(500);
            }
        }
    }

    /** Executes a statement, perhaps for the second time. */
    static void once(Statement s, String text) throws SQLException {
        try {
            s.execute(text);
        } catch (SQLException e) {
            String why = String.valueOf(e.getMessage()).toLowerCase();
            boolean done = why.contains("duplicate") || why.contains("exist") && !why.contains("not exist");
            if (!done) {
                throw e;
            }
            System.out.println(text + ": " + e.getMessage());
        }
    }

    void run(String h2) throws Exception {
        insist(0, "", s -> once(s, "CREATE DATABASE numbers"));
        for (int i = 0; i < 2; i++) {
            String resource = String.format("ADD RESOURCE ds_%d (URL=\"jdbc:h2:tcp://127.0.0.1:%s/./ds_%d;MODE=MySQL;"
                + "DB_CLOSE_DELAY=-1\",USER=sa,PASSWORD=\"\")", i, h2, i);
            insist(0, "numbers", s -> once(s, resource));
        }
        use(0);
        failed = 0;
        System.out.println("ready");
        int tables = 1;
        while (!work.stopped() || tables < LEAST) {
            long began = System.nanoTime();
            use(tables++);
            TimeUnit.NANOSECONDS.sleep(began + 1_000_000_000L - System.nanoTime());
        }
        int[] wrong = new int[2];
        for (int t = 0; t < tables; t++) {
            String table = "t_" + t;
            for (int i = 0; i < 2; i++) {
                int proxy = i;
                insist(proxy, "numbers", s -> wrong[proxy] += right(s, table) ? 0 : 1);
            }
        }
        for (int i = 0; i < 2; i++) {
            Work.check("tables by proxy " + i, wrong[i] == 0, "%d created, %d of them without all rows", tables,
                wrong[i]);
        }
        Work.felt("requests to the proxies that failed and were repeated", failed);
        work.print();
    }

    /** Creates a table by the first proxy, and puts rows into it by the second. */
    void use(int t) throws InterruptedException {
        String table = "t_" + t;
        long began = System.nanoTime();
        insist(0, "numbers", s -> once(s, "CREATE SHARDING TABLE RULE " + table + " (RESOURCES(ds_0,ds_1),"
            + "SHARDING_COLUMN=id,TYPE(NAME=MOD,PROPERTIES(\"sharding-count\"=4)))"));
        insist(0, "numbers", s -> once(s, "CREATE TABLE " + table + " (id INT PRIMARY KEY, v INT)"));
        long created = System.nanoTime();
        for (int i = 0; i < ROWS; i++) {
            String row = "INSERT INTO " + table + " (id, v) VALUES (" + i + ", " + value(i) + ")";
            insist(1, "numbers", s -> once(s, row));
        }
        if (t > 0) {
            work.waited("creation of a table", began, created);
            work.waited("time until the other proxy had put rows into a table", created, System.nanoTime());
        }
    }

    static int value(int i) {
        return 7 * i + 1;
    }

    static boolean right(Statement s, String table) throws SQLException {
        BitSet seen = new BitSet();
        boolean wrong = false;
        try (ResultSet rows = s.executeQuery("SELECT id, v FROM " + table)) {
            while (rows.next()) {
                int i = rows.getInt(1);
                wrong |= seen.get(i) || rows.getInt(2) != value(i);
                seen.set(i);
            }
        }
        return !wrong && seen.cardinality() == ROWS && seen.length() == ROWS;
    }
}
