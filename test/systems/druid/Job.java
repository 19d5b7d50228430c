import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;

/** Adds rows by one task after the other, and queries them, until it reads "stop", and then compares all rows. */
public class Job {
    static final int BATCH = 500;
    /** A run that has added fewer rows is none. */
    static final int LEAST = 5_000;

    final Work work = new Work("the Coordinator was killed");
    final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    final String[] coordinators;
    final String broker;
    int added, tasksFailed;

    public static void main(String[] args) throws Exception {
        new Job(args).run();
        System.exit(0);
    }

    Job(String[] ports) {
        coordinators = new String[] {"http://127.0.0.1:" + ports[0], "http://127.0.0.1:" + ports[1]};
        broker = "http://127.0.0.1:" + ports[2];
    }

    void run() throws Exception {
        add();
        while (rows().cardinality() < added) {
            TimeUnit.SECONDS.sleep(1);
        }
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
        Work.felt("tasks that failed and were repeated", tasksFailed);
        queries.felt();
        work.print();
    }

    /** What a service answers; a status that is no success is an error. */
    String ask(HttpRequest.Builder request) throws IOException, InterruptedException {
        HttpResponse<String> answer = http.send(request.timeout(Duration.ofSeconds(30)).build(),
            HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() / 100 != 2) {
            throw new IOException(answer.statusCode() + " " + answer.body().lines().findFirst().orElse(""));
        }
        return answer.body();
    }

    static HttpRequest.Builder get(String url) {
        return HttpRequest.newBuilder(URI.create(url));
    }

    static HttpRequest.Builder post(String url, String body) {
        return get(url).header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body));
    }

    /** Has a task add the next rows, and returns when it has. */
    void add() throws Exception {
        for (int attempt = 0;; attempt++) {
            String id = "rows-" + added + "-" + attempt;
            String status = null;
            boolean posted = false;
            while (status == null) {
                for (String c : coordinators) {
                    try {
                        String leader = ask(get(c + "/druid/indexer/v1/leader"));
                        if (leader.isEmpty()) {
                            throw new IOException(c + " knows no leader");
                        }
                        if (!posted) {
                            ask(post(leader + "/druid/indexer/v1/task", task(id)));
                            posted = true;
                        }
                        String now = ask(get(leader + "/druid/indexer/v1/task/" + id + "/status"));
                        if (now.contains("\"SUCCESS\"") || now.contains("\"FAILED\"")) {
                            status = now;
                        }
                        break;
                    } catch (IOException e) {
                        posted |= String.valueOf(e.getMessage()).contains("already exists");
                        System.out.println(id + ": " + e);
                    }
                }
                TimeUnit.MILLISECONDS.sleep(200);
            }
            if (status.contains("\"SUCCESS\"")) {
                added += BATCH;
                return;
            }
            tasksFailed++;
            System.out.println(status);
        }
    }

    String task(String id) {
        StringBuilder rows = new StringBuilder();
        for (int i = added; i < added + BATCH; i++) {
            rows.append(String.format("{\\\"t\\\":%d,\\\"n\\\":%d}\\n", 1_700_000_000_000L + i, i));
        }
        return "{\"type\":\"index_parallel\",\"id\":\"" + id + "\",\"spec\":{"
            + "\"dataSchema\":{\"dataSource\":\"numbers\","
            + "\"timestampSpec\":{\"column\":\"t\",\"format\":\"millis\"},"
            + "\"dimensionsSpec\":{\"dimensions\":[{\"type\":\"long\",\"name\":\"n\"}]},"
            + "\"granularitySpec\":{\"segmentGranularity\":\"day\",\"queryGranularity\":\"none\",\"rollup\":false}},"
            + "\"ioConfig\":{\"type\":\"index_parallel\",\"inputSource\":{\"type\":\"inline\",\"data\":\"" + rows
            + "\"},\"inputFormat\":{\"type\":\"json\"},\"appendToExisting\":true},"
            + "\"tuningConfig\":{\"type\":\"index_parallel\",\"maxNumConcurrentSubTasks\":1}}}";
    }

    String sql(String query) throws IOException, InterruptedException {
        return ask(post(broker + "/druid/v2/sql", "{\"query\":\"" + query + "\",\"resultFormat\":\"csv\"}"));
    }

    /** The numbers that a query finds. */
    BitSet rows() throws InterruptedException {
        BitSet found = new BitSet();
        try {
            sql("SELECT n FROM numbers").lines().filter(line -> !line.isEmpty())
                .forEach(line -> found.set(Integer.parseInt(line)));
        } catch (IOException e) { // there is no table before there are rows
            System.out.println("rows: " + e);
        }
        return found;
    }

    int count() throws IOException, InterruptedException {
        return Integer.parseInt(sql("SELECT COUNT(*) FROM numbers").trim());
    }

    void check() throws Exception {
        long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(3); // until the Historical has all segments
        while (rows().cardinality() < added && System.nanoTime() < deadline) {
            TimeUnit.SECONDS.sleep(1);
        }
        int lost = added - rows().get(0, added).cardinality();
        int count = count();
        Work.check("rows", lost == 0 && count == added, "%d added, %d lost, %d too many", added, lost,
            count - (added - lost));
    }
}
