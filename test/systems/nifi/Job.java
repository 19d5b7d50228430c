import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.BitSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Has a cluster carry files, and writes labels on its canvas, until it reads "stop"; then looks for all of them. */
public class Job {
    static final Pattern ID = Pattern.compile("\"id\":\"([^\"]+)\""), LABEL = Pattern.compile("\"label\":\"(\\d+)\"");
    static final int BATCH = 10;
    /** A run that has carried fewer files is none. */
    static final int LEAST = 200;

    final Work work = new Work("the primary node was killed");
    final HttpClient http = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(5)).build();
    final Path fresh, in, out, twice;
    final String[] nodes;
    volatile int written;
    int turn, labels, failed;

    public static void main(String[] args) throws Exception {
        new Job(args).run();
        System.exit(0);
    }

    Job(String[] args) throws IOException {
        fresh = Files.createDirectories(Path.of(args[0], "fresh"));
        in = Files.createDirectories(Path.of(args[0], "in"));
        out = Path.of(args[0], "out");
        twice = Path.of(args[0], "twice");
        nodes = new String[] {"http://127.0.0.1:" + args[1], "http://127.0.0.1:" + args[2]};
    }

    void run() throws Exception {
        awaitNodes(TimeUnit.MINUTES.toNanos(5));
        String group = id(ask("GET", "/process-groups/root", null));
        String list = processor("ListFile", "\"executionNode\":\"PRIMARY\",\"schedulingPeriod\":\"200 ms\"",
            "\"Input Directory\":\"" + in + "\",\"Input Directory Location\":\"Remote\"");
        String fetch = processor("FetchFile", ends("not.found", "permission.denied", "failure"), "");
        String put = processor("PutFile", ends("success"), "\"Directory\":\"" + out + "\"");
        String again = processor("PutFile", ends("success", "failure"), "\"Directory\":\"" + twice + "\"");
        connect(group, list, "success", fetch, ",\"loadBalanceStrategy\":\"ROUND_ROBIN\"");
        connect(group, fetch, "success", put, "");
        connect(group, put, "failure", again, "");
        ask("PUT", "/flow/process-groups/" + group, "{\"id\":\"" + group + "\",\"state\":\"RUNNING\"}");
        Thread writer = new Thread(this::write);
        writer.setDaemon(true);
        writer.start();
        while (written <= BATCH) { // the first have been delivered
            TimeUnit.MILLISECONDS.sleep(100);
        }
        failed = 0;
        System.out.println("ready");
        while (!work.stopped()) {
            long began = System.nanoTime();
            ask("POST", "/process-groups/root/labels",
                "{\"revision\":{\"version\":0},\"component\":{\"label\":\"" + labels + "\"}}");
            labels++;
            work.waited("time for a change of the flow", began, System.nanoTime());
            TimeUnit.MILLISECONDS.sleep(200);
        }
        writer.join(TimeUnit.MINUTES.toMillis(4));
        check();
    }

    /** Puts one folder of files after the other where they are looked for, and waits until they come out. */
    void write() {
        try {
            for (int batch = 0; !work.stopped() || written < LEAST; batch++) {
                Path folder = Files.createDirectory(fresh.resolve(Integer.toString(batch)));
                int first = written;
                for (int i = 0; i < BATCH; i++) {
                    Files.writeString(folder.resolve(Integer.toString(first + i)), content(first + i));
                }
                Files.move(folder, in.resolve(folder.getFileName())); // all of them at once, or a list may lack some
                written += BATCH;
                long began = System.nanoTime();
                for (int i = first; i < written; i++) {
                    while (!Files.exists(out.resolve(Integer.toString(i)))) {
                        TimeUnit.MILLISECONDS.sleep(10);
                    }
                }
                if (first > 0) { // when the first come the processors are starting
                    work.waited("time until files were delivered", began, System.nanoTime());
                }
            }
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static String content(int number) {
        return number + " squared is " + (long) number * number;
    }

    /** Asks one node after the other until one does it. */
    String ask(String method, String path, String body) throws InterruptedException {
        while (true) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(nodes[turn % nodes.length] + "/nifi-api" + path))
                .timeout(Duration.ofSeconds(60)).header("Content-Type", "application/json")
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body)).build();
            try {
                HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
                if (answer.statusCode() / 100 == 2) {
                    return answer.body();
                }
                System.out.println(request + ": " + answer.statusCode() + " " + answer.body());
            } catch (IOException e) {
                System.out.println(request + ": " + e);
            }
            failed++;
            turn++;
            TimeUnit.MILLISECONDS.sleep(200);
        }
    }

    static String id(String answer) {
        Matcher m = ID.matcher(answer);
        if (!m.find()) {
            throw new IllegalArgumentException(answer);
        }
        return m.group(1);
    }

    String processor(String type, String config, String properties) throws InterruptedException {
        return id(ask("POST", "/process-groups/root/processors", "{\"revision\":{\"version\":0},\"component\":{"
            + "\"type\":\"org.apache.nifi.processors.standard." + type + "\",\"config\":{" + config
            + ",\"properties\":{" + properties + "}}}}"));
    }

    /** The relationships of a processor whose files go nowhere. */
    static String ends(String... relationships) {
        return "\"autoTerminatedRelationships\":[\"" + String.join("\",\"", relationships) + "\"]";
    }

    void connect(String group, String from, String relationship, String to, String more) throws InterruptedException {
        String end = "\":{\"type\":\"PROCESSOR\",\"groupId\":\"" + group + "\",\"id\":\"";
        ask("POST", "/process-groups/root/connections", "{\"revision\":{\"version\":0},\"component\":{\"source" + end
            + from + "\"},\"destination" + end + to + "\"},\"selectedRelationships\":[\"" + relationship + "\"]" + more
            + "}}");
    }

    /** Waits until all nodes are connected, and tells whether they are. */
    boolean awaitNodes(long ns) throws InterruptedException {
        for (long deadline = System.nanoTime() + ns; System.nanoTime() < deadline; TimeUnit.MILLISECONDS.sleep(500)) {
            if (ask("GET", "/controller/cluster", null).split("\"status\":\"CONNECTED\"", -1).length == 3) {
                return true;
            }
        }
        return false;
    }

    void check() throws Exception {
        Work.check("nodes", awaitNodes(TimeUnit.MINUTES.toNanos(3)), "both are connected");
        int lost = 0, wrong = 0;
        for (int i = 0; i < written; i++) {
            Path file = out.resolve(Integer.toString(i));
            if (!Files.exists(file)) {
                lost++;
            } else if (!Files.readString(file).equals(content(i))) {
                wrong++;
            }
        }
        Work.check("files", lost == 0 && wrong == 0, "%d written, %d lost, %d wrong", written, lost, wrong);
        BitSet found = new BitSet();
        int count = 0;
        for (Matcher m = LABEL.matcher(ask("GET", "/process-groups/root/labels", null)); m.find(); count++) {
            found.set(Integer.parseInt(m.group(1)));
        }
        Work.check("flow", found.cardinality() == labels, "%d changes, %d of them lost", labels,
            labels - found.cardinality());
        int repeated = 0;
        if (Files.exists(twice)) {
            try (Stream<Path> files = Files.list(twice)) {
                repeated = (int) files.count();
            }
        }
        Work.felt("files delivered more than once", repeated);
        Work.felt("changes of the flow that failed and were repeated", failed);
        Work.felt("changes of the flow that were done twice", count - found.cardinality());
        work.print();
    }
}
