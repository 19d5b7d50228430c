import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Adds segments of rows to a table, and queries them, until it reads "stop", and then counts all rows. */
public class Job {
    static final int BATCH = 500;
    /** A run that has added fewer rows is none. */
    static final int LEAST = 5_000;
    static final String JSON = "application/json";
    static final Pattern NUMBERS = Pattern.compile("\"rows\":\\[\\[([0-9,]+)]]");

    final Work work = new Work("the controller was killed");
    final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1)
        .connectTimeout(Duration.ofSeconds(5)).build();
    final String[] controllers;
    final String broker;
    int turn, failed, again, added;

    public static void main(String[] args) throws Exception {
        new Job(args).run();
        System.exit(0);
    }

    Job(String[] ports) {
        controllers = new String[] {"http://127.0.0.1:" + ports[0], "http://127.0.0.1:" + ports[1]};
        broker = "http://127.0.0.1:" + ports[2];
    }

    void run() throws Exception {
        change("POST", "/schemas", JSON, "{\"schemaName\":\"numbers\",\"dimensionFieldSpecs\":["
            + "{\"name\":\"n\",\"dataType\":\"INT\"},{\"name\":\"batch\",\"dataType\":\"INT\"}]}");
        change("POST", "/tables", JSON, "{\"tableName\":\"numbers\",\"tableType\":\"OFFLINE\",\"tenants\":{},"
            + "\"segmentsConfig\":{\"replication\":\"1\"},\"tableIndexConfig\":{},\"metadata\":{}}");
        add();
        failed = again = 0;
        System.out.println("ready");
        Queries queries = new Queries(work, this::count);
        queries.start();
        while (!work.stopped() || added < LEAST) {
            long began = System.nanoTime();
            add();
            work.waited("time to add rows", began, System.nanoTime());
        }
        queries.join();
        check();
        Work.felt("changes that failed and were repeated", failed);
        Work.felt("segments that were accepted but not served, and were added again", again);
        queries.felt();
        work.print();
    }

    String ask(String method, String url, String type, String body) throws IOException, InterruptedException {
        HttpResponse<String> answer = http.send(HttpRequest.newBuilder(URI.create(url))
            .timeout(Duration.ofSeconds(30)).header("Content-Type", type)
            .method(method, HttpRequest.BodyPublishers.ofString(body)).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2) {
            throw new IOException(answer.statusCode() + " " + answer.body());
        }
        return answer.body();
    }

    /** Asks one controller after the other until one does it, or says that it has been done. */
    void change(String method, String path, String type, String body) throws InterruptedException {
        while (true) {
            try {
                ask(method, controllers[turn % controllers.length] + path, type, body);
                return;
            } catch (IOException e) {
                System.out.println(path + " at controller " + turn % controllers.length + ": " + e);
                if (String.valueOf(e.getMessage()).startsWith("409")) {
                    return;
                }
            }
            failed++;
            turn++;
            TimeUnit.MILLISECONDS.sleep(500);
        }
    }

    /** Adds a segment with the next rows, and returns when a query finds them. */
    void add() throws InterruptedException {
        int batch = added / BATCH;
        StringBuilder file = new StringBuilder("--rows\r\nContent-Disposition: form-data; name=\"file\"; "
            + "filename=\"rows.csv\"\r\nContent-Type: text/csv\r\n\r\nn,batch\n");
        for (int i = 0; i < BATCH; i++) {
            file.append(added + i).append(',').append(batch).append('\n');
        }
        file.append("\r\n--rows--\r\n");
        String path = "/ingestFromFile?tableNameWithType=numbers_OFFLINE&batchConfigMapStr=" + URLEncoder.encode(
            "{\"inputFormat\":\"csv\",\"segmentNameGenerator.configs.segment.name.postfix\":\"" + batch + "\"}",
            StandardCharsets.UTF_8);
        change("POST", path, "multipart/form-data; boundary=rows", file.toString());
        while (!found(batch)) {
            // A controller that has created a segment halfway takes what follows for a new version of one it has.
            again++;
            change("DELETE", "/segments/numbers_OFFLINE/numbers_" + batch + "?retention=0d", JSON, "");
            TimeUnit.SECONDS.sleep(5);
            change("POST", path, "multipart/form-data; boundary=rows", file.toString());
        }
        added += BATCH;
    }

    /** Waits until a query finds the rows of a batch, and tells whether it does. */
    boolean found(int batch) throws InterruptedException {
        for (long began = System.nanoTime(); System.nanoTime() - began < TimeUnit.SECONDS.toNanos(30);) {
            try {
                if (numbers("SELECT COUNT(*) FROM numbers WHERE batch = " + batch)[0] == BATCH) {
                    return true;
                }
            } catch (IOException e) {
                System.out.println("batch " + batch + ": " + e);
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
        return false;
    }

    /** What the one row of a query has. */
    int[] numbers(String query) throws IOException, InterruptedException {
        String answer = ask("POST", broker + "/query/sql", JSON, "{\"sql\":\"" + query + "\"}");
        Matcher m = NUMBERS.matcher(answer);
        if (!answer.contains("\"exceptions\":[]") || !m.find()) {
            throw new IOException(answer);
        }
        return Arrays.stream(m.group(1).split(",")).mapToInt(Integer::parseInt).toArray();
    }

    int count() throws IOException, InterruptedException {
        return numbers("SELECT COUNT(*) FROM numbers")[0];
    }

    void check() throws Exception {
        int[] found = {0, 0};
        for (int tries = 0; tries < 120 && found[0] != added; tries++) {
            try {
                found = numbers("SELECT COUNT(*), DISTINCTCOUNT(n) FROM numbers");
            } catch (IOException e) {
                System.out.println("check: " + e);
            }
            TimeUnit.MILLISECONDS.sleep(500);
        }
        Work.check("rows", found[0] == added && found[1] == added, "%d added, %d lost, %d too many", added,
            added - found[1], found[0] - found[1]);
    }
}
